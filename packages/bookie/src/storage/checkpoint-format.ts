import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { JournalMark, JournalMarks } from '../journal/journal-mark.js';
import { readId, writeId } from './batch-bytes.js';

/**
 * Bytes of `lastMark`, in every ledger directory: what the ledger directories hold, and from where on the journals are still needed. All integers big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBLM` |
 * | 4 | 4 | format version, 2 (persisted); version 1 is read: it has one journal, and neither of the two fields marked (2) |
 * | 8 | 8 | number of this checkpoint, from 1 |
 * | 16 | 8 | first journal: file id of the mark |
 * | 24 | 8 | first journal: offset of the mark in it |
 * | 32 | 8 | lowest log id that was never used |
 * | 40 | 4 | count of logs |
 * | 44 | 4 | count of further journals (2) |
 * | 48 | 32 x count | per log, ascending: log id, log bytes, index bytes, flags (bit 0: sealed, bit 1: written by compaction; from bit 16 on: bytes of it that were given up), 8 bytes each |
 * | then | 16 x count | per further journal, in the order of the configuration: file id, offset (2) |
 * | then | 8 | number of the oldest ledger snapshot (`ledgers`) that may be used with it (2) |
 * | then | 4 | CRC32C of all bytes before |
 */
export interface Checkpoint {
  number: number;
  /** One per journal directory. */
  marks: JournalMarks;
  nextLogId: number;
  logs: readonly LogExtent[];
  /** An older snapshot of the ledgers would have forgotten fences. */
  statesNumber: number;
}

/** How much of a log and its index counts: whatever lies behind is the rest of a flush that did not finish, and is still in the journal. */
export interface LogExtent {
  logId: number;
  logBytes: number;
  indexBytes: number;
  isSealed: boolean;
  /** Holds what compaction moved there: while it is open, only compaction writes to it. */
  isCompacted: boolean;
  /** Bytes of which nobody knows what they were, and which an operator gave up: they do not count as something that may be there. */
  givenUpBytes?: number;
}

const headerBytes = 48;
const rowBytes = 32;
const markBytes = 16;
const tailBytes = 12;
const formatVersion = 2; // persisted
const magic = 0x44424c4d; // 'DBLM', persisted
const sealedFlag = 1; // persisted
const compactedFlag = 2; // persisted
const givenUpUnit = 1 << 16; // persisted

export const checkpointFileName = 'lastMark';

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  const [first, ...further] = checkpoint.marks as [JournalMark, ...JournalMark[]];
  const out = Buffer.alloc(headerBytes + checkpoint.logs.length * rowBytes + further.length * markBytes + tailBytes);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, checkpoint.number, 8);
  writeId(out, first.fileId, 16);
  writeId(out, first.offset, 24);
  writeId(out, checkpoint.nextLogId, 32);
  out.writeUInt32BE(checkpoint.logs.length, 40);
  out.writeUInt32BE(further.length, 44);
  let at = headerBytes;
  for (const log of checkpoint.logs) {
    writeId(out, log.logId, at);
    writeId(out, log.logBytes, at + 8);
    writeId(out, log.indexBytes, at + 16);
    const flags = (log.isSealed ? sealedFlag : 0) | (log.isCompacted ? compactedFlag : 0);
    writeId(out, flags + (log.givenUpBytes ?? 0) * givenUpUnit, at + 24);
    at += rowBytes;
  }
  for (const mark of further) {
    writeId(out, mark.fileId, at);
    writeId(out, mark.offset, at + 8);
    at += markBytes;
  }
  writeId(out, checkpoint.statesNumber, at);
  out.writeUInt32BE(crc32c(out.subarray(0, out.length - 4)), out.length - 4);
  return out;
}

/** Undefined when the bytes are not a whole checkpoint. Throws `BOOKIE_FORMAT_VERSION` for an intact one of another version. */
export function decodeCheckpoint(bytes: Buffer, path: string): Checkpoint | undefined {
  if (bytes.length < headerBytes + 4 || bytes.readUInt32BE(0) !== magic) return undefined;
  if (crc32c(bytes.subarray(0, bytes.length - 4)) !== bytes.readUInt32BE(bytes.length - 4)) return undefined;
  const version = bytes.readUInt32BE(4);
  if (version !== 1 && version !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, version, formatVersion);
  const logsEnd = headerBytes + bytes.readUInt32BE(40) * rowBytes;
  const marksEnd = logsEnd + bytes.readUInt32BE(44) * markBytes;
  if (bytes.length !== (version === 1 ? marksEnd + 4 : marksEnd + tailBytes)) return undefined;
  const logs: LogExtent[] = [];
  for (let at = headerBytes; at < logsEnd; at += rowBytes) {
    const flags = readId(bytes, at + 24);
    const [isSealed, isCompacted] = [(flags & sealedFlag) !== 0, (flags & compactedFlag) !== 0];
    const [logId, logBytes, indexBytes] = [readId(bytes, at), readId(bytes, at + 8), readId(bytes, at + 16)];
    const givenUpBytes = Math.floor(flags / givenUpUnit);
    logs.push({ logId, logBytes, indexBytes, isSealed, isCompacted, ...(givenUpBytes > 0 && { givenUpBytes }) });
  }
  const marks = [markAt(bytes, 16)];
  for (let at = logsEnd; at < marksEnd; at += markBytes) marks.push(markAt(bytes, at));
  const statesNumber = version === 1 ? 0 : readId(bytes, marksEnd);
  return { number: readId(bytes, 8), marks, nextLogId: readId(bytes, 32), logs, statesNumber };
}

function markAt(bytes: Buffer, at: number): JournalMark {
  return { fileId: readId(bytes, at), offset: readId(bytes, at + 8) };
}
