import type { LedgerId, LedgerInfo, ManagedLedgerInfo } from '@daybook/proto';
import { newLedgerInfo } from '@daybook/proto';
import type { ChainLedger } from './ledger-chain.js';

/** A log that has never been written down. */
export const emptyLog: ManagedLedgerInfo = { ledgers: [], terminatedPosition: undefined, properties: [], unknown: new Uint8Array(0) };

export function chainLedger(info: LedgerInfo): ChainLedger {
  return { ledgerId: info.ledgerId, entries: info.entries ?? 0, bytes: info.size ?? 0, closedAtMs: info.timestampMs ?? 0 };
}

/** Writes down how a ledger ended (one without entries is taken out) and, with `next`, which one follows. */
export function withEnd(info: ManagedLedgerInfo, end: ChainLedger | undefined, next: LedgerId | undefined): ManagedLedgerInfo {
  const ledgers: LedgerInfo[] = [];
  for (const ledger of info.ledgers) {
    if (ledger.ledgerId !== end?.ledgerId) ledgers.push(ledger);
    else if (end.entries > 0) ledgers.push({ ...ledger, entries: end.entries, size: end.bytes, timestampMs: end.closedAtMs });
  }
  if (next !== undefined) ledgers.push(newLedgerInfo(next));
  return { ...info, ledgers };
}

export function without(info: ManagedLedgerInfo, gone: ReadonlySet<LedgerId>): ManagedLedgerInfo {
  return { ...info, ledgers: info.ledgers.filter((ledger) => !gone.has(ledger.ledgerId)) };
}

export function propertiesOf(info: ManagedLedgerInfo): Map<string, string> {
  return new Map(info.properties.map(({ key, value }) => [key, value]));
}

export function withProperties(info: ManagedLedgerInfo, change: (properties: Map<string, string>) => void): ManagedLedgerInfo {
  const properties = propertiesOf(info);
  change(properties);
  return { ...info, properties: Array.from(properties, ([key, value]) => ({ key, value })) };
}
