import { type Clock, type Disk, diskErrors, invariant, type Timer } from '@daybook/runtime';
import type { JournalDirectory } from './journal-directory.js';
import { JournalFile, type JournalFileOptions } from './journal-file.js';
import { commitAlignmentBytes, encodeRecord, fileHeaderBytes, type RecordType, recordBytesFor } from './journal-format.js';
import type { JournalMark } from './journal-mark.js';

export interface JournalOptions {
  disk: Disk;
  clock: Clock;
  directory: JournalDirectory;
  fileBytesMax: number;
  /** A file older than this is not written any more, so that it can be recycled. */
  fileAgeMsMax: number;
  prefillBytes: number;
  /** A commit takes what is queued up to this many bytes; a larger record goes alone. */
  commitBytesMax: number;
  /** How long an idle journal waits for company after a record arrived. */
  groupWaitMs: number;
  syncEachWrite: boolean;
  /** A write or sync failed: the bookie must stop. Called once. */
  onFatal(error: unknown): void;
  /** The disk has no room for a record. Resolves when space that was kept back is given away: priority records are tried once more then. */
  onFull(error: unknown): Promise<void>;
  /** After the records of a commit were answered. */
  onCommit?(commit: { bytes: number; records: number; durationMs: number }): void;
}

/** `disk full`: nothing was promised, the journal goes on as soon as there is room; what was written of the record may come back at a replay, or not. */
export type JournalOutcome = 'durable' | 'disk full' | 'failed';

export interface JournalRecordToWrite {
  type: RecordType;
  /** Must not change until the record is answered. */
  body: Uint8Array;
  /** May use space that is kept back: fences and appends of a recovery. */
  isPriority: boolean;
}

interface Queued extends JournalRecordToWrite {
  done: (outcome: JournalOutcome) => void;
}

/** The largest body that fits a file. */
export function bodyBytesMax(fileBytesMax: number): number {
  return fileBytesMax - fileHeaderBytes - commitAlignmentBytes;
}

/**
 * One write-ahead log. Whatever queued up while one commit was written goes into the next: one copy into one reused buffer, one durable write,
 * then all are answered in order. After a failed write nothing is retried: everything is answered "failed" and `onFatal` is told. Only a full disk is no
 * failure: see {@link Journal.#relieve}.
 *
 * States: open -> closing (drains) -> closed; any -> failed.
 */
export class Journal {
  readonly #options: JournalOptions;
  #state: 'open' | 'closing' | 'closed' | 'failed' = 'open';
  /** None while the disk was too full to make the next one. */
  #file: JournalFile | undefined;
  #fileSinceMs = 0;
  /** Where the file before ended. */
  #previous: JournalMark | undefined;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #buffer: Buffer | undefined;
  #timer: Timer | undefined;
  #isScheduled = false;
  #running: Promise<void> | undefined;
  /** The next file is not filled ahead: what room there is, is for records. */
  #isOutOfRoom = false;
  /** Since the last commit: at the second one nothing more is tried. */
  #fullCount = 0;

  private constructor(options: JournalOptions, previous: JournalMark | undefined) {
    this.#options = options;
    this.#previous = previous;
  }

  /**
   * Starts a new file after `previous` (where replay ended, or undefined for the very first). On a full disk the journal is open without a file; only the
   * very first one must be there.
   */
  static async open(options: JournalOptions, previous: JournalMark | undefined): Promise<Journal> {
    const journal = new Journal(options, previous);
    try {
      await journal.#startFile();
    } catch (error) {
      if (!diskErrors.FULL.is(error) || previous === undefined) throw error;
      await options.onFull(error);
    }
    return journal;
  }

