import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId, writeId } from './batch-bytes.js';

/**
 * Bytes of an entry log's index, `<16 hex digits of the log id>.idx`. All integers big endian. Never changed once written.
 *
 * Header, {@link indexHeaderBytes}: `DBIX`, version u32 = 1, log id i64, zeros to 60, CRC32C of the 60 bytes before.
 *
 * A **run** is consecutive entries of a ledger that lie one after another in the log:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 8 | ledger id |
 * | 8 | 8 | first entry id |
 * | 16 | 4 | count n |
 * | 20 | 4 | 0 |
 * | 24 | 4 x (n + 1) | position of each record in the log, then the end of the last |
 *
 * While the log is open, each flush appends a **frame**, read only at start:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | CRC32C of the bytes from 4 to the end of the frame |
 * | 4 | 4 | `DBIF` |
 * | 8 | 4 | bytes of the frame |
 * | 12 | 4 | count of runs |
 * | 16 | 8 | log id |
 * | 24 | 4 | log bytes before the flush |
 * | 28 | 4 | log bytes after it |
 * | 32 | | the runs |
 *
 * When the log is sealed, one **table** for all of it is appended: blocks of runs sorted by (ledger, entry), each about {@link blockBytesAim} long;
 * the block table, 28 bytes a block: first ledger id, first entry id, offset u32, bytes u32, CRC32C u32; the ledger table, 40 bytes a ledger:
 * ledger id, first entry id, last entry id, bytes of its records in the log u64, count of entries u32, 0 u32; and a trailer at the very end,
 * {@link trailerBytes}:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBIT` |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | log id |
 * | 16 | 12 | block table: offset u32, bytes u32, CRC32C u32 |
 * | 28 | 12 | ledger table: offset u32, bytes u32, CRC32C u32 |
 * | 40 | 8 | log bytes |
 * | 48 | 4 | bytes of the log of which an index that was rebuilt could not say what they were; otherwise 0 |
 * | 52 | 8 | 0 |
 * | 60 | 4 | CRC32C of the bytes before |
 */
export const indexHeaderBytes = 64;
export const runHeaderBytes = 24;
export const frameHeaderBytes = 32;
export const blockRowBytes = 28;
export const ledgerRowBytes = 40;
export const trailerBytes = 64;
export const blockBytesAim = 8192;
const formatVersion = 1; // persisted
const headerMagic = 0x44424958; // 'DBIX', persisted
const frameMagic = 0x44424946; // 'DBIF', persisted
const trailerMagic = 0x44424954; // 'DBIT', persisted

export function indexFileName(logId: number): string {
  return `${logId.toString(16).padStart(16, '0')}.idx`;
}

export function encodeIndexHeader(logId: number): Buffer {
  const out = Buffer.alloc(indexHeaderBytes);
  out.writeUInt32BE(headerMagic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, logId, 8);
  out.writeUInt32BE(crc32c(out.subarray(0, 60)), 60);
  return out;
}

/** The log's id; undefined when the bytes are not a whole header. */
export function decodeIndexHeader(bytes: Buffer, path: string): number | undefined {
  if (bytes.length < indexHeaderBytes || bytes.readUInt32BE(0) !== headerMagic) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return undefined;
  if (bytes.readUInt32BE(4) !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, bytes.readUInt32BE(4), formatVersion);
  return readId(bytes, 8);
}

/** A run in memory: position `i` of it is `positions[at + i]`, up to and with `i = count`, the end. */
export interface Run {
  ledgerId: number;
  firstEntryId: number;
  count: number;
  positions: Uint32Array;
  at: number;
}

export function runBytes(count: number): number {
  return runHeaderBytes + 4 * (count + 1);
}

/** Writes `count` entries of a run, from its `from`-th on, and returns where the next run goes. */
export function encodeRun(target: Buffer, at: number, run: Run, from = 0, count = run.count): number {
  writeId(target, run.ledgerId, at);
  writeId(target, run.firstEntryId + from, at + 8);
  target.writeUInt32BE(count, at + 16);
  target.writeUInt32BE(0, at + 20);
  let next = at + runHeaderBytes;
  for (let i = 0; i <= count; i++, next += 4) target.writeUInt32BE(run.positions[run.at + from + i] as number, next);
  return next;
}

/** The runs in `bytes[at, end)`; undefined when they do not fit exactly. */
export function decodeRuns(bytes: Buffer, at: number, end: number): Run[] | undefined {
  const runs: Run[] = [];
  let next = at;
  while (next < end) {
    if (next + runHeaderBytes > end) return undefined;
    const count = bytes.readUInt32BE(next + 16);
    if (count === 0 || next + runBytes(count) > end) return undefined;
    const positions = new Uint32Array(count + 1);
    for (let i = 0; i <= count; i++) positions[i] = bytes.readUInt32BE(next + runHeaderBytes + 4 * i);
    runs.push({ ledgerId: readId(bytes, next), firstEntryId: readId(bytes, next + 8), count, positions, at: 0 });
    next += runBytes(count);
  }
  return runs;
}

