import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import type { BookieId, EntryId, LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { lastSegment, withEnsembleFrom } from './distribution.js';

/** Index `index` goes from one bookie to another; to itself when the bookie came back with other disks (P6: the store must agree first). */
export interface Replacement {
  readonly index: number;
  readonly from: BookieId;
  readonly to: BookieId;
  /** The disks of `to` when this was decided: should it come up with others before the change is stored, it must be changed once more. */
  readonly incarnation: string;
}

export interface EnsembleChange {
  ledgerId: LedgerId;
  /** What the writer believes is stored. */
  stored: VersionedLedger;
  /** lastConfirmed + 1, and it stays that until the change has ended. */
  firstEntryId: EntryId;
  replacements: readonly Replacement[];
  /** The store is asked again until then when it cannot be reached. */
  deadlineMs: number;
  /** Aborts when the writer is closed or has failed: the result is of no interest any more. */
  stop: AbortSignal;
}

export type EnsembleChangeResult =
  | { readonly outcome: 'stored'; readonly ledger: VersionedLedger }
  /** Somebody recovers it or has closed it: this writer is done. */
  | { readonly outcome: 'fenced' | 'closed' | 'deleted' }
  | { readonly outcome: 'unavailable'; readonly cause: unknown }
  | { readonly outcome: 'stopped' };

const retryMs = 200;

/**
 * Stores an ensemble change by compare-and-set (reference 1.6 step 5). Nothing is confirmed while it runs, also when the store's answer is unknown for a
 * while: only after `stored` does the writer know whom the metadata names.
 */
export async function storeEnsembleChange(
  { clock, records }: { clock: Clock; records: LedgerRecords },
  change: EnsembleChange,
): Promise<EnsembleChangeResult> {
  let current: VersionedLedger | undefined = change.stored;
  for (;;) {
    try {
      current ??= await records.read(change.ledgerId);
      if (current === undefined) return { outcome: 'deleted' };
      const next = replaceMembers(current, change);
      if (next === 'not needed') return { outcome: 'stored', ledger: current };
      if (typeof next === 'string') return { outcome: next };
      return { outcome: 'stored', ledger: await records.write(change.ledgerId, next, current.version) };
    } catch (error) {
      if (!metadataErrors.BAD_VERSION.is(error)) {
        if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
        if (clock.monoMs() >= change.deadlineMs) return { outcome: 'unavailable', cause: error };
        await clock.sleep(retryMs, change.stop);
      }
      current = undefined; // Whatever happened to the write: look at what is there now.
    }
    if (change.stop.aborted) return { outcome: 'stopped' };
  }
}

/** What to write on top of `current`; or why nothing is to be written. */
function replaceMembers(current: VersionedLedger, change: EnsembleChange): VersionedLedger['metadata'] | 'fenced' | 'closed' | 'not needed' {
  const { metadata } = current;
  if (metadata.state === 'CLOSED') return 'closed';
  if (metadata.state === 'IN_RECOVERY') return 'fenced';
  const ensemble = [...lastSegment(metadata).ensemble];
  const open = change.replacements.filter(({ index, from }) => ensemble[index] === from);
  if (open.length === 0) return 'not needed';
  for (const { index, to } of open) ensemble[index] = to;
  return withEnsembleFrom(metadata, change.firstEntryId, ensemble);
}
