import type { Clock, Timer } from './clock.js';
import { defineErrors } from './errors.js';

export const batcherErrors = defineErrors('BATCHER', {
  FULL: { retry: 'later', text: (bytes: number, bytesMax: number) => `${bytes} bytes are waiting to be written, no more than ${bytesMax} may` },
  CLOSED: { retry: 'never', text: () => 'it is closed, nothing more is written' },
});

export interface BatcherOptions<T> {
  clock: Clock;
  /** Does the slow thing once for all items, and completes them itself. At most one call at a time, in the order of `add`. */
  flush: (items: T[], bytes: number) => Promise<void>;
  /** A batch is closed before it would grow beyond this (one larger item is a batch of its own). */
  batchBytesMax: number;
  /** Bound of all that waits, the batch being flushed included. */
  queueBytesMax: number;
  /** How long a first item may wait for company; default 0: until the end of the event-loop turn. */
  delayMs?: number;
  /** Told of a batch whose flush failed, then of each batch behind it unless `afterFailure` is `continue`. */
  onFailure: (error: unknown, items: T[]) => void;
  /** `stop` (default): after a failed flush nothing more is written, `add` throws its error. `continue`: batches stand for themselves. */
  afterFailure?: 'stop' | 'continue';
}

interface Batch<T> {
  items: T[];
  bytes: number;
  firstAtMs: number;
  flushed: Promise<void> | undefined;
  settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;
}

/**
 * Group commit: what queues up while one flush runs goes into the next, up to a bound in bytes. Costs no promise or closure per item;
 * who wants to wait shares one promise per batch.
 */
export class Batcher<T> implements AsyncDisposable {
  readonly #options: BatcherOptions<T>;
  readonly #waiting: Batch<T>[] = [];
  #queuedBytes = 0;
  #flushing = false;
  #timer: Timer | undefined;
  #turnPending = false;
  #closed: Promise<void> | undefined;
  #idle: (() => void) | undefined;
  #failure: { error: unknown } | undefined;

  constructor(options: BatcherOptions<T>) {
    this.#options = options;
  }

  /** Bytes added and not yet flushed. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get isFull(): boolean {
    return this.#queuedBytes >= this.#options.queueBytesMax;
  }

  /** Queues an item. Throws BATCHER_FULL, BATCHER_CLOSED, or the error of an earlier flush. */
  add(item: T, bytes: number): void {
    this.#push(item, bytes);
  }

  /** As `add`, but rejects instead of throwing; the promise, shared by the batch, settles as its flush does. */
  addAndWait(item: T, bytes: number): Promise<void> {
    let batch: Batch<T>;
    try {
      batch = this.#push(item, bytes);
    } catch (error) {
      return Promise.reject(error);
    }
    batch.flushed ??= new Promise((resolve, reject) => {
      batch.settle = { resolve, reject };
    });
    return batch.flushed;
  }

  /** Refuses new items, flushes those it has, and resolves when that is done (also when it failed: `onFailure` was told). */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#idle = resolve;
      this.#timer?.cancel();
      this.#next();
    });
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #push(item: T, bytes: number): Batch<T> {
    const { queueBytesMax, batchBytesMax, clock } = this.#options;
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#closed !== undefined) throw batcherErrors.CLOSED();
    if (this.#queuedBytes > 0 && this.#queuedBytes + bytes > queueBytesMax) throw batcherErrors.FULL(this.#queuedBytes, queueBytesMax);
    let batch = this.#waiting.at(-1);
    if (batch === undefined || batch.bytes + bytes > batchBytesMax) {
      batch = { items: [], bytes: 0, firstAtMs: clock.monoMs(), flushed: undefined, settle: undefined };
      this.#waiting.push(batch);
    }
    batch.items.push(item);
    batch.bytes += bytes;
    this.#queuedBytes += bytes;
    if (!this.#flushing) this.#schedule();
    return batch;
  }

  /** Decides when the first waiting batch goes; called whenever no flush is under way. */
  #schedule(): void {
    const { clock, delayMs = 0, batchBytesMax } = this.#options;
    const first = this.#waiting[0] as Batch<T>;
    const waitMs = first.firstAtMs + delayMs - clock.monoMs();
    const isReady = this.#waiting.length > 1 || first.bytes >= batchBytesMax || waitMs <= 0 || this.#closed !== undefined;
    if (!isReady) {
      this.#timer ??= clock.after(waitMs, () => {
        this.#timer = undefined;
        this.#next();
      });
    } else if (!this.#turnPending) {
      this.#turnPending = true;
      clock.endOfTurn(() => {
        this.#turnPending = false;
        this.#next();
      });
    }
  }

  #next(): void {
    if (this.#flushing) return;
    const batch = this.#waiting.shift();
    if (batch === undefined) {
      this.#idle?.();
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#flushing = true;
    this.#flush(batch).then(
      () => this.#ended(batch),
      (error) => this.#failed(batch, error),
    );
  }

  async #flush(batch: Batch<T>): Promise<void> {
    await this.#options.flush(batch.items, batch.bytes);
  }

  #ended(batch: Batch<T>): void {
    this.#flushing = false;
    this.#queuedBytes -= batch.bytes;
    batch.settle?.resolve();
    if (this.#waiting.length === 0) this.#idle?.();
    else if (this.#closed !== undefined || this.#isDue()) this.#next();
    else this.#schedule();
  }

  /** What queued during a flush does not wait for the end of the turn as well. */
  #isDue(): boolean {
    const { clock, delayMs = 0, batchBytesMax } = this.#options;
    const first = this.#waiting[0] as Batch<T>;
    return this.#waiting.length > 1 || first.bytes >= batchBytesMax || clock.monoMs() >= first.firstAtMs + delayMs;
  }

  #failed(batch: Batch<T>, error: unknown): void {
    this.#reject(batch, error);
    if (this.#options.afterFailure !== 'continue') {
      this.#failure = { error };
      for (const behind of this.#waiting.splice(0)) this.#reject(behind, error);
    }
    batch.bytes = 0;
    this.#ended(batch);
  }

  #reject(batch: Batch<T>, error: unknown): void {
    this.#queuedBytes -= batch.bytes;
    batch.settle?.reject(error);
    this.#options.onFailure(error, batch.items);
  }
}
