import { type LedgerRecords, metadataErrors } from '@daybook/metadata';
import type { BookieId, EntryId, LedgerId } from '@daybook/proto';

export interface MemberSwap {
  ledgerId: LedgerId;
  /** Of the segment. */
  firstEntryId: EntryId;
  index: number;
  from: BookieId;
  to: BookieId;
}

/** `changed`: others have changed that place, or it is written to (again): look anew. */
export type SwapOutcome = 'stored' | 'changed' | 'deleted';

/**
 * Puts `to` at one place of one segment, if `from` is still there; everything else stays as it is. Only after all entries of that place are durable on `to`.
 * The last segment of a ledger that is not closed belongs to its writer and is never touched.
 */
export async function storeMemberSwap(records: LedgerRecords, swap: MemberSwap): Promise<SwapOutcome> {
  const { ledgerId, firstEntryId, index, from, to } = swap;
  for (;;) {
    const stored = await records.read(ledgerId);
    if (stored === undefined) return 'deleted';
    const { metadata } = stored;
    const place = metadata.segments.findIndex((segment) => segment.firstEntryId === firstEntryId);
    const segment = metadata.segments[place];
    if (segment === undefined || (place === metadata.segments.length - 1 && metadata.state !== 'CLOSED')) return 'changed';
    if (segment.ensemble[index] !== from || segment.ensemble.includes(to)) return 'changed';
    const ensemble = segment.ensemble.with(index, to);
    try {
      await records.write(ledgerId, { ...metadata, segments: metadata.segments.with(place, { firstEntryId, ensemble }) }, stored.version);
      return 'stored';
    } catch (error) {
      if (!metadataErrors.BAD_VERSION.is(error)) throw error;
    }
  }
}
