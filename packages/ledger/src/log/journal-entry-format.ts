import { ByteReader, ByteWriter, bytesErrors, crc32c } from '@daybook/runtime';
import { journalErrors } from './errors.js';

/** One edit of the name space. What is in it is the name node's own. */
export interface JournalOperation {
  readonly txId: number;
  readonly payload: Uint8Array;
}

/**
 * What a ledger entry of a journal segment holds (persisted): operations one after the other, their transaction ids consecutive. Big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 1 | version, 1 |
 * | 1 | 4 | how many operations, at least 1 |
 * | 5 | | operations |
 *
 * An operation:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | bytes of the payload |
 * | 4 | 8 | transaction id |
 * | 12 | | payload |
 * | then | 4 | CRC-32C of all of the above |
 */
export const operationOverheadBytes = 16;
export const journalEntryHeaderBytes = 5;
/** Largest payload of an operation. */
export const operationBytesMax = 1024 * 1024;

const version = 1;

/** `operations` is not empty. */
export function encodeOperations(operations: readonly JournalOperation[]): Buffer {
  const bytes = operations.reduce((sum, { payload }) => sum + operationOverheadBytes + payload.length, journalEntryHeaderBytes);
  const writer = new ByteWriter(bytes).u8(version).u32(operations.length);
  for (const { txId, payload } of operations) {
    const start = writer.position;
    writer.u32(payload.length).i64(txId).bytes(payload);
    writer.u32(crc32c(writer.written(start)));
  }
  return writer.written();
}

/** Payloads are views. Rejects with `JOURNAL_MALFORMED`. */
export function decodeOperations(entry: Uint8Array, what: string): JournalOperation[] {
  try {
    const reader = new ByteReader(entry);
    const found = reader.u8();
    if (found !== version) throw journalErrors.MALFORMED(what, `version ${found}`);
    const count = reader.u32();
    const operations: JournalOperation[] = [];
    for (let i = 0; i < count; i++) operations.push(decodeOperation(reader, entry, what));
    if (count === 0 || reader.remaining > 0) throw journalErrors.MALFORMED(what, `${count} operations and ${reader.remaining} more bytes`);
    for (const [i, { txId }] of operations.entries()) {
      const before = operations[i - 1]?.txId;
      if (before !== undefined && txId !== before + 1) throw journalErrors.MALFORMED(what, `transaction ${txId} comes after ${before}`);
    }
    return operations;
  } catch (error) {
    if (!bytesErrors.TRUNCATED.is(error) && !bytesErrors.OUT_OF_RANGE.is(error)) throw error;
    throw journalErrors.MALFORMED(what, error.message, { cause: error });
  }
}

function decodeOperation(reader: ByteReader, entry: Uint8Array, what: string): JournalOperation {
  const start = reader.position;
  const length = reader.u32();
  const txId = reader.i64();
  const payload = reader.bytes(length);
  const sum = crc32c(entry.subarray(start, reader.position));
  if (reader.u32() !== sum) throw journalErrors.MALFORMED(what, `transaction ${txId} fails its checksum`);
  return { txId, payload };
}
