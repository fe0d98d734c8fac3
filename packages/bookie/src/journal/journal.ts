import { type Clock, type Disk, invariant, type Timer } from '@daybook/runtime';
import type { JournalDirectory } from './journal-directory.js';
import { JournalFile, type JournalFileOptions } from './journal-file.js';
import { commitAlignmentBytes, encodeRecord, fileHeaderBytes, type RecordType, recordBytesFor } from './journal-format.js';

/** A place in the journal: everything before it is durable. */
export interface JournalMark {
  readonly fileId: number;
  readonly offset: number;
}

/** Negative when `a` is before `b`. */
export function compareMarks(a: JournalMark, b: JournalMark): number {
  return a.fileId - b.fileId || a.offset - b.offset;
}

export interface JournalOptions {
  disk: Disk;
  clock: Clock;
  directory: JournalDirectory;
  fileBytesMax: number;
  prefillBytes: number;
  /** A commit takes what is queued up to this many bytes; a larger record goes alone. */
  commitBytesMax: number;
  /** How long an idle journal waits for company after a record arrived. */
  groupWaitMs: number;
  syncEachWrite: boolean;
  /** A write or sync failed: the bookie must stop. Called once. */
  onFatal(error: unknown): void;
  /** After the records of a commit were answered. */
  onCommit?(commit: { bytes: number; records: number; durationMs: number }): void;
}

interface Queued {
  type: RecordType;
  body: Uint8Array;
  done: (isDurable: boolean) => void;
}

/** The largest body that fits a file. */
export function bodyBytesMax(fileBytesMax: number): number {
  return fileBytesMax - fileHeaderBytes - commitAlignmentBytes;
}

/**
 * The write-ahead log. Whatever queued up while one commit was written goes into the next: one copy into one reused buffer, one durable write,
 * then all are answered in order. After a failed write nothing is retried: everything is answered "not durable" and `onFatal` is told.
 *
 * States: open -> closing (drains) -> closed; any -> failed.
 */
export class Journal {
  readonly #options: JournalOptions;
  #state: 'open' | 'closing' | 'closed' | 'failed' = 'open';
  #file: JournalFile;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #buffer: Buffer | undefined;
  #timer: Timer | undefined;
  #isScheduled = false;
  #running: Promise<void> | undefined;

  private constructor(options: JournalOptions, file: JournalFile) {
    this.#options = options;
    this.#file = file;
  }

  /** Starts a new file after `previous` (where replay ended, or undefined for the very first). */
  static async open(options: JournalOptions, previous: JournalMark | undefined): Promise<Journal> {
    const fileId = Math.max(previous?.fileId ?? 0, options.directory.fileIds.at(-1) ?? 0) + 1;
    return new Journal(options, await createFile(options, fileId, previous));
  }

  /** Bytes not yet durable. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** The end of the last durable commit: take it before a flush starts (rule R10). */
  mark(): JournalMark {
    return { fileId: this.#file.fileId, offset: this.#file.end };
  }

  /**
   * Queues a record; `body` must not change until `done`, which is called exactly once, later, in the order of the calls, `false` only when
   * the journal failed or was closed.
   */
  append(type: RecordType, body: Uint8Array, done: (isDurable: boolean) => void): void {
    if (this.#state !== 'open') {
      queueMicrotask(() => done(false));
      return;
    }
    invariant(body.length <= bodyBytesMax(this.#options.fileBytesMax), 'a journal record fits a journal file');
    this.#queue.push({ type, body, done });
    this.#queuedBytes += body.length;
    this.#schedule();
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
    await this.#file.close();
  }

  #schedule(): void {
    if (this.#running !== undefined || this.#isScheduled) return;
    this.#isScheduled = true;
    const { clock, groupWaitMs } = this.#options;
    // Without a wait, the end of the turn: what came with the same turn shares the commit.
    if (groupWaitMs === 0) clock.endOfTurn(() => this.#start());
    else this.#timer = clock.after(groupWaitMs, () => this.#start());
  }

  #start(): void {
    this.#isScheduled = false;
    if (this.#running !== undefined || this.#state === 'failed') return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0 && this.#state !== 'failed') {
      const group = this.#takeGroup();
      const startMs = this.#options.clock.monoMs();
      let bytes: number;
      try {
        bytes = await this.#commit(group);
      } catch (error) {
        this.#fail(error, group);
        return;
      }
      for (const { body } of group) this.#queuedBytes -= body.length;
      for (const { done } of group) done(true);
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
    if (!this.#file.hasRoomFor(bytesMax)) await this.#roll();
    const buffer = this.#bufferFor(bytesMax);
    const place = { fileId: this.#file.fileId, commitOffset: this.#file.end };
    let end = 0;
    for (let i = 0; i < group.length; i++) {
      const { type, body } = group[i] as Queued;
      end = encodeRecord(buffer, end, place, { type, body, isLast: i === group.length - 1 });
    }
    await this.#file.commit(buffer.subarray(0, end));
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

  async #roll(): Promise<void> {
    const previous = this.mark();
    await this.#file.close();
    this.#file = await createFile(this.#options, previous.fileId + 1, previous);
  }

  #fail(error: unknown, group: readonly Queued[]): void {
    this.#state = 'failed';
    const lost = [...group, ...this.#queue];
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#options.onFatal(error);
    for (const { done } of lost) done(false);
  }
}

async function createFile(options: JournalOptions, fileId: number, previous: JournalMark | undefined): Promise<JournalFile> {
  const fileOptions: JournalFileOptions = {
    disk: options.disk,
    directory: options.directory.path,
    bytesMax: options.fileBytesMax,
    prefillBytes: options.prefillBytes,
    syncEachWrite: options.syncEachWrite,
  };
  const header = { fileId, previousFileId: previous?.fileId ?? 0, previousEnd: previous?.offset ?? 0 };
  const file = await JournalFile.create(fileOptions, header, options.directory.takeSpare());
  options.directory.noteCreated(fileId);
  return file;
}