export interface FrameInfo {
  logId: number;
  logBytesBefore: number;
  logBytesAfter: number;
}

export function encodeFrame(info: FrameInfo, runs: readonly Run[]): Buffer {
  let bytes = frameHeaderBytes;
  for (const run of runs) bytes += runBytes(run.count);
  const out = Buffer.allocUnsafeSlow(bytes);
  out.writeUInt32BE(frameMagic, 4);
  out.writeUInt32BE(bytes, 8);
  out.writeUInt32BE(runs.length, 12);
  writeId(out, info.logId, 16);
  out.writeUInt32BE(info.logBytesBefore, 24);
  out.writeUInt32BE(info.logBytesAfter, 28);
  let at = frameHeaderBytes;
  for (const run of runs) at = encodeRun(out, at, run);
  out.writeUInt32BE(crc32c(out.subarray(4)), 0);
  return out;
}

/** The frame at `at` and where the next one starts; undefined when it is not whole or of another log. */
export function decodeFrame(bytes: Buffer, at: number, logId: number): { info: FrameInfo; runs: Run[]; end: number } | undefined {
  if (at + frameHeaderBytes > bytes.length || bytes.readUInt32BE(at + 4) !== frameMagic) return undefined;
  const end = at + bytes.readUInt32BE(at + 8);
  if (end < at + frameHeaderBytes || end > bytes.length || readId(bytes, at + 16) !== logId) return undefined;
  if (crc32c(bytes.subarray(at + 4, end)) !== bytes.readUInt32BE(at)) return undefined;
  const runs = decodeRuns(bytes, at + frameHeaderBytes, end);
  if (runs === undefined || runs.length !== bytes.readUInt32BE(at + 12)) return undefined;
  return { info: { logId, logBytesBefore: bytes.readUInt32BE(at + 24), logBytesAfter: bytes.readUInt32BE(at + 28) }, runs, end };
}

export interface TablePart {
  offset: number;
  bytes: number;
  crc: number;
}

export interface Trailer {
  logId: number;
  blocks: TablePart;
  ledgers: TablePart;
  logBytes: number;
  /** While there are any, nothing can be said not to be in this log. */
  holeBytes: number;
}

export function encodeTrailer(trailer: Trailer): Buffer {
  const out = Buffer.alloc(trailerBytes);
  out.writeUInt32BE(trailerMagic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, trailer.logId, 8);
  [trailer.blocks, trailer.ledgers].forEach((part, i) => {
    out.writeUInt32BE(part.offset, 16 + 12 * i);
    out.writeUInt32BE(part.bytes, 20 + 12 * i);
    out.writeUInt32BE(part.crc, 24 + 12 * i);
  });
  writeId(out, trailer.logBytes, 40);
  out.writeUInt32BE(trailer.holeBytes, 48);
  out.writeUInt32BE(crc32c(out.subarray(0, 60)), 60);
  return out;
}

export function decodeTrailer(bytes: Buffer, logId: number): Trailer | undefined {
  if (bytes.length < trailerBytes || bytes.readUInt32BE(0) !== trailerMagic || bytes.readUInt32BE(4) !== formatVersion) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60) || readId(bytes, 8) !== logId) return undefined;
  const part = (at: number): TablePart => ({ offset: bytes.readUInt32BE(at), bytes: bytes.readUInt32BE(at + 4), crc: bytes.readUInt32BE(at + 8) });
  return { logId, blocks: part(16), ledgers: part(28), logBytes: readId(bytes, 40), holeBytes: bytes.readUInt32BE(48) };
}

/** What a sealed log holds of one ledger. */
export interface LedgerRow {
  ledgerId: number;
  firstEntryId: number;
  lastEntryId: number;
  /** Of its records in the log: what comes free when the ledger is deleted. */
  logBytes: number;
  entriesCount: number;
}

export function encodeLedgerRow(target: Buffer, at: number, row: LedgerRow): void {
  writeId(target, row.ledgerId, at);
  writeId(target, row.firstEntryId, at + 8);
  writeId(target, row.lastEntryId, at + 16);
  writeId(target, row.logBytes, at + 24);
  target.writeUInt32BE(row.entriesCount, at + 32);
  target.writeUInt32BE(0, at + 36);
}

export function decodeLedgerRow(bytes: Buffer, at: number): LedgerRow {
  return {
    ledgerId: readId(bytes, at),
    firstEntryId: readId(bytes, at + 8),
    lastEntryId: readId(bytes, at + 16),
    logBytes: readId(bytes, at + 24),
    entriesCount: bytes.readUInt32BE(at + 32),
  };
}
