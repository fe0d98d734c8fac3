import { entryHeaderBytes } from '@daybook/proto';
import { crc32c, type Disk, type DiskFile } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId } from './batch-bytes.js';
import { logFileName, logHeaderBytes, logRecordHeaderBytes } from './entry-log-format.js';
import { encodeFrame, encodeIndexHeader, indexFileName, indexHeaderBytes, type LedgerRow, type Run } from './index-format.js';
import { buildIndexTable } from './index-table.js';
import { OpenIndex } from './open-index.js';
import { syncOrFail } from './sync-or-fail.js';

export interface RebuildOptions {
  disk: Disk;
  directory: string;
  logId: number;
  logBytes: number;
  /** What can still be read of the damaged index: tells whose a damaged record is. */
  known: readonly Run[];
  /** Ledgers that exist: what is no entry of one of them is not looked for among damaged bytes. */
  isKnownLedger(ledgerId: number): boolean;
  /** Called after each piece of the log that was read. */
  afterRead(bytes: number): Promise<void>;
}

export interface RebuiltIndex {
  indexBytes: number;
  ledgers: readonly LedgerRow[];
  entriesCount: number;
  /** Bytes of the log of which nobody can say what they were. */
  holeBytes: number;
}

interface Found {
  ledgerId: number;
  entryId: number;
  position: number;
  end: number;
}

/**
 * Makes the index of a log anew from the log itself, and puts it in the place of the old one: written beside it, synced, renamed. A crash leaves the one or
 * the other; both are found to be what they are when they are opened. A damaged record stays in the index when its old one still tells whose it was, so
 * that it is answered with an error; otherwise it is a hole, and nothing can be said not to be in this log.
 */
export async function rebuildIndex(options: RebuildOptions): Promise<RebuiltIndex> {
  const { disk, directory, logId, logBytes } = options;
  const path = `${directory}/${logFileName(logId)}`;
  const log = await disk.open(path, { mode: 'read' });
  try {
    if ((await log.bytes()) < logBytes) throw bookieErrors.LOG_DAMAGED(path, `${logBytes} bytes expected`);
    const scan = new LogScan(log, options);
    await scan.run();
    const index = new OpenIndex();
    for (const run of scan.runs) index.add(run);
    const frame = encodeFrame({ logId, logBytesBefore: logHeaderBytes, logBytesAfter: logBytes }, scan.runs);
    const place = { offset: indexHeaderBytes + frame.length, logBytes, holeBytes: scan.holeBytes };
    const { bytes: table, ledgers } = buildIndexTable(index, logId, place);
    await writeIndex(disk, `${directory}/${indexFileName(logId)}`, [encodeIndexHeader(logId), frame, table]);
    await syncOrFail(() => disk.syncDirectory(directory));
    return { indexBytes: place.offset + table.length, ledgers, entriesCount: scan.entriesCount, holeBytes: scan.holeBytes };
  } finally {
    await log.close();
  }
}

async function writeIndex(disk: Disk, path: string, parts: readonly Buffer[]): Promise<void> {
  const file = await disk.open(`${path}.new`);
  try {
    await file.truncate(0);
    let at = 0;
    for (const part of parts) {
      await file.writeAt(at, part);
      at += part.length;
    }
    await syncOrFail(() => file.sync());
  } catch (error) {
    await disk.remove(`${path}.new`);
    throw error;
  } finally {
    await file.close();
  }
  await disk.rename(`${path}.new`, path);
}

const windowBytes = 256 * 1024;

/** Goes through a log from record to record. */
class LogScan {
  readonly #file: DiskFile;
  readonly #options: RebuildOptions;
  readonly #known: readonly Found[];
  readonly runs: Run[] = [];
  #lastEnd = -1;
  #window = Buffer.alloc(0);
  #windowStart = 0;
  entriesCount = 0;
  holeBytes = 0;

  constructor(file: DiskFile, options: RebuildOptions) {
    this.#file = file;
    this.#options = options;
    this.#known = [...foundIn(options.known)].sort((a, b) => a.position - b.position);
  }

