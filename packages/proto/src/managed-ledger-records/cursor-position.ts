import type { EntryId, LedgerId, Position } from '../ids.js';
import { ledgerId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import {
  type BatchDeletion,
  completePosition,
  decodeRecord,
  joined,
  type LongProperty,
  type MessageRange,
  readBatchDeletion,
  readEntryId,
  readLong,
  readRange,
  writeBatchDeletion,
  writeLongs,
  writePosition,
  writeRange,
} from './parts.js';

/** What a cursor says about itself; also each entry of a cursor ledger, the last one counts. */
export interface CursorPosition {
  readonly markDelete: Position;
  readonly individuallyDeleted: readonly MessageRange[];
  readonly properties: readonly LongProperty[];
  readonly batchDeletions: readonly BatchDeletion[];
  readonly unknown: Uint8Array;
}

export function encodeCursorPosition(state: CursorPosition): Buffer {
  const writer = writePosition(state.markDelete);
  for (const range of state.individuallyDeleted) writer.message(3, writeRange(range));
  writeLongs(writer, 4, state.properties);
  for (const deletion of state.batchDeletions) writer.message(5, writeBatchDeletion(deletion));
  return writer.raw(state.unknown).finish();
}

/** PositionInfo: `ledgerId 1, entryId 2, individualDeletedMessages 3 *, properties 4 *, batchedEntryDeletionIndexInfo 5 *`. Throws `PROTO_MANAGED_LEDGER_MALFORMED`. */
export function decodeCursorPosition(bytes: Uint8Array): CursorPosition {
  return decodeRecord('PositionInfo', () => {
    const reader = new WireReader(bytes);
    const individuallyDeleted: MessageRange[] = [];
    const properties: LongProperty[] = [];
    const batchDeletions: BatchDeletion[] = [];
    const unknown: Uint8Array[] = [];
    let ledger: LedgerId | undefined;
    let entry: EntryId | undefined;
    while (reader.next()) {
      if (reader.field === 1) ledger = ledgerId(reader.uint());
      else if (reader.field === 2) entry = readEntryId(reader);
      else if (reader.field === 3) individuallyDeleted.push(readRange(reader.message()));
      else if (reader.field === 4) properties.push(readLong(reader.message()));
      else if (reader.field === 5) batchDeletions.push(readBatchDeletion(reader.message()));
      else unknown.push(reader.skip());
    }
    const markDelete = completePosition(ledger, entry);
    return { markDelete, individuallyDeleted, properties, batchDeletions, unknown: joined(unknown) };
  });
}
