import type { Clock, Timer } from '@daybook/runtime';

/** One timer for whatever is due first; none while nothing is. */
export class DueTimer {
  readonly #clock: Clock;
  readonly #task: () => void;
  #timer: Timer | undefined;
  #dueMs = 0;

  constructor(clock: Clock, task: () => void) {
    this.#clock = clock;
    this.#task = task;
  }

  get isArmed(): boolean {
    return this.#timer !== undefined;
  }

  /** `dueMs` on the monotonic clock; undefined: nothing is due. May call earlier than asked when something earlier was due before: look at the time. */
  arm(dueMs: number | undefined): void {
    if (dueMs === undefined) {
      this.#timer?.cancel();
      this.#timer = undefined;
      return;
    }
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#clock.after(Math.max(1, Math.ceil(dueMs - this.#clock.monoMs())), () => {
      this.#timer = undefined;
      this.#task();
    });
  }
}
