import { type Clock, diskErrors, type Logger, type Timer } from '@daybook/runtime';
import type { JournalMarks } from '../journal/journal-mark.js';
import type { LedgerStorage } from './ledger-storage.js';

export interface FlushLoopOptions {
  clock: Clock;
  storage: LedgerStorage;
  /** How old something in the write cache gets before it is flushed; nothing happens while nothing is new. */
  intervalMs: number;
  marks(): JournalMarks;
  /** The checkpoint is published: journal files before the marks are free. */
  onCheckpoint(marks: JournalMarks): Promise<void>;
  /** Room in the write cache again. */
  onRoom(): void;
  /** Whether something waits for room: then the cache is flushed, however little is in it. */
  isRoomNeeded(): boolean;
  onFatal(error: unknown): void;
  /** No room on the disk. When it resolves, space that was kept back may have been given away. */
  onFull(error: unknown): Promise<void>;
  onFlush?(flush: { durationMs: number; entries: number; bytes: number }): void;
  logger: Logger;
}

const fullnessToFlush = 0.75;
const retryDelayMs = 1000;

/** Decides when the write cache is flushed: when it fills up, when something in it gets old, and at the end. One flush at a time. */
export class FlushLoop {
  readonly #options: FlushLoopOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isDirty = false;
  #isFailing = false;
  #isClosed = false;

  constructor(options: FlushLoopOptions) {
    this.#options = options;
  }

  /** To be called after each change of the storage. */
  noteChange(): void {
    if (!this.#isDirty) {
      this.#isDirty = true;
      this.#schedule(this.#options.intervalMs);
    }
    this.startIfNeeded();
  }

  /** A checkpoint could not be published at start: tries it soon. */
  noteUnpublished(): void {
    this.#isDirty = true;
    this.#schedule(retryDelayMs);
  }

  /** Starts a flush when the cache is rather full or somebody waits for room. */
  startIfNeeded(): void {
    if (this.#running !== undefined || this.#isFailing) return;
    const { storage, isRoomNeeded } = this.#options;
    if (storage.fullness >= fullnessToFlush || (storage.isDirty && isRoomNeeded())) this.#start(false);
  }

  /** Flushes now what there is, after the flush under way. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    if (this.#isDirty) this.#start(true);
    await this.#running;
  }

  /** The last flush; later changes are left to the journal. */
  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Stops at once: the bookie failed. */
  stop(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => {
      if (this.#running === undefined) this.#start(true);
    });
  }

  #start(mayIdle: boolean): void {
    if (this.#isClosed) return;
    // Not in this turn of the caller: a flush makes room, which would call back into whoever adds right now.
    const run = Promise.resolve().then(() => this.#run(mayIdle));
    this.#running = run.finally(() => {
      this.#running = undefined;
      // What came meanwhile may have filled the other half; a flush tried again leaves that one behind.
      if (this.#isDirty || this.#options.storage.isDirty) this.noteChange();
    });
  }

  async #run(mayIdle: boolean): Promise<void> {
    const { storage, clock, logger, onFlush } = this.#options;
    const startMs = clock.monoMs();
    const { writeCacheBytes, writeCacheEntries } = storage.stats();
    this.#timer?.cancel();
    this.#isDirty = false;
    try {
      // The marks come first (rule R10): everything before them is in the half that is flushed now, or was flushed before.
      const flushing = storage.flush(this.#options.marks(), { mayIdle });
      this.#options.onRoom();
      const marks = await flushing;
      this.#options.onRoom();
      await storage.publish(marks);
      this.#isFailing = false;
      onFlush?.({ durationMs: clock.monoMs() - startMs, entries: writeCacheEntries, bytes: writeCacheBytes });
      await this.#options.onCheckpoint(marks);
    } catch (error) {
      if (!diskErrors.FULL.is(error)) {
        this.stop();
        this.#options.onFatal(error);
        return;
      }
      const isFirst = !this.#isFailing;
      if (isFirst) logger.error({ error }, 'the disk is full: entries wait in memory and in the journal until there is room');
      this.#isFailing = true;
      this.#isDirty = true;
      await this.#options.onFull(error);
      this.#schedule(isFirst ? 0 : retryDelayMs);
    }
  }
}
