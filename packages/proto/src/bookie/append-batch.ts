import { invariant } from '@daybook/runtime';
import type { Digest } from '../digest.js';
import { entryEntryId, entryHeaderBytes, entryLedgerId, entryOverheadBytesMax, entryPayloadBytesMax } from '../entry.js';
import { protoErrors } from '../errors.js';
import type { EntryId, LedgerId } from '../ids.js';
import { masterKeyBytes } from '../master-key.js';
import { readInt64, readUint32, writeInt64, writeUint32 } from '../wire/int64.js';

/**
 * Entries of one ledger on their way to bookies, encoded once as one blob that is sent to every replica, journaled as one record and cached as it is.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 1 | format version, 1 (persisted) |
 * | 1 | 1 | flags: bit 0 recovery append (passes on a fenced ledger); bit 1 deferred sync (answered before it is durable); never both |
 * | 2 | 2 | 0 |
 * | 4 | 4 | count of entries, u32, 1 to {@link entriesCountMax} |
 * | 8 | 8 | ledger id, i64 |
 * | 16 | 20 | master key |
 * | 36 | 4 | 0; with deferred sync: how far before the first entry is the last one that this bookie was sent, u32, 0 for none |
 * | 40 | 16 x count | per entry: entry id i64, offset of the entry from the start of the blob u32, length u32 |
 * | then | | the entries, one after another: header, digest, payload (entry.ts) |
 *
 * All integers big endian. Entry ids ascend strictly.
 */
export interface AppendBatch {
  readonly ledgerId: LedgerId;
  readonly isRecovery: boolean;
  /** May be answered before it is durable: `BookieService.force` proves it later. */
  readonly isDeferredSync: boolean;
  readonly count: number;
  readonly bytes: Buffer;
  /** With deferred sync: the entry that the bookie must hold already (it was sent right before these), or -1. A bookie that lost its tail finds out by it. */
  previousEntryId(): EntryId;
  masterKey(): Buffer;
  entryIdAt(index: number): EntryId;
  /** Offset of the entry from the start of `bytes`. */
  offsetAt(index: number): number;
  /** Bytes of the entry. */
  lengthAt(index: number): number;
}

/** Entries in one batch, at most. */
export const entriesCountMax = 4096;

/** The builder starts a new batch beyond this, unless a single entry alone is larger. */
export const batchBytesDefault = 256 * 1024;

export const batchHeaderBytes = 40;
export const batchTableEntryBytes = 16;

/** No batch is longer: one entry of the largest size. */
export const batchBytesMax = batchHeaderBytes + batchTableEntryBytes + entryOverheadBytesMax + entryPayloadBytesMax;

const formatVersion = 1;
const recoveryFlag = 1; // persisted
const deferredSyncFlag = 2; // persisted
const masterKeyOffset = 16;
const distanceOffset = 36;

/** What {@link writeBatchHead} puts in front of the table. */
export interface BatchHead {
  readonly ledgerId: LedgerId;
  /** 20 bytes. */
  readonly masterKey: Uint8Array;
  readonly isRecovery: boolean;
  readonly isDeferredSync?: boolean;
}

/** Header of a batch at `offset`; every byte of it is written. `distance`: see offset 36. */
export function writeBatchHead(target: Uint8Array, offset: number, head: BatchHead, count: number, distance = 0): void {
  target[offset] = formatVersion;
  target[offset + 1] = head.isRecovery ? recoveryFlag : head.isDeferredSync === true ? deferredSyncFlag : 0;
  target[offset + 2] = 0;
  target[offset + 3] = 0;
  writeUint32(target, offset + 4, count);
  writeInt64(target, offset + 8, head.ledgerId);
  target.set(head.masterKey, offset + masterKeyOffset);
  writeUint32(target, offset + distanceOffset, distance);
}

/** A batch over bytes known to be one. */
export function viewAppendBatch(bytes: Buffer): AppendBatch {
  return new BatchView(bytes);
}

class BatchView implements AppendBatch {
  readonly ledgerId: LedgerId;
  readonly isRecovery: boolean;
  readonly isDeferredSync: boolean;
  readonly count: number;
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.isRecovery = bytes[1] === recoveryFlag;
    this.isDeferredSync = bytes[1] === deferredSyncFlag;
    this.count = readUint32(bytes, 4);
    this.ledgerId = readInt64(bytes, 8) as LedgerId;
  }

  previousEntryId(): EntryId {
    const distance = readUint32(this.bytes, distanceOffset);
    return (distance === 0 ? -1 : this.entryIdAt(0) - distance) as EntryId;
  }

  masterKey(): Buffer {
    return this.bytes.subarray(masterKeyOffset, masterKeyOffset + masterKeyBytes);
  }

  entryIdAt(index: number): EntryId {
    return readInt64(this.bytes, batchHeaderBytes + index * batchTableEntryBytes) as EntryId;
  }

  offsetAt(index: number): number {
    return readUint32(this.bytes, batchHeaderBytes + index * batchTableEntryBytes + 8);
  }

  lengthAt(index: number): number {
    return readUint32(this.bytes, batchHeaderBytes + index * batchTableEntryBytes + 12);
  }
}

