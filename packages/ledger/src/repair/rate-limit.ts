import type { Clock } from '@daybook/runtime';

export interface RateLimitOptions {
  clock: Clock;
  /** `replicationRateByBytes`; 0 or less: no limit. */
  bytesPerSecond?: number | undefined;
  entriesPerSecond?: number | undefined;
}

/** What was not used may be used later, but not more than this of it. */
const burstMs = 100;

/** Lets copies pass at a bounded rate; whoever shares it shares the rate. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  readonly #entriesPerSecond: number;
  /** When what was let through so far has had its time. */
  #freeAtMs = 0;

  constructor({ clock, bytesPerSecond = 0, entriesPerSecond = 0 }: RateLimitOptions) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
    this.#entriesPerSecond = entriesPerSecond;
  }

  /** Waits until they may be sent; returns at once without a limit. */
  async pass({ bytes, entries }: { bytes: number; entries: number }, stop?: AbortSignal): Promise<void> {
    const costMs = Math.max(costOf(bytes, this.#bytesPerSecond), costOf(entries, this.#entriesPerSecond));
    if (costMs === 0) return;
    const nowMs = this.#clock.monoMs();
    const startMs = Math.max(this.#freeAtMs, nowMs - burstMs);
    this.#freeAtMs = startMs + costMs;
    if (startMs > nowMs) await this.#clock.sleep(startMs - nowMs, stop);
  }
}

function costOf(count: number, perSecond: number): number {
  return perSecond > 0 ? (count * 1_000) / perSecond : 0;
}
