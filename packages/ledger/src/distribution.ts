import { type BookieId, type EntryId, type LedgerMetadata, type LedgerSegment, storesAnyOf, storesEntry } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import type { QuorumSizes } from './quorum.js';

/** The indexes of the ensemble that store `entryId`, in the order in which they are asked. */
export function writeSet(sizes: QuorumSizes, entryId: EntryId): number[] {
  const indexes: number[] = [];
  for (let i = 0; i < sizes.writeQuorumSize; i++) indexes.push((entryId + i) % sizes.ensembleSize);
  return indexes;
}

export { storesAnyOf, storesEntry };

/** Which entries of first..last are asked from which index; `preferred` says which one an entry is asked from, and which that is repeats itself. */
export function idsByIndex(
  { ensembleSize }: Pick<QuorumSizes, 'ensembleSize'>,
  { first, last }: { first: number; last: number },
  preferred: (entryId: EntryId) => number,
): Map<number, EntryId[]> {
  const indexes = Array.from({ length: ensembleSize }, (_, i) => preferred(i as EntryId));
  const byIndex = new Map<number, EntryId[]>();
  for (let id = first; id <= last; id++) {
    const index = indexes[id % ensembleSize] as number;
    const ids = byIndex.get(index);
    if (ids === undefined) byIndex.set(index, [id as EntryId]);
    else ids.push(id as EntryId);
  }
  return byIndex;
}

/** The run of entries that `entryId` belongs to. */
export function segmentOf(metadata: LedgerMetadata, entryId: number): LedgerSegment {
  const found = metadata.segments.findLast((segment) => segment.firstEntryId <= entryId);
  invariant(found !== undefined, `no segment for entry ${entryId}`);
  return found;
}

/** The last entry that may lie in the segment of `entryId`; `upTo` when it is the last segment. */
export function segmentEnd(metadata: LedgerMetadata, entryId: number, upTo: number): number {
  const next = metadata.segments.find((segment) => segment.firstEntryId > entryId);
  return next === undefined ? upTo : Math.min(upTo, next.firstEntryId - 1);
}

export function lastSegment(metadata: LedgerMetadata): LedgerSegment {
  const last = metadata.segments.at(-1);
  invariant(last !== undefined, 'a ledger has at least one segment');
  return last;
}

/** `metadata` with `ensemble` for all entries from `firstEntryId`: replaces the last segment when it begins there, else appends one. */
export function withEnsembleFrom(metadata: LedgerMetadata, firstEntryId: EntryId, ensemble: readonly BookieId[]): LedgerMetadata {
  const last = lastSegment(metadata);
  invariant(last.firstEntryId <= firstEntryId, `a segment from ${firstEntryId} cannot follow the one from ${last.firstEntryId}`);
  invariant(new Set(ensemble).size === metadata.ensembleSize, `an ensemble names ${metadata.ensembleSize} different bookies, not ${ensemble}`);
  const before = last.firstEntryId === firstEntryId ? metadata.segments.slice(0, -1) : metadata.segments;
  return { ...metadata, segments: [...before, { firstEntryId, ensemble: [...ensemble] }] };
}
