import type { LedgerWriter } from '@daybook/ledger';
import { noEntry } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';

/** The ledger that takes a log's appends. */
export class CurrentLedger {
  readonly writer: LedgerWriter;
  readonly createdMonoMs: number;
  readonly createdWallMs: number;
  /** Newest entry known to be acknowledged. */
  confirmed: number = noEntry;
  failure: Error | undefined;
  readonly #clock: Clock;
  #isWaitingForRoom = false;
  #onProgress: (() => void) | undefined;

  constructor(writer: LedgerWriter, clock: Clock) {
    this.writer = writer;
    this.#clock = clock;
    this.createdMonoMs = clock.monoMs();
    this.createdWallMs = clock.wallMs();
  }

  /** Takes more right now. */
  get isWritable(): boolean {
    return this.failure === undefined && !this.writer.isFull;
  }

  /** Calls `task` once when the full window has room; asking again while waiting changes nothing. */
  whenRoom(task: () => void): void {
    if (this.#isWaitingForRoom || this.failure !== undefined) return;
    this.#isWaitingForRoom = true;
    this.writer.onDrain(() => {
      this.#isWaitingForRoom = false;
      task();
    });
  }

  /** To be called after each change of `confirmed` or `failure`. */
  progressed(): void {
    this.#onProgress?.();
  }

  /** Resolves when all that was pushed is confirmed, the writer failed, or it has taken too long. */
  drained(waitMaxMs: number): Promise<void> {
    const isDone = () => this.failure !== undefined || this.confirmed >= this.writer.lastAddPushed;
    if (isDone()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        this.#onProgress = undefined;
        resolve();
      };
      const timer = this.#clock.after(waitMaxMs, done);
      this.#onProgress = () => {
        if (isDone()) done();
      };
    });
  }
}
