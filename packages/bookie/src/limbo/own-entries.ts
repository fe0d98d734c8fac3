import { type BookieId, type LedgerMetadata, storesAnyOf } from '@daybook/proto';

interface Run {
  readonly first: number;
  readonly last: number;
}

/**
 * Whether `runs` (ascending and apart) lack an entry that the record gives to the bookie. Of a ledger that is not closed, the last segment has no end yet and
 * is left out.
 */
export function lacksOwnEntries(metadata: LedgerMetadata, bookieId: BookieId, runs: readonly Run[]): boolean {
  const { segments, state, lastEntryId } = metadata;
  return segments.some(({ firstEntryId, ensemble }, i) => {
    const index = ensemble.indexOf(bookieId);
    if (index === -1) return false;
    const next = segments[i + 1];
    const last = next === undefined ? (state === 'CLOSED' ? lastEntryId : firstEntryId - 1) : next.firstEntryId - 1;
    const lacksAnyOf = (first: number, end: number): boolean => first <= end && storesAnyOf(metadata, index, first, end);
    let from: number = firstEntryId;
    for (const run of runs) {
      if (run.last < from) continue;
      if (lacksAnyOf(from, Math.min(run.first - 1, last))) return true;
      from = run.last + 1;
      if (from > last) return false;
    }
    return lacksAnyOf(from, last);
  });
}