  async run(): Promise<void> {
    const { logBytes } = this.#options;
    let knownAt = 0;
    for (let at = logHeaderBytes; at < logBytes; ) {
      while (knownAt < this.#known.length && (this.#known[knownAt] as Found).position < at) knownAt++;
      const known = this.#known[knownAt];
      const found = (await this.#recordAt(at)) ?? (known?.position === at ? known : undefined);
      if (found !== undefined) {
        this.#add(found);
        at = found.end;
        continue;
      }
      const next = await this.#nextAfter(at, known?.position ?? logBytes);
      this.holeBytes += next - at;
      at = next;
    }
  }

  /** The intact record at `at`. */
  async #recordAt(at: number): Promise<Found | undefined> {
    const { logBytes } = this.#options;
    if (at + logRecordHeaderBytes + entryHeaderBytes > logBytes) return undefined;
    const head = await this.#bytesAt(at, logRecordHeaderBytes + entryHeaderBytes);
    const end = at + logRecordHeaderBytes + head.readUInt32BE(4);
    const ledgerId = readId(head, 8);
    const entryId = readId(head, 16);
    if (end < at + logRecordHeaderBytes + entryHeaderBytes || end > logBytes) return undefined;
    if (!Number.isSafeInteger(ledgerId) || !Number.isSafeInteger(entryId)) return undefined;
    const record = await this.#bytesAt(at, end - at);
    return crc32c(record.subarray(4)) === record.readUInt32BE(0) ? { ledgerId, entryId, position: at, end } : undefined;
  }

  /** Where an intact record starts behind the damaged place `at`, at the latest `limit`. */
  async #nextAfter(at: number, limit: number): Promise<number> {
    for (let next = at + 1; next < limit; next++) {
      if (!(await this.#mayBeRecord(next))) continue;
      if ((await this.#recordAt(next)) !== undefined) return next;
    }
    return limit;
  }

  /** A cheap look, as it is taken at every byte: whatever is one names a ledger that exists. */
  async #mayBeRecord(at: number): Promise<boolean> {
    const headBytes = logRecordHeaderBytes + entryHeaderBytes;
    if (at + headBytes > this.#options.logBytes) return false;
    const isInWindow = at >= this.#windowStart && at + headBytes <= this.#windowStart + this.#window.length;
    const head = isInWindow ? this.#window.subarray(at - this.#windowStart) : await this.#bytesAt(at, headBytes);
    return at + logRecordHeaderBytes + head.readUInt32BE(4) <= this.#options.logBytes && this.#options.isKnownLedger(readId(head, 8));
  }

  /** Valid until the next call. */
  async #bytesAt(at: number, count: number): Promise<Buffer> {
    if (at < this.#windowStart || at + count > this.#windowStart + this.#window.length) {
      const target = Buffer.allocUnsafeSlow(Math.min(Math.max(windowBytes, count), this.#options.logBytes - at));
      const read = await this.#file.readAt(at, target);
      this.#window = target.subarray(0, read);
      this.#windowStart = at;
      await this.#options.afterRead(read);
    }
    return this.#window.subarray(at - this.#windowStart, at - this.#windowStart + count);
  }

  #add({ ledgerId, entryId, position, end }: Found): void {
    this.entriesCount++;
    const run = this.runs.at(-1);
    if (
      run !== undefined &&
      run.ledgerId === ledgerId &&
      run.firstEntryId + run.count === entryId &&
      position === this.#lastEnd &&
      run.count < runMax
    ) {
      run.positions[++run.count] = end;
    } else {
      const positions = new Uint32Array(runMax + 1);
      positions[0] = position;
      positions[1] = end;
      if (run !== undefined) run.positions = run.positions.slice(0, run.count + 1);
      this.runs.push({ ledgerId, firstEntryId: entryId, count: 1, positions, at: 0 });
    }
    this.#lastEnd = end;
  }
}

const runMax = 1000;

function* foundIn(runs: readonly Run[]): Generator<Found> {
  for (const { ledgerId, firstEntryId, count, positions, at } of runs) {
    for (let i = 0; i < count; i++) {
      yield { ledgerId, entryId: firstEntryId + i, position: positions[at + i] as number, end: positions[at + i + 1] as number };
    }
  }
}
