import type { Clock, Timer } from '@daybook/runtime';

/** Who waits for others. */
export interface Patient {
  /** Whether anybody is waited for; without, the timer stops by itself. */
  readonly isWaiting: boolean;
  /** Looks for who has been waited for too long. */
  judge(nowMs: number): void;
}

/**
 * One timer for many time-outs: runs only while something is outstanding. When it comes late, this process stood still (a pause, a long computation) and
 * answers may be waiting in its sockets: then nobody is judged until the next time.
 */
export class PatienceTimer {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #patient: Patient;
  #timer: Timer | undefined;
  #dueMs = 0;

  constructor(clock: Clock, periodMs: number, patient: Patient) {
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#patient = patient;
  }

  /** Something is outstanding (again). */
  start(): void {
    if (this.#timer !== undefined || !this.#patient.isWaiting) return;
    this.#dueMs = this.#clock.monoMs() + this.#periodMs;
    this.#timer = this.#clock.after(this.#periodMs, () => this.#ring());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #ring(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monoMs();
    if (nowMs < this.#dueMs + this.#periodMs) this.#patient.judge(nowMs);
    this.start();
  }
}
