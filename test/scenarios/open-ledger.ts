import type { CreateLedgerOptions, LedgerReader, LedgerWriter } from '@daybook/ledger';
import { ledgerOptions, type MemoryRecords, password, type SimWorld, Told } from '@daybook/ledger/testing';
import type { LedgerId, LedgerSegment } from '@daybook/proto';

/** The sizes most scenarios play with. */
export const e3 = ledgerOptions(3, 3, 2);

export interface OpenLedger {
  writer: LedgerWriter;
  told: Told;
  /** The bookies of its first segment. */
  ensemble: readonly string[];
  /** The writer's way to the metadata. */
  records: MemoryRecords;
}

/** A new ledger, written by a client of its own. */
export async function openLedger(world: SimWorld, options: CreateLedgerOptions = e3): Promise<OpenLedger> {
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(options));
  return { writer, told: new Told(writer), ensemble: [...(writer.metadata.segments[0]?.ensemble ?? [])], records };
}

/** Another client recovers it. */
export function recover(world: SimWorld, ledgerId: LedgerId): Promise<LedgerReader> {
  return world.run(world.cluster.connect().client.openWithRecovery(ledgerId, { password }), 120_000);
}

/** As the metadata has them. */
export function segmentsOf(world: SimWorld, ledgerId: LedgerId): readonly LedgerSegment[] {
  return world.cluster.store.ledgers.get(ledgerId)?.metadata.segments ?? [];
}

/** Those that the metadata names for the entry, and that have it. */
export function holdersOf(world: SimWorld, ledgerId: LedgerId, entryId: number): string[] {
  const segment = segmentsOf(world, ledgerId).findLast((one) => one.firstEntryId <= entryId);
  return (segment?.ensemble ?? []).filter((name) => world.cluster.bookie(name).holds(ledgerId, entryId));
}
