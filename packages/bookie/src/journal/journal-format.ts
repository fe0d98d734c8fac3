import { explicitLacBytesMax, explicitLacOf, masterKeyBytes } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId, writeId } from '../storage/batch-bytes.js';

/**
 * Bytes of a journal file, `<16 hex digits of the file id>.journal`. All integers big endian.
 *
 * File header, {@link fileHeaderBytes}:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBJL` |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | file id, as in the name; never used twice |
 * | 16 | 8 | id of the file before this one, 0 for the first |
 * | 24 | 8 | where the data of that file ends: all up to there must be readable |
 * | 32 | 476 | 0 |
 * | 508 | 4 | CRC32C of the bytes before |
 *
 * Then commits, each at a multiple of {@link commitAlignmentBytes}; a commit is one write of one or more records, padded with zeros. Record:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | CRC32C of the bytes from 4 to the end of the body |
 * | 4 | 4 | record bytes: header, body, padding |
 * | 8 | 4 | body bytes |
 * | 12 | 1 | type: 1 append batch, 3 fence, 4 explicit last-add-confirmed (persisted; 2 ledger creation is kept free) |
 * | 13 | 3 | 0 |
 * | 16 | 8 | file id: records of a recycled file's former life are told apart by it |
 * | 24 | 4 | offset of this record in the file |
 * | 28 | 4 | offset of the commit it was written with |
 * | 32 | | body: an append batch as it came (AppendBatch in proto), or ledger id i64 + master key (20) of a fence, or master key (20) + explicit
 *   last-add-confirmed as its writer made it (entry.ts in proto); then zeros |
 */
export const fileHeaderBytes = 512;
export const recordHeaderBytes = 32;
export const commitAlignmentBytes = 512;
const recordAlignmentBytes = 8;
const formatVersion = 1; // persisted
const magic = 0x44424a4c; // 'DBJL', persisted

export const recordTypes = { appendBatch: 1, fence: 3, explicitLac: 4 } as const; // persisted
export type RecordType = (typeof recordTypes)[keyof typeof recordTypes];
export const fenceBodyBytes = 28;

export interface FileHeader {
  fileId: number;
  previousFileId: number;
  previousEnd: number;
}

const suffix = '.journal';

export function journalFileName(fileId: number): string {
  return fileId.toString(16).padStart(16, '0') + suffix;
}

