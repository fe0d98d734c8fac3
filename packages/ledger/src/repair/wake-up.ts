import type { Clock } from '@daybook/runtime';

/** A loop's sleep that others can end. A call that comes before the sleep is not lost. */
export class WakeUp {
  readonly #clock: Clock;
  readonly #stop: AbortSignal;
  #isCalled = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, stop: AbortSignal) {
    this.#clock = clock;
    this.#stop = stop;
    stop.addEventListener('abort', () => this.#wake?.(), { once: true });
  }

  call(): void {
    this.#isCalled = true;
    this.#wake?.();
  }

  /** Until the time is over, somebody calls, or the loop is to end. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isCalled && !this.#stop.aborted) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.after(ms, () => this.#wake?.());
        this.#wake = () => {
          timer.cancel();
          this.#wake = undefined;
          resolve();
        };
      });
    }
    this.#isCalled = false;
  }
}
