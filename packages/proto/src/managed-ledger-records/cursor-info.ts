import { Malformed } from '../errors.js';
import { type EntryId, type LedgerId, ledgerId, type Position } from '../ids.js';
import { type KeyValue, readKeyValue, writeKeyValues } from '../message/metadata.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
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
  writeRange,
} from './parts.js';

/**
 * `cursorsLedgerId 1, markDeleteLedgerId 2, markDeleteEntryId 3, individualDeletedMessages 4 *, properties 5 *{name 1, value 2}, lastActive 6,
 * batchedEntryDeletionIndexInfo 7 *, cursorProperties 8 *{name 1, value 2}`.
 */
export interface ManagedCursorInfo {
  /** The ledger whose last entry holds the state; undefined (-1 in the record): the state is in this record. */
  readonly cursorLedgerId: LedgerId | undefined;
  /** Undefined: not in this record. */
  readonly markDelete: Position | undefined;
  readonly individuallyDeleted: readonly MessageRange[];
  readonly properties: readonly LongProperty[];
  readonly lastActiveMs: number | undefined;
  readonly batchDeletions: readonly BatchDeletion[];
  readonly cursorProperties: readonly KeyValue[];
  readonly unknown: Uint8Array;
}

export function encodeManagedCursorInfo(info: ManagedCursorInfo): Buffer {
  const writer = new WireWriter().int(1, info.cursorLedgerId ?? -1);
  if (info.markDelete !== undefined) writer.int(2, info.markDelete.ledgerId).int(3, info.markDelete.entryId);
  for (const range of info.individuallyDeleted) writer.message(4, writeRange(range));
  writeLongs(writer, 5, info.properties);
  if (info.lastActiveMs !== undefined) writer.int(6, info.lastActiveMs);
  for (const deletion of info.batchDeletions) writer.message(7, writeBatchDeletion(deletion));
  writeKeyValues(writer, 8, info.cursorProperties);
  return writer.raw(info.unknown).finish();
}

/** Throws `PROTO_MANAGED_LEDGER_MALFORMED`. */
export function decodeManagedCursorInfo(bytes: Uint8Array): ManagedCursorInfo {
  return decodeRecord('ManagedCursorInfo', () => {
    const reader = new WireReader(bytes);
    const individuallyDeleted: MessageRange[] = [];
    const properties: LongProperty[] = [];
    const batchDeletions: BatchDeletion[] = [];
    const cursorProperties: KeyValue[] = [];
    const unknown: Uint8Array[] = [];
    let cursorLedger: number | undefined;
    let ledger: LedgerId | undefined;
    let entry: EntryId | undefined;
    let lastActiveMs: number | undefined;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          cursorLedger = reader.int();
          break;
        case 2:
          ledger = ledgerId(reader.uint());
          break;
        case 3:
          entry = readEntryId(reader);
          break;
        case 4:
          individuallyDeleted.push(readRange(reader.message()));
          break;
        case 5:
          properties.push(readLong(reader.message()));
          break;
        case 6:
          lastActiveMs = reader.uint();
          break;
        case 7:
          batchDeletions.push(readBatchDeletion(reader.message()));
          break;
        case 8:
          cursorProperties.push(readKeyValue(reader.message()));
          break;
        default:
          unknown.push(reader.skip());
      }
    }
    if (cursorLedger === undefined || cursorLedger < -1) throw new Malformed('it does not say where the state is');
    return {
      cursorLedgerId: cursorLedger === -1 ? undefined : ledgerId(cursorLedger),
      markDelete: ledger === undefined && entry === undefined ? undefined : completePosition(ledger, entry),
      individuallyDeleted,
      properties,
      lastActiveMs,
      batchDeletions,
      cursorProperties,
      unknown: joined(unknown),
    };
  });
}