/**
 * Checks every byte of structure and returns a view (no copy). Throws `PROTO_BATCH_MALFORMED`. Digests are not checked: only clients know password and type.
 */
export function decodeAppendBatch(bytes: Buffer): AppendBatch {
  if (bytes.length < batchHeaderBytes) throw protoErrors.BATCH_MALFORMED(`${bytes.length} bytes, the header has ${batchHeaderBytes}`);
  if (bytes[0] !== formatVersion) throw protoErrors.BATCH_MALFORMED(`format version ${bytes[0]}, this program knows ${formatVersion}`);
  if ((bytes[1] as number) > deferredSyncFlag) throw protoErrors.BATCH_MALFORMED(`unknown flags ${bytes[1]}`);
  const batch = new BatchView(bytes);
  const distance = readUint32(bytes, distanceOffset);
  if (bytes[2] !== 0 || bytes[3] !== 0 || (distance !== 0 && !batch.isDeferredSync)) throw protoErrors.BATCH_MALFORMED('reserved bytes are not 0');
  if (batch.count < 1 || batch.count > entriesCountMax) throw protoErrors.BATCH_MALFORMED(`${batch.count} entries`);
  if (!Number.isSafeInteger(batch.ledgerId) || batch.ledgerId < 0) throw protoErrors.BATCH_MALFORMED('the ledger id is out of range');
  checkTable(batch);
  if (distance > batch.entryIdAt(0)) throw protoErrors.BATCH_MALFORMED('the entry before the first one has a negative id');
  return batch;
}

function checkTable(batch: BatchView): void {
  const { bytes, count } = batch;
  let expectedOffset = batchHeaderBytes + count * batchTableEntryBytes;
  if (expectedOffset > bytes.length) throw protoErrors.BATCH_MALFORMED('the table is cut off');
  let previousId = -1;
  for (let index = 0; index < count; index++) {
    const id = batch.entryIdAt(index);
    const length = batch.lengthAt(index);
    if (!(id > previousId && id <= Number.MAX_SAFE_INTEGER)) throw protoErrors.BATCH_MALFORMED(`entry ids do not ascend at index ${index}`);
    if (batch.offsetAt(index) !== expectedOffset) throw protoErrors.BATCH_MALFORMED(`entry ${id} is not at its place`);
    if (length < entryHeaderBytes || length > bytes.length - expectedOffset) throw protoErrors.BATCH_MALFORMED(`entry ${id} is cut off`);
    if (entryLedgerId(bytes, expectedOffset) !== batch.ledgerId || entryEntryId(bytes, expectedOffset) !== id) {
      throw protoErrors.BATCH_MALFORMED(`the entry listed as ${id} names another ledger or id in its header`);
    }
    previousId = id;
    expectedOffset += length;
  }
  if (expectedOffset !== bytes.length) throw protoErrors.BATCH_MALFORMED(`${bytes.length - expectedOffset} bytes after the last entry`);
}

/** A batch of whole entries as they came from bookies, in ascending order: recovery and repair pass them on unchanged. */
export function encodeAppendBatchOfEntries(head: BatchHead, entries: readonly Uint8Array[]): AppendBatch {
  invariant(entries.length >= 1 && entries.length <= entriesCountMax, 'a batch has 1 to entriesCountMax entries');
  let offset = batchHeaderBytes + entries.length * batchTableEntryBytes;
  const bytes = Buffer.allocUnsafe(entries.reduce((sum, entry) => sum + entry.length, offset));
  writeBatchHead(bytes, 0, head, entries.length);
  for (const [index, entry] of entries.entries()) {
    bytes.set(entry, offset);
    writeTableEntry(bytes, batchHeaderBytes + index * batchTableEntryBytes, entryEntryId(entry), offset, entry.length);
    offset += entry.length;
  }
  return decodeAppendBatch(bytes);
}

export function writeTableEntry(target: Uint8Array, at: number, entryId: EntryId, offset: number, length: number): void {
  writeInt64(target, at, entryId);
  writeUint32(target, at + 8, offset);
  writeUint32(target, at + 12, length);
}

/** Bytes one entry takes in a batch, its line in the table included. */
export function entryBytesInBatch(digest: Digest, payloadBytes: number): number {
  return batchTableEntryBytes + entryHeaderBytes + digest.bytes + payloadBytes;
}