/** The id in a file's name, or undefined when it is not a journal file. */
export function journalFileId(name: string): number | undefined {
  if (!/^[0-9a-f]{16}\.journal$/.test(name)) return undefined;
  const id = Number.parseInt(name, 16);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function encodeFileHeader(header: FileHeader): Buffer {
  const out = Buffer.alloc(fileHeaderBytes);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  out.writeBigUInt64BE(BigInt(header.fileId), 8);
  out.writeBigUInt64BE(BigInt(header.previousFileId), 16);
  out.writeBigUInt64BE(BigInt(header.previousEnd), 24);
  out.writeUInt32BE(crc32c(out.subarray(0, 508)), 508);
  return out;
}

/** Undefined when the bytes are not a whole header. Throws `BOOKIE_FORMAT_VERSION` for an intact header of another version. */
export function decodeFileHeader(bytes: Buffer, path: string): FileHeader | undefined {
  if (bytes.length < fileHeaderBytes || bytes.readUInt32BE(0) !== magic) return undefined;
  if (bytes.readUInt32BE(508) !== crc32c(bytes.subarray(0, 508))) return undefined;
  const version = bytes.readUInt32BE(4);
  if (version !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, version, formatVersion);
  return {
    fileId: Number(bytes.readBigUInt64BE(8)),
    previousFileId: Number(bytes.readBigUInt64BE(16)),
    previousEnd: Number(bytes.readBigUInt64BE(24)),
  };
}

function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

/** Bytes of a record inside a commit; the last one of a commit is longer, as it fills it up to {@link commitAlignmentBytes}. */
export function recordBytesFor(bodyBytes: number): number {
  return alignUp(recordHeaderBytes + bodyBytes, recordAlignmentBytes);
}

export interface RecordPlace {
  fileId: number;
  /** Offset in the file of the commit being built: `target[0]` will be written there. */
  commitOffset: number;
}

/**
 * Puts a record at `at` of the commit buffer `target` and returns where the next one goes; the commit ends there after the last one.
 * The buffer may hold anything before: every byte of the record is written.
 */
export function encodeRecord(
  target: Buffer,
  at: number,
  place: RecordPlace,
  record: { type: RecordType; body: Uint8Array; isLast: boolean },
): number {
  const bodyEnd = at + recordHeaderBytes + record.body.length;
  const end = alignUp(bodyEnd, record.isLast ? commitAlignmentBytes : recordAlignmentBytes);
  target.writeUInt32BE(end - at, at + 4);
  target.writeUInt32BE(record.body.length, at + 8);
  target.writeUInt32BE(record.type * 0x1000000, at + 12);
  writeId(target, place.fileId, at + 16);
  target.writeUInt32BE(place.commitOffset + at, at + 24);
  target.writeUInt32BE(place.commitOffset, at + 28);
  target.set(record.body, at + recordHeaderBytes);
  target.writeUInt32BE(crc32c(target.subarray(at + 4, bodyEnd)), at);
  target.fill(0, bodyEnd, end);
  return end;
}

export interface JournalRecord {
  type: number;
  /** Part of the buffer decoded from. */
  body: Buffer;
  /** Where the next record starts, counted like `at`. */
  end: number;
  commitOffset: number;
}

export type RecordResult =
  | { is: 'record'; record: JournalRecord }
  /** The header promises bytes that the buffer does not have. */
  | { is: 'short'; bytes: number }
  /** Not a record of this file at this place. */
  | { is: 'none' };

/** Reads the record at `at` of `bytes`, which start at `bytesOffset` of the file. */
export function decodeRecord(bytes: Buffer, at: number, options: { fileId: number; bytesOffset: number }): RecordResult {
  if (at + recordHeaderBytes > bytes.length) return { is: 'short', bytes: recordHeaderBytes };
  const recordBytes = bytes.readUInt32BE(at + 4);
  const bodyBytes = bytes.readUInt32BE(at + 8);
  const offset = options.bytesOffset + at;
  const commitOffset = bytes.readUInt32BE(at + 28);
  if (recordBytes < recordBytesFor(bodyBytes) || recordBytes % recordAlignmentBytes !== 0) return { is: 'none' };
  if (readId(bytes, at + 16) !== options.fileId || bytes.readUInt32BE(at + 24) !== offset || commitOffset > offset) return { is: 'none' };
  if (at + recordBytes > bytes.length) return { is: 'short', bytes: recordBytes };
  const bodyEnd = at + recordHeaderBytes + bodyBytes;
  if (crc32c(bytes.subarray(at + 4, bodyEnd)) !== bytes.readUInt32BE(at)) return { is: 'none' };
  const body = bytes.subarray(at + recordHeaderBytes, bodyEnd);
  return { is: 'record', record: { type: bytes[at + 12] as number, body, end: at + recordBytes, commitOffset } };
}

export function encodeFence(ledgerId: number, masterKey: Uint8Array): Buffer {
  const out = Buffer.alloc(fenceBodyBytes);
  writeId(out, ledgerId, 0);
  out.set(masterKey, 8);
  return out;
}

export function decodeFence(body: Buffer): { ledgerId: number; masterKey: Buffer } | undefined {
  if (body.length !== fenceBodyBytes) return undefined;
  return { ledgerId: readId(body, 0), masterKey: body.subarray(8) };
}

export function encodeLacRecord(masterKey: Uint8Array, explicitLac: Uint8Array): Buffer {
  return Buffer.concat([masterKey, explicitLac]);
}

export function decodeLacRecord(body: Buffer): { ledgerId: number; explicitLac: Buffer } | undefined {
  if (body.length < masterKeyBytes + 16 || body.length > masterKeyBytes + explicitLacBytesMax) return undefined;
  const explicitLac = body.subarray(masterKeyBytes);
  return { ledgerId: explicitLacOf(explicitLac).ledgerId, explicitLac };
}
