import type { EntryId, LedgerId } from '../ids.js';

/**
 * Entries of one ledger on their way to bookies, encoded once as one blob that is sent to every replica, journaled as one record and cached as it is.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 1 | format version, 1 (persisted) |
 * | 1 | 1 | flags: bit 0 recovery append (passes on a fenced ledger) |
 * | 2 | 2 | 0 |
 * | 4 | 4 | count of entries, u32, 1 to {@link entriesCountMax} |
 * | 8 | 8 | ledger id, i64 |
 * | 16 | 20 | master key |
 * | 36 | 4 | 0 |
 * | 40 | 16 x count | per entry: entry id i64, offset of the entry from the start of the blob u32, length u32 |
 * | then | | the entries, one after another: header, digest, payload (entry.ts) |
 *
 * All integers big endian. Entry ids ascend strictly.
 */
export interface AppendBatch {
  readonly ledgerId: LedgerId;
  readonly isRecovery: boolean;
  readonly count: number;
  readonly bytes: Buffer;
  masterKey(): Buffer;
  entryIdAt(index: number): EntryId;
  /** Offset of the entry from the start of `bytes`. */
  offsetAt(index: number): number;
  /** Bytes of the entry. */
  lengthAt(index: number): number;
}
