import type { Position } from '@daybook/proto';

/** Who wants to know when something is confirmed beyond a position. */
export class AppendWaiters {
  /** Made for the first one: many logs are never waited for. */
  #waiting: Set<{ after: Position; task: () => void }> | undefined;

  get count(): number {
    return this.#waiting?.size ?? 0;
  }

  add(after: Position, task: () => void): { stop(): void } {
    const waiter = { after, task };
    this.#waiting ??= new Set();
    this.#waiting.add(waiter);
    return { stop: () => this.#waiting?.delete(waiter) };
  }

  /** Calls all for whom `isBeyond` holds, once each; what they register meanwhile waits for the next time. */
  wake(isBeyond: (after: Position) => boolean): void {
    if (this.#waiting === undefined || this.#waiting.size === 0) return;
    for (const waiter of [...this.#waiting]) {
      if (this.#waiting.has(waiter) && isBeyond(waiter.after)) {
        this.#waiting.delete(waiter);
        waiter.task();
      }
    }
  }
}
