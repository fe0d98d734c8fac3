import { entryHeaderBytes } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId, writeId } from './batch-bytes.js';

/**
 * Bytes of an entry log, `<16 hex digits of the log id>.log`. All integers big endian. Never changed once written.
 *
 * Header, {@link logHeaderBytes}:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBLG` |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | log id, as in the name; never used twice |
 * | 16 | 44 | 0 |
 * | 60 | 4 | CRC32C of the bytes before |
 *
 * Then records, one after another, sorted by (ledger, entry) within a flush:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | CRC32C of the bytes from 4 to the end |
 * | 4 | 4 | bytes of the entry |
 * | 8 | | the entry: ledger id, entry id, last-add-confirmed, length, digest, payload |
 */
export const logHeaderBytes = 64;
export const logRecordHeaderBytes = 8;
const formatVersion = 1; // persisted
const magic = 0x44424c47; // 'DBLG', persisted

export function logFileName(logId: number): string {
  return `${logId.toString(16).padStart(16, '0')}.log`;
}

export function logIdIn(name: string): number | undefined {
  const match = /^([0-9a-f]{16})\.(log|idx)$/.exec(name);
  const id = match === null ? Number.NaN : Number.parseInt(match[1] as string, 16);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function encodeLogHeader(logId: number): Buffer {
  const out = Buffer.alloc(logHeaderBytes);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, logId, 8);
  out.writeUInt32BE(crc32c(out.subarray(0, 60)), 60);
  return out;
}

/** The log's id; undefined when the bytes are not a whole header. */
export function decodeLogHeader(bytes: Buffer, path: string): number | undefined {
  if (bytes.length < logHeaderBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return undefined;
  if (bytes.readUInt32BE(4) !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, bytes.readUInt32BE(4), formatVersion);
  return readId(bytes, 8);
}

/** Puts the record of the entry `source[start, end)` at `at` and returns where the next one goes. */
export function encodeLogRecord(target: Buffer, at: number, entry: { source: Buffer; start: number; end: number }): number {
  const bytes = entry.end - entry.start;
  const end = at + logRecordHeaderBytes + bytes;
  target.writeUInt32BE(bytes, at + 4);
  entry.source.copy(target, at + logRecordHeaderBytes, entry.start, entry.end);
  target.writeUInt32BE(crc32c(target.subarray(at + 4, end)), at);
  return end;
}

/** The entry in the record `bytes`, if the record is whole and is that of this very entry. */
export function decodeLogRecord(bytes: Buffer, ledgerId: number, entryId: number): Buffer | undefined {
  return isLogRecord(bytes, { start: 0, end: bytes.length }, ledgerId, entryId) ? bytes.subarray(logRecordHeaderBytes) : undefined;
}

/** Whether the record of this very entry, whole, fills `bytes[start, end)`. */
export function isLogRecord(bytes: Buffer, { start, end }: { start: number; end: number }, ledgerId: number, entryId: number): boolean {
  if (end > bytes.length || end - start < logRecordHeaderBytes + entryHeaderBytes) return false;
  if (bytes.readUInt32BE(start + 4) !== end - start - logRecordHeaderBytes) return false;
  if (readId(bytes, start + 8) !== ledgerId || readId(bytes, start + 16) !== entryId) return false;
  return crc32c(bytes.subarray(start + 4, end)) === bytes.readUInt32BE(start);
}
