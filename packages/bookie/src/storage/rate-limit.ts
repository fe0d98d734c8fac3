import type { Clock } from '@daybook/runtime';

/** Shorter waits are saved up. */
const waitMsMin = 5;

/** Slows a task down to so many units a second, without bursts after a pause. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #paidUntilMs = 0;

  /** 0 is no limit. */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** The most to take at once so that the flow stays even, at least 1. */
  get stepMax(): number {
    return this.#perSecond === 0 ? Number.MAX_SAFE_INTEGER : Math.max(1, Math.floor(this.#perSecond / 20));
  }

  /** Waits until what was taken before is paid for; ends early when `stop` aborts. */
  async take(count: number, stop: AbortSignal): Promise<void> {
    if (this.#perSecond === 0) return;
    const waitMs = this.#paidUntilMs - this.#clock.monoMs();
    if (waitMs >= waitMsMin) await this.#clock.sleep(waitMs, stop);
    this.#paidUntilMs = Math.max(this.#paidUntilMs, this.#clock.monoMs()) + (count / this.#perSecond) * 1000;
  }
}
