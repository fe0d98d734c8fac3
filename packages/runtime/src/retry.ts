import type { Clock } from './clock.js';
import { DaybookError } from './errors.js';
import type { Random } from './random.js';

export interface BackoffOptions {
  random: Random;
  delayMsMin?: number;
  delayMsMax?: number;
}

/** Growing delays with jitter: each is drawn between half of and the whole of a value that doubles, so that many callers spread out. */
export class Backoff {
  readonly #random: Random;
  readonly #delayMsMin: number;
  readonly #delayMsMax: number;
  #attempts = 0;

  constructor({ random, delayMsMin = 10, delayMsMax = 10_000 }: BackoffOptions) {
    this.#random = random;
    this.#delayMsMin = delayMsMin;
    this.#delayMsMax = delayMsMax;
  }

  /** Delays given since the last reset. */
  get attempts(): number {
    return this.#attempts;
  }

  nextDelayMs(): number {
    const whole = Math.min(this.#delayMsMax, this.#delayMsMin * 2 ** Math.min(this.#attempts, 52));
    this.#attempts++;
    return whole / 2 + (whole / 2) * (this.#random.u32() / 2 ** 32);
  }

  /** After a success. */
  reset(): void {
    this.#attempts = 0;
  }
}

export interface RetryOptions extends BackoffOptions {
  clock: Clock;
  attemptsMax: number;
  stop?: AbortSignal;
  /** Told before each wait. */
  onRetry?: (error: DaybookError, attempt: number) => void;
}

/** Repeats `task` while it fails with an error whose `retry` is `later`. Throws the last error when that is over, or `stop` aborts. */
export async function retry<T>(task: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, attemptsMax, stop, onRetry } = options;
  const backoff = new Backoff(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await task(attempt);
    } catch (error) {
      if (!isWorthRetrying(error) || attempt >= attemptsMax || stop?.aborted) throw error;
      onRetry?.(error, attempt);
      await clock.sleep(backoff.nextDelayMs(), stop);
      if (stop?.aborted) throw error;
    }
  }
}

/** True for an expected error that says that the same may succeed later. */
export function isWorthRetrying(error: unknown): error is DaybookError {
  return error instanceof DaybookError && error.retry === 'later';
}
