import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { JournalMark } from '../journal/journal.js';
import { readId, writeId } from './batch-bytes.js';

/**
 * Bytes of `lastMark`, in every ledger directory: what the ledger directories hold, and from where on the journal is still needed. All integers big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBLM` |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | number of this checkpoint, from 1 |
 * | 16 | 8 | journal file id of the mark |
 * | 24 | 8 | offset of the mark in it |
 * | 32 | 8 | lowest log id that was never used |
 * | 40 | 4 | count of logs |
 * | 44 | 4 | 0 |
 * | 48 | 32 x count | per log, ascending: log id, log bytes, index bytes, flags (bit 0: sealed), 8 bytes each |
 * | then | 4 | CRC32C of all bytes before |
 */
export interface Checkpoint {
  number: number;
  mark: JournalMark;
  nextLogId: number;
  logs: readonly LogExtent[];
}

/** How much of a log and its index counts: whatever lies behind is the rest of a flush that did not finish, and is still in the journal. */
export interface LogExtent {
  logId: number;
  logBytes: number;
  indexBytes: number;
  isSealed: boolean;
}

const headerBytes = 48;
const rowBytes = 32;
const formatVersion = 1; // persisted
const magic = 0x44424c4d; // 'DBLM', persisted

export const checkpointFileName = 'lastMark';

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  const out = Buffer.alloc(headerBytes + checkpoint.logs.length * rowBytes + 4);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, checkpoint.number, 8);
  writeId(out, checkpoint.mark.fileId, 16);
  writeId(out, checkpoint.mark.offset, 24);
  writeId(out, checkpoint.nextLogId, 32);
  out.writeUInt32BE(checkpoint.logs.length, 40);
  checkpoint.logs.forEach((log, i) => {
    const at = headerBytes + i * rowBytes;
    writeId(out, log.logId, at);
    writeId(out, log.logBytes, at + 8);
    writeId(out, log.indexBytes, at + 16);
    writeId(out, log.isSealed ? 1 : 0, at + 24);
  });
  out.writeUInt32BE(crc32c(out.subarray(0, out.length - 4)), out.length - 4);
  return out;
}

/** Undefined when the bytes are not a whole checkpoint. Throws `BOOKIE_FORMAT_VERSION` for an intact one of another version. */
export function decodeCheckpoint(bytes: Buffer, path: string): Checkpoint | undefined {
  if (bytes.length < headerBytes + 4 || bytes.readUInt32BE(0) !== magic) return undefined;
  if (crc32c(bytes.subarray(0, bytes.length - 4)) !== bytes.readUInt32BE(bytes.length - 4)) return undefined;
  if (bytes.readUInt32BE(4) !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, bytes.readUInt32BE(4), formatVersion);
  const count = bytes.readUInt32BE(40);
  if (bytes.length !== headerBytes + count * rowBytes + 4) return undefined;
  const logs: LogExtent[] = [];
  for (let at = headerBytes; at < bytes.length - 4; at += rowBytes) {
    const isSealed = readId(bytes, at + 24) === 1;
    logs.push({ logId: readId(bytes, at), logBytes: readId(bytes, at + 8), indexBytes: readId(bytes, at + 16), isSealed });
  }
  const mark = { fileId: readId(bytes, 16), offset: readId(bytes, 24) };
  return { number: readId(bytes, 8), mark, nextLogId: readId(bytes, 32), logs };
}
