import { invariant } from '@daybook/runtime';
import type { Digest } from '../digest.js';
import { encodeEntry, entryHeaderBytes } from '../entry.js';
import type { EntryId } from '../ids.js';
import {
  type AppendBatch,
  type BatchHead,
  batchBytesDefault,
  batchHeaderBytes,
  batchTableEntryBytes,
  entriesCountMax,
  entryBytesInBatch,
  viewAppendBatch,
  writeBatchHead,
} from './append-batch.js';

const firstTableEntries = 16;
const firstEntriesBytes = 1024;
const noStarts = new Uint32Array(0);

export interface AppendBatchBuilderOptions extends BatchHead {
  readonly digest: Digest;
  /** Soft limit of a batch's bytes; a single larger entry still makes a batch. Default {@link batchBytesDefault}. */
  readonly batchBytesLimit?: number;
}

/**
 * Collects the entries of one ledger into one blob after another, each entry written (and digested) straight into its final place: the hottest code of a
 * broker, so nothing is allocated per entry. Entries are written from `#entriesStart` on, with room for the table in front; `finish` puts header and table
 * right before them, wherever that is, so nothing moves. Room for both grows by doubling and starts from what the last batch needed.
 *
 * One builder per writer, used again after each `finish`; an empty one holds no memory. The blob handed out is never touched again.
 */
export class AppendBatchBuilder {
  readonly #head: BatchHead;
  readonly #digest: Digest;
  readonly #bytesLimit: number;
  #buffer: Buffer | undefined;
  #entriesStart = 0;
  #end = 0;
  #count = 0;
  #lastEntryId = -1;
  #firstEntryId = -1;
  /** Last entry of the batch before; -1 for none. */
  #previousEntryId = -1;
  /** Where each entry begins in the buffer, relative to the first one; like the buffer, only while there are entries. */
  #starts = noStarts;
  /** Room to make for the next batch, learnt from the last one. */
  #tableEntriesHint = firstTableEntries;
  #entriesBytesHint = firstEntriesBytes;

  constructor(options: AppendBatchBuilderOptions) {
    const { ledgerId, masterKey, isRecovery, isDeferredSync = false } = options;
    this.#head = { ledgerId, masterKey, isRecovery, isDeferredSync };
    this.#digest = options.digest;
    this.#bytesLimit = options.batchBytesLimit ?? batchBytesDefault;
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes of the batch as it stands; 0 when it is empty. */
  get bytes(): number {
    return this.#count === 0 ? 0 : batchHeaderBytes + this.#count * batchTableEntryBytes + this.#end - this.#entriesStart;
  }

  /** Whether an entry with that payload belongs into this batch; always true for an empty one. Otherwise `finish` first. */
  hasRoomFor(payloadBytes: number): boolean {
    if (this.#count === 0) return true;
    return this.#count < entriesCountMax && this.bytes + entryBytesInBatch(this.#digest, payloadBytes) <= this.#bytesLimit;
  }

  /** Copies the payload. Ids ascend; {@link hasRoomFor} was asked. `length` is that of the entry header: all payload bytes up to and including this one. */
  add(entryId: EntryId, lastAddConfirmed: EntryId, length: number, payload: Uint8Array): void {
    invariant(entryId > this.#lastEntryId || this.#count === 0, 'entries are added in ascending order');
    const buffer = this.#makeRoom(entryHeaderBytes + this.#digest.bytes + payload.length);
    if (this.#count === 0) this.#firstEntryId = entryId;
    this.#starts[this.#count++] = this.#end - this.#entriesStart;
    this.#lastEntryId = entryId;
    this.#end = encodeEntry(buffer, this.#end, this.#head.ledgerId, entryId, lastAddConfirmed, length, payload, this.#digest);
  }

  /** The batch; the builder is empty again. */
  finish(): AppendBatch {
    const buffer = this.#buffer;
    invariant(buffer !== undefined && this.#count > 0, 'a batch has at least one entry');
    const entriesOffset = batchHeaderBytes + this.#count * batchTableEntryBytes;
    const start = this.#entriesStart - entriesOffset;
    const distance = this.#head.isDeferredSync === true && this.#previousEntryId >= 0 ? this.#firstEntryId - this.#previousEntryId : 0;
    writeBatchHead(buffer, start, this.#head, this.#count, distance);
    this.#previousEntryId = this.#lastEntryId;
    this.#writeTable(buffer, start, entriesOffset);
    const bytes = buffer.subarray(start, this.#end);
    this.#tableEntriesHint = Math.max(firstTableEntries, this.#count);
    this.#entriesBytesHint = Math.max(firstEntriesBytes, Math.min(this.#end - this.#entriesStart, this.#bytesLimit));
    this.#buffer = undefined;
    this.#starts = noStarts;
    this.#count = 0;
    return viewAppendBatch(bytes);
  }

  #writeTable(buffer: Buffer, start: number, entriesOffset: number): void {
    const starts = this.#starts;
    const entriesBytes = this.#end - this.#entriesStart;
    for (let index = 0, at = start + batchHeaderBytes; index < this.#count; index++, at += batchTableEntryBytes) {
      const entryStart = starts[index] as number;
      const next = index + 1 < this.#count ? (starts[index + 1] as number) : entriesBytes;
      // The id as the entry's own header has it.
      buffer.copyWithin(at, this.#entriesStart + entryStart + 8, this.#entriesStart + entryStart + 16);
      writeLine(buffer, at + 8, entriesOffset + entryStart, next - entryStart);
    }
  }

  /** A buffer with room for one more line in the table and `entryBytes` after the last entry. */
  #makeRoom(entryBytes: number): Buffer {
    const buffer = this.#buffer;
    if (buffer === undefined) return this.#begin(entryBytes);
    if (this.#count >= this.#starts.length) this.#growStarts();
    const hasTableRoom = batchHeaderBytes + (this.#count + 1) * batchTableEntryBytes <= this.#entriesStart;
    if (hasTableRoom && this.#end + entryBytes <= buffer.length) return buffer;
    const used = this.#end - this.#entriesStart;
    const room = this.#end + entryBytes <= buffer.length ? buffer.length - this.#entriesStart : Math.max(2 * used, used + entryBytes);
    const tableEntries = hasTableRoom ? (this.#entriesStart - batchHeaderBytes) / batchTableEntryBytes : Math.min(2 * this.#count, entriesCountMax);
    const entriesStart = batchHeaderBytes + tableEntries * batchTableEntryBytes;
    const grown = Buffer.allocUnsafe(entriesStart + room);
    buffer.copy(grown, entriesStart, this.#entriesStart, this.#end);
    this.#buffer = grown;
    this.#entriesStart = entriesStart;
    this.#end = entriesStart + used;
    return grown;
  }

  #begin(entryBytes: number): Buffer {
    this.#starts = new Uint32Array(this.#tableEntriesHint);
    this.#entriesStart = batchHeaderBytes + this.#tableEntriesHint * batchTableEntryBytes;
    this.#end = this.#entriesStart;
    this.#buffer = Buffer.allocUnsafe(this.#entriesStart + Math.max(this.#entriesBytesHint, entryBytes));
    return this.#buffer;
  }

  #growStarts(): void {
    const grown = new Uint32Array(Math.min(this.#starts.length * 2, entriesCountMax));
    grown.set(this.#starts);
    this.#starts = grown;
  }
}

function writeLine(buffer: Buffer, at: number, offset: number, length: number): void {
  buffer.writeUInt32BE(offset, at);
  buffer.writeUInt32BE(length, at + 4);
}