  /** Bytes not yet durable. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get directory(): JournalDirectory {
    return this.#options.directory;
  }

  /** The end of the last durable commit: take it before a flush starts (rule R10). */
  mark(): JournalMark {
    if (this.#file !== undefined) return { fileId: this.#file.fileId, offset: this.#file.end };
    return this.#previous as JournalMark;
  }

  /**
   * Queues a record; `done` is called exactly once, later, in the order of the calls as long as all are answered "durable"; "failed" only when the journal
   * failed or was closed.
   */
  append(record: JournalRecordToWrite, done: (outcome: JournalOutcome) => void): void {
    if (this.#state !== 'open') {
      queueMicrotask(() => done('failed'));
      return;
    }
    const { type, body, isPriority } = record;
    invariant(body.length <= bodyBytesMax(this.#options.fileBytesMax), 'a journal record fits a journal file');
    this.#queue.push({ type, body, isPriority, done });
    this.#queuedBytes += body.length;
    this.#schedule();
  }

  /** The bookie failed elsewhere: nothing is written or acknowledged any more. */
  stop(): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    const lost = this.#queue;
    this.#queue = [];
    this.#answer(lost, 'failed');
  }

  /** Writes what is queued, then ends. */
  async close(): Promise<void> {
    if (this.#state === 'open') {
      this.#state = 'closing';
      this.#timer?.cancel();
      this.#start();
    }
    await this.#running;
    if (this.#state !== 'closing') return;
    this.#state = 'closed';
    await this.#file?.close();
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#isScheduled) return;
    this.#isScheduled = true;
    const start = (): void => {
      this.#isScheduled = false;
      if (this.#state === 'open') this.#start();
    };
    const { clock, groupWaitMs } = this.#options;
    if (groupWaitMs > 0) this.#timer = clock.after(groupWaitMs, start);
    else clock.endOfTurn(start);
  }

  #start(): void {
    if (this.#running !== undefined || this.#queue.length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    this.#fullCount = 0;
    while (this.#queue.length > 0 && this.#state !== 'failed') {
      const group = this.#takeGroup();
      const startMs = this.#options.clock.monoMs();
      let bytes: number;
      try {
        bytes = await this.#commit(group);
      } catch (error) {
        if (!diskErrors.FULL.is(error)) return this.#fail(error, group);
        await this.#relieve(error, group);
        continue;
      }
      this.#fullCount = 0;
      this.#answer(group, 'durable');
      this.#options.onCommit?.({ bytes, records: group.length, durationMs: this.#options.clock.monoMs() - startMs });
    }
  }

  #takeGroup(): Queued[] {
    const { commitBytesMax } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const { body } of this.#queue) {
      bytes += recordBytesFor(body.length);
      if (count > 0 && bytes > commitBytesMax) break;
      count++;
    }
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  /** Resolves to the bytes written. */
  async #commit(group: readonly Queued[]): Promise<number> {
    let bytesMax = commitAlignmentBytes;
    for (const { body } of group) bytesMax += recordBytesFor(body.length);
    const file = await this.#fileFor(bytesMax);
    const buffer = this.#bufferFor(bytesMax);
    const place = { fileId: file.fileId, commitOffset: file.end };
    let end = 0;
    for (let i = 0; i < group.length; i++) {
      const { type, body } = group[i] as Queued;
      end = encodeRecord(buffer, end, place, { type, body, isLast: i === group.length - 1 });
    }
    await file.commit(buffer.subarray(0, end));
    return end;
  }

  /** The reused buffer; a record larger than a commit's bound gets one of its own. */
  #bufferFor(bytes: number): Buffer {
    const boundBytes = this.#options.commitBytesMax + commitAlignmentBytes;
    if (bytes > boundBytes) return Buffer.allocUnsafeSlow(bytes);
    if (this.#buffer === undefined || this.#buffer.length < bytes) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.min(boundBytes, Math.max(64 * 1024, bytes * 2)));
    }
    return this.#buffer;
  }

  async #fileFor(bytes: number): Promise<JournalFile> {
    const file = this.#file;
    if (file?.hasRoomFor(bytes) && !this.#isOld(file)) return file;
    await this.#endFile();
    return this.#startFile();
  }

  #isOld(file: JournalFile): boolean {
    const { clock, fileAgeMsMax } = this.#options;
    return file.end > fileHeaderBytes && clock.monoMs() - this.#fileSinceMs >= fileAgeMsMax;
  }

  async #endFile(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    this.#previous = this.mark();
    this.#file = undefined;
    await file.close();
  }

  async #startFile(): Promise<JournalFile> {
    const { directory, clock } = this.#options;
    const previous = this.#previous;
    const fileId = Math.max(previous?.fileId ?? 0, directory.fileIds.at(-1) ?? 0) + 1;
    const header = { fileId, previousFileId: previous?.fileId ?? 0, previousEnd: previous?.offset ?? 0 };
    const options = this.#fileOptions();
    this.#isOutOfRoom = false;
    const file = await JournalFile.create(options, header, directory.takeSpare());
    directory.noteCreated(fileId);
    this.#file = file;
    this.#fileSinceMs = clock.monoMs();
    return file;
  }

  #fileOptions(): JournalFileOptions {
    const { disk, directory, fileBytesMax, prefillBytes, syncEachWrite } = this.#options;
    return {
      disk,
      directory: directory.path,
      bytesMax: fileBytesMax,
      prefillBytes: this.#isOutOfRoom ? 0 : prefillBytes,
      syncEachWrite,
      onFillFailure: (error) => this.#fail(error, []),
    };
  }

  /**
   * The disk had no room for a commit. Nobody was told that it is durable, so nothing is lost. But some of it may have arrived, even whole records: the
   * file ends where it ended before and is never written again, as old and new remains must not mix; the next file says where this one's data ends.
   * Ordinary records are refused; those with priority are tried once more, in the room that was kept back.
   */
  async #relieve(error: unknown, group: readonly Queued[]): Promise<void> {
    await this.#endFile();
    this.#isOutOfRoom = true;
    const isLastTry = ++this.#fullCount > 1 || this.#state === 'failed';
    const waiting = [...group, ...this.#queue];
    const hasHope = ({ isPriority }: Queued): boolean => isPriority && !isLastTry;
    this.#queue = waiting.filter(hasHope);
    this.#answer(
      waiting.filter((record) => !hasHope(record)),
      'disk full',
    );
    await this.#options.onFull(error);
  }

  #fail(error: unknown, group: readonly Queued[]): void {
    const isFirst = this.#state !== 'failed';
    this.#state = 'failed';
    const lost = [...group, ...this.#queue];
    this.#queue = [];
    if (isFirst) this.#options.onFatal(error);
    this.#answer(lost, 'failed');
  }

  #answer(records: readonly Queued[], outcome: JournalOutcome): void {
    for (const { body } of records) this.#queuedBytes -= body.length;
    for (const { done } of records) done(outcome);
  }
}
