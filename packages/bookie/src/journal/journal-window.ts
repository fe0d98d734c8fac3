import type { DiskFile } from '@daybook/runtime';
import { commitAlignmentBytes, decodeRecord, type JournalRecord, recordHeaderBytes } from './journal-format.js';

const windowBytes = 1 << 20;

/** The record at `offset` with `end` as an offset in the file, or undefined when there is none. */
export async function readRecord(window: FileWindow, fileId: number, offset: number): Promise<JournalRecord | undefined> {
  for (let needed = 32; offset + needed <= window.fileBytes; ) {
    const bytes = await window.at(offset, needed);
    const result = decodeRecord(bytes, 0, { fileId, bytesOffset: offset });
    if (result.is === 'record') return { ...result.record, end: offset + result.record.end };
    if (result.is === 'none' || result.bytes <= bytes.length) return undefined;
    needed = result.bytes;
  }
  return undefined;
}

/** The first intact commit that begins after `offset`. */
export async function findCommitAfter(window: FileWindow, fileId: number, offset: number): Promise<number | undefined> {
  const first = (Math.floor(offset / commitAlignmentBytes) + 1) * commitAlignmentBytes;
  for (let at = first; at + commitAlignmentBytes <= window.fileBytes; at += commitAlignmentBytes) {
    if (!window.holds(at, commitAlignmentBytes)) await window.at(at, commitAlignmentBytes);
    if (!mayBeCommit(window, fileId, at)) continue;
    const record = await readRecord(window, fileId, at);
    if (record?.commitOffset === at) return at;
  }
  return undefined;
}

/** A cheap look at what only a commit's first record has, so that hundreds of megabytes of zeros or old records pass quickly. */
function mayBeCommit(window: FileWindow, fileId: number, at: number): boolean {
  const { bytes, start } = window;
  const i = at - start;
  return bytes.readUInt32BE(i + 28) === at && bytes.readUInt32BE(i + 24) === at && bytes.readUInt32BE(i + 20) === fileId % 0x1_0000_0000;
}

/** A moving part of a file in memory. */
export class FileWindow {
  readonly fileBytes: number;
  readonly #file: DiskFile;
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  /** One buffer for the whole file: a start that reads a long journal must not cost its size in memory. */
  #room: Buffer = Buffer.alloc(0);

  constructor(file: DiskFile, fileBytes: number) {
    this.#file = file;
    this.fileBytes = fileBytes;
  }

  holds(offset: number, bytes: number): boolean {
    return offset >= this.start && offset + bytes <= this.start + this.bytes.length;
  }

  /** The file from `offset` on: `needed` bytes or more, fewer only at its end. Valid until the next call. */
  async at(offset: number, needed: number): Promise<Buffer> {
    if (!this.holds(offset, needed)) {
      if (this.#room.length < needed) this.#room = Buffer.alloc(Math.max(Math.min(windowBytes, this.fileBytes), needed));
      const read = await this.#file.readAt(offset, this.#room);
      this.bytes = this.#room.subarray(0, read);
      this.start = offset;
    }
    return this.bytes.subarray(offset - this.start);
  }
}

const recordAlignmentBytes = 8;

/** The first intact record that starts in `[from, limit)`, wherever in a commit: what can be saved out of a damaged one. */
export async function findRecordBetween(window: FileWindow, fileId: number, from: number, limit: number): Promise<number | undefined> {
  const first = Math.ceil(from / recordAlignmentBytes) * recordAlignmentBytes;
  for (let at = first; at < limit && at + recordHeaderBytes <= window.fileBytes; at += recordAlignmentBytes) {
    if (!window.holds(at, recordHeaderBytes)) await window.at(at, recordHeaderBytes);
    if (window.bytes.readUInt32BE(at - window.start + 24) !== at) continue;
    if ((await readRecord(window, fileId, at)) !== undefined) return at;
  }
  return undefined;
}
