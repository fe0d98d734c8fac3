import type { AppendListener, LedgerWriter } from '@daybook/ledger';
import { type EntryId, noEntry } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';

/** Whoever appends to a current ledger. */
export interface CurrentLedgerOwner {
  /** Everything up to `last` is acknowledged. */
  confirm(current: CurrentLedger, last: EntryId): void;
  writerFailed(current: CurrentLedger, error: Error): void;
}

/** The ledger that takes a log's appends. */
export class CurrentLedger implements AppendListener {
  readonly writer: LedgerWriter;
  readonly createdMonoMs: number;
  readonly createdWallMs: number;
  /** Newest entry known to be acknowledged. */
  lastConfirmed: number = noEntry;
  failure: Error | undefined;
  readonly #clock: Clock;
  readonly #owner: CurrentLedgerOwner;
  #isWaitingForRoom = false;
  #onProgress: (() => void) | undefined;

  /** Listens to `writer`, which is new. `confirmed` and `failed` are for the writer to call. */
  constructor(writer: LedgerWriter, clock: Clock, owner: CurrentLedgerOwner) {
    this.writer = writer;
    this.#clock = clock;
    this.#owner = owner;
    this.createdMonoMs = clock.monoMs();
    this.createdWallMs = clock.wallMs();
    writer.listen(this);
  }

  confirmed(last: EntryId): void {
    this.#owner.confirm(this, last);
  }

  failed(error: Error, last: EntryId): void {
    this.#owner.confirm(this, last);
    this.#owner.writerFailed(this, error);
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

  /** To be called after each change of `lastConfirmed` or `failure`. */
  progressed(): void {
    this.#onProgress?.();
  }

  /** Resolves when all that was pushed is confirmed, the writer failed, or it has taken too long. */
  drained(waitMaxMs: number): Promise<void> {
    const isDone = () => this.failure !== undefined || this.lastConfirmed >= this.writer.lastAddPushed;
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
