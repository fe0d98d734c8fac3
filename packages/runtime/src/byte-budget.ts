import { defineErrors } from './errors.js';
import { invariant } from './invariant.js';

export const byteBudgetErrors = defineErrors('BYTE_BUDGET', {
  TOO_LARGE: { retry: 'never', text: (bytes: number, bytesMax: number) => `${bytes} bytes are more than the whole budget of ${bytesMax} bytes` },
  STOPPED: { retry: 'never', text: (bytes: number) => `stopped while waiting for a budget of ${bytes} bytes` },
});

/** A place in the queue of a budget. */
export interface BudgetWaiter {
  /** Leaves the queue; does nothing once granted. */
  cancel(): void;
}

interface Waiter extends BudgetWaiter {
  /** 0: wants to know only that the budget is no longer full. */
  readonly bytes: number;
  granted: (() => void) | undefined;
}

/**
 * A bound in bytes, shared by whoever holds memory on behalf of others. Take before reading more, release when the work is done; at the
 * limit stop reading, so that TCP pushes back. Waiters are served strictly in order: a large one is not starved by small ones behind it.
 */
export class ByteBudget {
  readonly bytesMax: number;
  #available: number;
  #waiters: Waiter[] = [];
  #first = 0;
  #waitersCount = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
    this.#available = bytesMax;
  }

  /** Negative after {@link take} went over the limit. */
  get available(): number {
    return this.#available;
  }

  get taken(): number {
    return this.bytesMax - this.#available;
  }

  /** Nothing may be taken now without waiting. */
  get isFull(): boolean {
    return this.#available <= 0 || this.#waitersCount > 0;
  }

  /** Takes at once, or not at all when that would go over the limit or past a waiter. */
  tryAcquire(bytes: number): boolean {
    this.#requireFitting(bytes);
    if (this.#waitersCount > 0 || bytes > this.#available) return false;
    this.#available -= bytes;
    return true;
  }

  /**
   * For bytes that are in memory already (a frame that was just received): takes them even over the limit. The caller stops
   * reading while `isFull` and goes on when {@link onAvailable} calls, so the excess is one frame per connection at most.
   */
  take(bytes: number): void {
    this.#available -= bytes;
  }

  /** Resolves when the bytes are taken. Rejects with BYTE_BUDGET_STOPPED, taking nothing, when `stop` aborts first. */
  async acquire(bytes: number, stop?: AbortSignal): Promise<void> {
    if (stop?.aborted) throw byteBudgetErrors.STOPPED(bytes);
    if (this.tryAcquire(bytes)) return;
    await new Promise<void>((resolve, reject) => {
      const stopped = () => {
        waiter.cancel();
        reject(byteBudgetErrors.STOPPED(bytes));
      };
      const waiter = this.#wait(bytes, () => {
        stop?.removeEventListener('abort', stopped);
        resolve();
      });
      stop?.addEventListener('abort', stopped, { once: true });
    });
  }

  /** Calls `granted` once the bytes are taken: at once when they are free, otherwise during a later `release`. */
  acquireThen(bytes: number, granted: () => void): BudgetWaiter {
    if (this.tryAcquire(bytes)) {
      granted();
      return noWaiter;
    }
    return this.#wait(bytes, granted);
  }

  /** Calls `resume` once, when the budget is not full (any more); takes nothing. */
  onAvailable(resume: () => void): BudgetWaiter {
    if (!this.isFull) {
      resume();
      return noWaiter;
    }
    return this.#wait(0, resume);
  }

  release(bytes: number): void {
    this.#available += bytes;
    invariant(this.#available <= this.bytesMax, `${bytes} bytes released that were not taken`);
    this.#serve();
  }

  #requireFitting(bytes: number): void {
    invariant(bytes >= 0, `a budget of ${bytes} bytes was asked for`);
    if (bytes > this.bytesMax) throw byteBudgetErrors.TOO_LARGE(bytes, this.bytesMax);
  }

  #wait(bytes: number, granted: () => void): Waiter {
    const waiter: Waiter = {
      bytes,
      granted,
      cancel: () => {
        if (waiter.granted === undefined) return;
        waiter.granted = undefined;
        this.#waitersCount--;
        this.#serve();
      },
    };
    this.#waiters.push(waiter);
    this.#waitersCount++;
    return waiter;
  }

  #serve(): void {
    while (this.#first < this.#waiters.length) {
      const waiter = this.#waiters[this.#first] as Waiter;
      const granted = waiter.granted;
      if (granted !== undefined && (waiter.bytes > this.#available || this.#available <= 0)) break;
      this.#first++;
      if (granted === undefined) continue;
      // All of it before the call, which may come back here through release, acquire or cancel.
      waiter.granted = undefined;
      this.#waitersCount--;
      this.#available -= waiter.bytes;
      granted();
    }
    if (this.#first >= this.#waiters.length) {
      this.#waiters = [];
      this.#first = 0;
    } else if (this.#first > 1024 && this.#first > this.#waiters.length / 2) {
      this.#waiters = this.#waiters.slice(this.#first);
      this.#first = 0;
    }
  }
}

const noWaiter: BudgetWaiter = { cancel: () => undefined };
