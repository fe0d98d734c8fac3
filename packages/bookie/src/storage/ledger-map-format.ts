import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId, writeId } from './batch-bytes.js';
import type { LogRange } from './log-ranges.js';

/**
 * Bytes of a ledger map, `<16 hex digits of the map id>.map`: which of some sealed logs hold what of which ledger. It repeats what the ledger tables of
 * these logs say, sorted by ledger, and can be made again from them. All integers big endian. Never changed once written.
 *
 * Header, {@link mapHeaderBytes}: `DBMP`, version u32 = 1, map id i64, zeros to 60, CRC32C of the 60 bytes before.
 *
 * Then blocks of {@link mapBlockBytes}, the last one shorter, of rows of {@link mapRowBytes} sorted by (ledger, log): ledger id, first entry id, last entry
 * id, log id, 8 bytes each. Then the block table, 12 bytes a block: ledger id of its first row, CRC32C of the block. Then the logs, 16 bytes each,
 * ascending: log id, bytes of its index. A trailer at the very end, {@link mapTrailerBytes}:
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBMT` |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | map id |
 * | 16 | 8 | count of rows |
 * | 24 | 4 | count of logs |
 * | 28 | 4 | CRC32C of block table and logs |
 * | 32 | 28 | 0 |
 * | 60 | 4 | CRC32C of the bytes before |
 */
export const mapHeaderBytes = 64;
export const mapBlockBytes = 8192;
export const mapRowBytes = 32;
export const mapTrailerBytes = 64;
export const mapBlockTableRowBytes = 12;
export const mapLogRowBytes = 16;
const formatVersion = 1; // persisted
const headerMagic = 0x44424d50; // 'DBMP', persisted
const trailerMagic = 0x44424d54; // 'DBMT', persisted

export function mapFileName(mapId: number): string {
  return `${mapId.toString(16).padStart(16, '0')}.map`;
}

export function mapIdIn(name: string): number | undefined {
  const match = /^([0-9a-f]{16})\.map$/.exec(name);
  const id = match === null ? Number.NaN : Number.parseInt(match[1] as string, 16);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function encodeMapHeader(mapId: number): Buffer {
  const out = Buffer.alloc(mapHeaderBytes);
  out.writeUInt32BE(headerMagic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, mapId, 8);
  out.writeUInt32BE(crc32c(out.subarray(0, 60)), 60);
  return out;
}

/** The map's id; undefined when the bytes are not a whole header. */
export function decodeMapHeader(bytes: Buffer, path: string): number | undefined {
  if (bytes.length < mapHeaderBytes || bytes.readUInt32BE(0) !== headerMagic) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return undefined;
  if (bytes.readUInt32BE(4) !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, bytes.readUInt32BE(4), formatVersion);
  return readId(bytes, 8);
}

export interface MapTrailer {
  mapId: number;
  rowsCount: number;
  logsCount: number;
  tablesCrc: number;
}

export function encodeMapTrailer(trailer: MapTrailer): Buffer {
  const out = Buffer.alloc(mapTrailerBytes);
  out.writeUInt32BE(trailerMagic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, trailer.mapId, 8);
  writeId(out, trailer.rowsCount, 16);
  out.writeUInt32BE(trailer.logsCount, 24);
  out.writeUInt32BE(trailer.tablesCrc, 28);
  out.writeUInt32BE(crc32c(out.subarray(0, 60)), 60);
  return out;
}

export function decodeMapTrailer(bytes: Buffer): MapTrailer | undefined {
  if (bytes.length < mapTrailerBytes || bytes.readUInt32BE(0) !== trailerMagic || bytes.readUInt32BE(4) !== formatVersion) return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return undefined;
  return { mapId: readId(bytes, 8), rowsCount: readId(bytes, 16), logsCount: bytes.readUInt32BE(24), tablesCrc: bytes.readUInt32BE(28) };
}

/** Where the parts of a map with so many rows and logs are; they fill the file. */
export function mapLayout({ rowsCount, logsCount }: { rowsCount: number; logsCount: number }) {
  const blocksCount = Math.ceil((rowsCount * mapRowBytes) / mapBlockBytes);
  const tablesAt = mapHeaderBytes + rowsCount * mapRowBytes;
  const tablesBytes = blocksCount * mapBlockTableRowBytes + logsCount * mapLogRowBytes;
  return { blocksCount, tablesAt, tablesBytes, fileBytes: tablesAt + tablesBytes + mapTrailerBytes };
}

export function encodeMapRow(target: Buffer, at: number, ledgerId: number, range: LogRange): void {
  writeId(target, ledgerId, at);
  writeId(target, range.first, at + 8);
  writeId(target, range.last, at + 16);
  writeId(target, range.logId, at + 24);
}

export function ledgerIdOfMapRow(bytes: Buffer, at: number): number {
  return readId(bytes, at);
}

export function rangeOfMapRow(bytes: Buffer, at: number): LogRange {
  return { first: readId(bytes, at + 8), last: readId(bytes, at + 16), logId: readId(bytes, at + 24) };
}
