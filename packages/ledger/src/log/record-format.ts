import { ByteReader, ByteWriter, bytesErrors } from '@daybook/runtime';
import { logErrors } from './errors.js';
import { type TransactionId, txIdFromBigInt, txIdToBigInt } from './transaction-id.js';

/**
 * What a ledger entry of a log holds (persisted; DistributedLog's enveloped entry, version 1, not compressed). Big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 1 | version, 1 |
 * | 1 | 4 | flags: bits 0-1 compression (0 none, 1 lz4) |
 * | 5 | 4 | bytes of the records |
 * | 9 | 4 | bytes of the records as stored: the same, as nothing is compressed |
 * | 13 | | records |
 *
 * A record:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 8 | bits 0-15 flags: 1 control record, 2 end of stream, 4 set of records; bits 16-47: how many records the segment has up to and including this one |
 * | 8 | 8 | transaction id; that of the last record for a control record, 2^63-1 at the end of the stream |
 * | 16 | 4 | bytes of the payload |
 * | 20 | | payload |
 */
export const envelopeBytes = 13;
export const recordHeaderBytes = 20;

/** Largest payload of a record. */
export const recordBytesMax = 1024 * 1024 - 8 * 1024;

/** Largest entry. A record of {@link recordBytesMax} fits. */
export const entryBytesMax = 1024 * 1024 - 4 * 1024;

const version = 1;
const flagControl = 1;
const flagEndOfStream = 2;
const flagRecordSet = 4;
const flagsKnown = flagControl | flagEndOfStream;

export interface StoredRecord {
  readonly txId: TransactionId;
  readonly payload: Buffer;
  /** How many records (control records not counted) the segment has up to and including this one. */
  readonly countInSegment: number;
  /** Not the application's: written to make what is before it visible. */
  readonly isControl: boolean;
  readonly isEndOfStream: boolean;
}

const countMax = 0x7fff_ffff;

/** Puts records into one entry after another, in the same memory. */
export class EntryBuilder {
  readonly #writer = new ByteWriter(64 * 1024);
  #recordsCount = 0;

  get recordsCount(): number {
    return this.#recordsCount;
  }

  /** Bytes of the entry as it is now. */
  get bytes(): number {
    return this.#recordsCount === 0 ? 0 : this.#writer.position;
  }

  /** Adds a record; the caller looks after {@link entryBytesMax}. */
  add(record: Omit<StoredRecord, 'payload'> & { payload: Uint8Array }): void {
    if (this.#recordsCount === 0) {
      this.#writer.clear();
      this.#writer.u8(version).u32(0).u32(0).u32(0);
    }
    this.#recordsCount++;
    const flags = (record.isControl ? flagControl : 0) | (record.isEndOfStream ? flagEndOfStream : 0);
    // The count is in bits 16-47, hence the two halves.
    this.#writer
      .u32(record.countInSegment >>> 16)
      .u16(record.countInSegment & 0xffff)
      .u16(flags);
    this.#writer.bigI64(txIdToBigInt(record.txId)).u32(record.payload.length).bytes(record.payload);
  }

  /** The entry: a view that lasts until the next {@link add}. */
  take(): Buffer {
    const recordsBytes = this.#writer.position - envelopeBytes;
    this.#writer.setU32(5, recordsBytes);
    this.#writer.setU32(9, recordsBytes);
    this.#recordsCount = 0;
    return this.#writer.written();
  }
}

/** The records of an entry; payloads are views. Rejects with `LOG_MALFORMED`, `LOG_UNSUPPORTED_VERSION`. */
export function decodeRecords(entry: Uint8Array, what: string): StoredRecord[] {
  try {
    return decode(entry, what);
  } catch (error) {
    if (!bytesErrors.TRUNCATED.is(error)) throw error;
    throw logErrors.MALFORMED(what, error.message, { cause: error });
  }
}

function decode(entry: Uint8Array, what: string): StoredRecord[] {
  const reader = new ByteReader(entry);
  const found = reader.u8();
  if (found !== version) throw logErrors.UNSUPPORTED_VERSION(what, found);
  const flags = reader.u32();
  if (flags !== 0) throw logErrors.MALFORMED(what, flags === 1 ? 'it is compressed with lz4, which Daybook does not read' : `unknown flags ${flags}`);
  const rawBytes = reader.u32();
  const storedBytes = reader.u32();
  if (rawBytes !== storedBytes || storedBytes !== reader.remaining) {
    throw logErrors.MALFORMED(what, `it says ${rawBytes} and ${storedBytes} bytes, and has ${reader.remaining}`);
  }
  const records: StoredRecord[] = [];
  while (reader.remaining > 0) records.push(decodeRecord(reader, what));
  if (records.length === 0) throw logErrors.MALFORMED(what, 'it has no record');
  return records;
}

function decodeRecord(reader: ByteReader, what: string): StoredRecord {
  const high = reader.u32();
  const countInSegment = high * 0x1_0000 + reader.u16();
  const flags = reader.u16();
  if (high > countMax >>> 16) throw logErrors.MALFORMED(what, `a record's number is ${countInSegment}`);
  if ((flags & flagRecordSet) !== 0) throw logErrors.MALFORMED(what, 'it holds a set of records, which Daybook does not read');
  if ((flags & ~flagsKnown) !== 0) throw logErrors.MALFORMED(what, `a record has unknown flags ${flags}`);
  const stored = reader.bigI64();
  const txId = txIdFromBigInt(stored);
  if (txId === undefined) throw logErrors.MALFORMED(what, `a record has transaction id ${stored}`);
  const payload = reader.bytes(reader.u32());
  return { txId, payload, countInSegment, isControl: (flags & flagControl) !== 0, isEndOfStream: (flags & flagEndOfStream) !== 0 };
}
