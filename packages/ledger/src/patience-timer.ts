import type { Clock, Timer } from '@daybook/runtime';

export interface PatienceTimerOptions {
  clock: Clock;
  periodMs: number;
  /** Whether anybody is waited for; without, the timer stops by itself. */
  isNeeded: () => boolean;
  /** Looks for who has been waited for too long. */
  judge: (nowMs: number) => void;
}

/**
 * One timer for many time-outs: runs only while something is outstanding. When it comes late, this process stood still (a pause, a long computation) and
 * answers may be waiting in its sockets: then nobody is judged until the next time.
 */
export class PatienceTimer {
  readonly #o: PatienceTimerOptions;
  #timer: Timer | undefined;
  #dueMs = 0;

  constructor(options: PatienceTimerOptions) {
    this.#o = options;
  }

  /** Something is outstanding (again). */
  start(): void {
    if (this.#timer !== undefined || !this.#o.isNeeded()) return;
    const { clock, periodMs } = this.#o;
    this.#dueMs = clock.monoMs() + periodMs;
    this.#timer = clock.after(periodMs, () => this.#ring());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #ring(): void {
    this.#timer = undefined;
    const nowMs = this.#o.clock.monoMs();
    if (nowMs < this.#dueMs + this.#o.periodMs) this.#o.judge(nowMs);
    this.start();
  }
}
