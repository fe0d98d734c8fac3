import type { BookieId, LedgerMetadata } from '@daybook/proto';

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
    let from: number = firstEntryId;
    for (const run of runs) {
      if (run.last < from) continue;
      if (ownsAnyOf(metadata, index, from, Math.min(run.first - 1, last))) return true;
      from = run.last + 1;
      if (from > last) return false;
    }
    return ownsAnyOf(metadata, index, from, last);
  });
}

/** BookKeeper's distribution: entry e lies on the indexes (e + i) mod E for i below Qw. */
function ownsAnyOf({ ensembleSize, writeQuorumSize }: LedgerMetadata, index: number, first: number, last: number): boolean {
  const end = Math.min(last, first + ensembleSize - 1);
  for (let entry = first; entry <= end; entry++) {
    if ((((index - entry) % ensembleSize) + ensembleSize) % ensembleSize < writeQuorumSize) return true;
  }
  return false;
}
