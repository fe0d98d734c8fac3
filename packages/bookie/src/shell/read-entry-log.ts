import { entryEntryId, entryHeaderBytes, entryLastAddConfirmed, entryLedgerId } from '@daybook/proto';
import { crc32c, type Disk, type DiskFile } from '@daybook/runtime';
import { decodeLogHeader, logHeaderBytes, logRecordHeaderBytes } from '../storage/entry-log-format.js';

export interface ReadLogOptions {
  /** Bytes of the log that count; default: the whole file. */
  endBytes?: number | undefined;
  /** Only records at these positions. */
  from?: number | undefined;
  to?: number | undefined;
  ledgerId?: number | undefined;
  entryId?: number | undefined;
}

export interface LogRecord {
  position: number;
  /** Of its entry. */
  bytes: number;
  ledgerId: number;
  entryId: number;
  lastAddConfirmed: number;
  /** False when its checksum is wrong: then nothing else said of it can be trusted. */
  isIntact: boolean;
  /** The entry: header, digest, payload. Valid only during the call. */
  entry: Buffer;
}

export interface LogSummary {
  path: string;
  /** Of its header; undefined when that is damaged. */
  logId: number | undefined;
  recordsCount: number;
  badRecordsCount: number;
  /** Where the last record ends. */
  end: number;
  /** Bytes behind it that are no records. */
  restBytes: number;
}

const windowBytes = 1 << 20;

/** Hands over the records of an entry log in the order of their places, without its index. A record whose length makes no sense ends it. */
export async function readEntryLog(
  disk: Disk,
  path: string,
  options: ReadLogOptions,
  onRecord: (record: LogRecord) => void | Promise<void>,
): Promise<LogSummary> {
  const file = await disk.open(path, { mode: 'read' });
  try {
    const limit = Math.min(options.endBytes ?? Number.POSITIVE_INFINITY, await file.bytes());
    const window = new Window(file, limit);
    const header = Buffer.alloc(logHeaderBytes);
    await file.readAt(0, header);
    const summary = { path, logId: decodeLogHeader(header, path), recordsCount: 0, badRecordsCount: 0, end: logHeaderBytes, restBytes: 0 };
    for (let next = await recordAt(window, summary.end); next !== undefined; next = await recordAt(window, summary.end)) {
      summary.end += logRecordHeaderBytes + next.bytes;
      if (!isWanted(next, options)) continue;
      summary.recordsCount++;
      if (!next.isIntact) summary.badRecordsCount++;
      await onRecord(next);
    }
    summary.restBytes = Math.max(0, limit - summary.end);
    return summary;
  } finally {
    await file.close();
  }
}

function isWanted({ position, ledgerId, entryId, isIntact }: LogRecord, options: ReadLogOptions): boolean {
  if (position < (options.from ?? 0) || position > (options.to ?? Number.POSITIVE_INFINITY)) return false;
  if (!isIntact && options.ledgerId === undefined) return true;
  return (options.ledgerId ?? ledgerId) === ledgerId && (options.entryId ?? entryId) === entryId;
}

async function recordAt(window: Window, position: number): Promise<LogRecord | undefined> {
  const head = await window.bytesAt(position, logRecordHeaderBytes);
  if (head === undefined) return undefined;
  const crc = head.readUInt32BE(0);
  const bytes = head.readUInt32BE(4);
  const record = bytes < entryHeaderBytes ? undefined : await window.bytesAt(position, logRecordHeaderBytes + bytes);
  if (record === undefined) return undefined;
  const entry = record.subarray(logRecordHeaderBytes);
  return {
    position,
    bytes,
    ledgerId: entryLedgerId(entry),
    entryId: entryEntryId(entry),
    lastAddConfirmed: entryLastAddConfirmed(entry),
    isIntact: crc32c(record.subarray(4)) === crc,
    entry,
  };
}

class Window {
  readonly #file: DiskFile;
  readonly #limit: number;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(file: DiskFile, limit: number) {
    this.#file = file;
    this.#limit = limit;
  }

  /** Undefined when the log ends before. Valid until the next call. */
  async bytesAt(position: number, count: number): Promise<Buffer | undefined> {
    if (position + count > this.#limit) return undefined;
    if (position < this.#start || position + count > this.#start + this.#bytes.length) {
      const target = Buffer.allocUnsafeSlow(Math.min(Math.max(windowBytes, count), this.#limit - position));
      this.#bytes = target.subarray(0, await this.#file.readAt(position, target));
      this.#start = position;
    }
    const at = position - this.#start;
    return at + count > this.#bytes.length ? undefined : this.#bytes.subarray(at, at + count);
  }
}
