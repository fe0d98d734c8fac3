import type { Clock } from '@daybook/runtime';

/** How long a name that was deleted under live sessions is not made again by a client that merely comes back. */
const refusedMs = 5500;

/** Names deleted a moment ago while sessions used them. Their clients reconnect at once, and would bring back what somebody just removed on purpose. */
export class Tombstones {
  readonly #clock: Clock;
  /** Made for the first one: most never have any. */
  #untilMs: Map<string, number> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(name: string): void {
    const nowMs = this.#clock.monoMs();
    this.#untilMs ??= new Map();
    // Oldest first, all with the same time to live: what is over is at the front.
    for (const [old, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) break;
      this.#untilMs.delete(old);
    }
    this.#untilMs.delete(name);
    this.#untilMs.set(name, nowMs + refusedMs);
  }

  has(name: string): boolean {
    const untilMs = this.#untilMs?.get(name);
    if (untilMs === undefined) return false;
    if (this.#clock.monoMs() < untilMs) return true;
    this.#untilMs?.delete(name);
    return false;
  }

  /** Somebody makes it explicitly. */
  lift(name: string): void {
    this.#untilMs?.delete(name);
  }
}
