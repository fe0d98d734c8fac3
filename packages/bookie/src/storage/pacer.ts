import type { Clock } from '@daybook/runtime';

/** Holds background work to a number of bytes per second. */
export class Pacer {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  #freeAtMs = 0;

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Resolves when `bytes` more may be worked on; at once when `stop` aborts. */
  async take(bytes: number, stop: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monoMs();
    // Time that was not used is lost: there is no burst after a pause.
    const startMs = Math.max(this.#freeAtMs, nowMs);
    this.#freeAtMs = startMs + (bytes / this.#bytesPerSecond) * 1000;
    if (this.#freeAtMs > nowMs) await this.#clock.sleep(this.#freeAtMs - nowMs, stop);
  }
}
