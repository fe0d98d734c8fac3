import { type Disk, type DiskFile, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { decodeLogHeader, encodeLogHeader, logFileName, logHeaderBytes } from './entry-log-format.js';
import {
  decodeFrame,
  decodeIndexHeader,
  encodeFrame,
  encodeIndexHeader,
  indexFileName,
  indexHeaderBytes,
  type LedgerRow,
  type Run,
} from './index-format.js';
import { buildIndexTable } from './index-table.js';
import { OpenIndex } from './open-index.js';
import { readWholeFile } from './replace-file.js';
import { syncOrFail } from './sync-or-fail.js';

interface Places {
  disk: Disk;
  directory: string;
  logId: number;
  /** What is written is synced after so much, too, before it is committed: journals, which wait for the same disk, wait for that much at most. */
  syncStepBytes: number;
  /** It is for what compaction moves. */
  isCompacted: boolean;
  /** False once its directory was taken out: then nothing is written there any more. */
  isWritable(): boolean;
}

/**
 * The entry log being written, with its index. A flush writes records behind the committed end (`write`), then commits them with their runs: both files
 * are synced. Uncommitted bytes do not exist for anybody; a flush that fails in between starts again at the committed end.
 */
export class OpenLog {
  readonly logId: number;
  readonly directory: string;
  readonly isCompacted: boolean;
  readonly #syncStepBytes: number;
  readonly index = new OpenIndex();
  readonly #isWritable: () => boolean;
  readonly #log: DiskFile;
  readonly #indexFile: DiskFile;
  #logBytes: number;
  #indexBytes: number;
  #writtenTo: number;
  #isTorn = false;
  #unsyncedBytes = 0;

  private constructor(place: Places, files: { log: DiskFile; index: DiskFile }, bytes: { log: number; index: number }) {
    this.logId = place.logId;
    this.directory = place.directory;
    this.isCompacted = place.isCompacted;
    this.#syncStepBytes = place.syncStepBytes;
    this.#isWritable = place.isWritable;
    this.#log = files.log;
    this.#indexFile = files.index;
    this.#logBytes = bytes.log;
    this.#indexBytes = bytes.index;
    this.#writtenTo = bytes.log;
  }

  /** A new, empty log; its names and headers are durable with the first commit (rule R14: the files must not exist yet). */
  static async create(place: Places): Promise<OpenLog> {
    const { disk, directory, logId } = place;
    const paths = [`${directory}/${logFileName(logId)}`, `${directory}/${indexFileName(logId)}`] as const;
    const opened: DiskFile[] = [];
    try {
      for (const path of paths) opened.push(await disk.open(path, { mode: 'create' }));
      const [log, index] = opened as [DiskFile, DiskFile];
      await log.writeAt(0, encodeLogHeader(logId));
      await index.writeAt(0, encodeIndexHeader(logId));
      await syncOrFail(() => disk.syncDirectory(directory));
      return new OpenLog(place, { log, index }, { log: logHeaderBytes, index: indexHeaderBytes });
    } catch (error) {
      for (const file of opened) await file.close();
      if (diskErrors.FULL.is(error)) for (const path of paths) await disk.remove(path);
      throw error;
    }
  }

  /** The log as of the checkpoint; what lies behind is cut off. Rejects with `BOOKIE_LOG_DAMAGED` when it is not what it should be. */
  static async reopen(place: Places, bytes: { log: number; index: number; isReadOnly: boolean }): Promise<OpenLog> {
    const { disk, directory, logId } = place;
    const mode = bytes.isReadOnly ? 'read' : 'write';
    const logPath = `${directory}/${logFileName(logId)}`;
    const indexPath = `${directory}/${indexFileName(logId)}`;
    const frames = await readWholeFile(disk, indexPath);
    if (frames === undefined || frames.length < bytes.index) throw bookieErrors.LOG_DAMAGED(indexPath, `${bytes.index} bytes expected`);
    const log = await openChecked(disk, { path: logPath, logId, bytesMin: bytes.log, mode });
    const index = await disk.open(indexPath, { mode });
    const open = new OpenLog(place, { log, index }, bytes);
    try {
      // Before anything is cut off: if this is not what it should be, it is looked into as it is.
      open.#loadFrames(frames.subarray(0, bytes.index), indexPath);
      if (!bytes.isReadOnly) {
        await log.truncate(bytes.log);
        await index.truncate(bytes.index);
      }
    } catch (error) {
      await open.close();
      throw error;
    }
    return open;
  }

  /** Committed bytes. */
  get logBytes(): number {
    return this.#logBytes;
  }

  get indexBytes(): number {
    return this.#indexBytes;
  }

  /** Where the next `write` goes. */
  get writtenTo(): number {
    return this.#writtenTo;
  }

  /** A sync failed: nothing behind the committed end may be trusted, and nothing may be written any more; what was committed can be read. */
  get isTorn(): boolean {
    return this.#isTorn;
  }

  async write(records: Buffer): Promise<void> {
    this.#requireWritable();
    await this.#log.writeAt(this.#writtenTo, records);
    this.#writtenTo += records.length;
    this.#unsyncedBytes += records.length;
    if (this.#unsyncedBytes >= this.#syncStepBytes) await this.#sync(this.#log);
  }

  /**
   * Makes what was written since the last commit durable, then findable. `accept` is asked in the very turn in which it would become findable; when it
   * says no, nothing was written.
   */
  async commit(runs: readonly Run[], accept: () => boolean = () => true): Promise<boolean> {
    this.#requireWritable();
    const frame = encodeFrame({ logId: this.logId, logBytesBefore: this.#logBytes, logBytesAfter: this.#writtenTo }, runs);
    await this.#indexFile.writeAt(this.#indexBytes, frame);
    await this.#sync(...(this.#unsyncedBytes > 0 ? [this.#log] : []), this.#indexFile);
    if (!accept()) {
      this.rollBack();
      return false;
    }
    this.#indexBytes += frame.length;
    this.#logBytes = this.#writtenTo;
    for (const run of runs) this.index.add(run);
    return true;
  }

  /** Forgets what was written since the last commit. */
  rollBack(): void {
    this.#writtenTo = this.#logBytes;
  }

  /** As {@link rollBack}, and gives the space back. */
  async trim(): Promise<void> {
    this.rollBack();
    if (this.#isTorn || !this.#isWritable()) return;
    await this.#log.truncate(this.#logBytes);
    await this.#indexFile.truncate(this.#indexBytes);
  }

  /** Appends the table that makes the index searchable on disk, and says how long the index is with it. The log must not be written any more. */
  async seal(): Promise<{ ledgers: LedgerRow[]; indexBytes: number }> {
    this.#requireWritable();
    const table = buildIndexTable(this.index, this.logId, { offset: this.#indexBytes, logBytes: this.#logBytes });
    await this.#indexFile.writeAt(this.#indexBytes, table.bytes);
    // Nothing was committed to it: its header was left to the first commit.
    await this.#sync(...(this.#logBytes === logHeaderBytes ? [this.#log] : []), this.#indexFile);
    // Not counted here: until its owner calls the log sealed, it is an open one that ends before the table.
    return { ledgers: table.ledgers, indexBytes: this.#indexBytes + table.bytes.length };
  }

  async close(): Promise<void> {
    await this.#log.close();
    await this.#indexFile.close();
  }

  #requireWritable(): void {
    if (!this.#isWritable()) throw diskErrors.IO(this.#log.path, 'its directory was taken out');
  }

  async #sync(...files: DiskFile[]): Promise<void> {
    this.#isTorn = true;
    this.#unsyncedBytes = 0;
    await syncOrFail(() => Promise.all(files.map((file) => file.sync())));
    this.#isTorn = false;
  }

  #loadFrames(bytes: Buffer, path: string): void {
    if (decodeIndexHeader(bytes, path) !== this.logId) throw bookieErrors.LOG_DAMAGED(path, 'no valid header');
    let logBytes = logHeaderBytes;
    for (let at = indexHeaderBytes; at < bytes.length; ) {
      const frame = decodeFrame(bytes, at, this.logId);
      if (frame === undefined || frame.info.logBytesBefore !== logBytes) throw bookieErrors.LOG_DAMAGED(path, `no valid frame at ${at}`);
      for (const run of frame.runs) this.index.add(run);
      logBytes = frame.info.logBytesAfter;
      at = frame.end;
    }
    if (logBytes !== this.#logBytes) throw bookieErrors.LOG_DAMAGED(path, `it covers ${logBytes} bytes of the log, not ${this.#logBytes}`);
  }
}

async function openChecked(
  disk: Disk,
  { path, logId, bytesMin, mode }: { path: string; logId: number; bytesMin: number; mode: 'read' | 'write' },
): Promise<DiskFile> {
  const bytes = await disk.fileBytes(path);
  if (bytes === undefined || bytes < bytesMin) throw bookieErrors.LOG_DAMAGED(path, `${bytesMin} bytes expected, ${bytes ?? 'none'} there`);
  const file = await disk.open(path, { mode });
  const header = Buffer.alloc(logHeaderBytes);
  await file.readAt(0, header);
  if (decodeLogHeader(header, path) === logId) return file;
  await file.close();
  throw bookieErrors.LOG_DAMAGED(path, 'no valid header');
}
