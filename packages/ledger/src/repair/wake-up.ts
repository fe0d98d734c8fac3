import type { Clock } from '@daybook/runtime';

/** A loop's sleep that others can end. A call that comes before the sleep is not lost. */
export class WakeUp {
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  #isCalled = false;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
    stop.addEventListener('abort', () => this.#sleeping?.abort(), { once: true });
  }

  call(): void {
    this.#isCalled = true;
    this.#sleeping?.abort();
  }

  /** Until the time is over, somebody calls, or the loop is to end. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isCalled && !this.#stop.aborted) {
      this.#sleeping = new AbortController();
      await this.#clock.sleep(ms, this.#sleeping.signal);
      this.#sleeping = undefined;
    }
    this.#isCalled = false;
  }
}
