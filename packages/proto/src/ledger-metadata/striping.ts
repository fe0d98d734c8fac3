import type { LedgerMetadata } from '../ledger-metadata.js';

export type StripingSizes = Pick<LedgerMetadata, 'ensembleSize' | 'writeQuorumSize'>;

/** Whether the member at `index` of an ensemble stores an entry: entry e lies on the indexes (e + i) mod E for i below Qw. */
export function storesEntry({ ensembleSize, writeQuorumSize }: StripingSizes, index: number, entryId: number): boolean {
  return (((index - entryId) % ensembleSize) + ensembleSize) % ensembleSize < writeQuorumSize;
}

/** Whether the member at `index` stores at least one of the entries first..last; `first` is not above `last`. */
export function storesAnyOf(sizes: StripingSizes, index: number, first: number, last: number): boolean {
  if (sizes.ensembleSize === sizes.writeQuorumSize) return true;
  const end = Math.min(last, first + sizes.ensembleSize - 1);
  for (let entry = first; entry <= end; entry++) if (storesEntry(sizes, index, entry)) return true;
  return false;
}
