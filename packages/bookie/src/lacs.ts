import { type AppendBatch, entryLastAddConfirmed, explicitLacOf, type LacReply } from '@daybook/proto';
import type { Clock, Timer } from '@daybook/runtime';
import { ExplicitLacs } from './storage/explicit-lacs.js';

/** Requests that wait at once, all clients together; each is a few hundred bytes. */
const waitersMax = 20_000;

/** Somebody who waits for a last-add-confirmed above `after`. */
interface Waiter {
  readonly ledgerId: number;
  readonly after: number;
  wake(): void;
}

export interface LacWait {
  /** Resolves when it moved on, the time is over, `stop` aborts, or the bookie ends. */
  wait(clock: Clock, timeoutMs: number, stop: AbortSignal | undefined): Promise<void>;
  cancel(): void;
}

/** Last-add-confirmed marks that are not in an entry, and who waits for one to move on. */
export class Lacs {
  readonly #explicit: ExplicitLacs;
  readonly #waiters = new Map<number, Set<Waiter>>();
  #waitersCount = 0;

  constructor(explicit = new ExplicitLacs()) {
    this.#explicit = explicit;
  }

  get waitersCount(): number {
    return this.#waitersCount;
  }

  explicitLac(ledgerId: number): Buffer | undefined {
    return this.#explicit.get(ledgerId);
  }

  /** Never goes back. `bytes` are copied. */
  setExplicitLac(ledgerId: number, bytes: Uint8Array): void {
    if (this.#explicit.set(ledgerId, bytes)) this.#moved(ledgerId, explicitLacOf(bytes).lastAddConfirmed);
  }

  /** The ledger was deleted. */
  forget(ledgerId: number): void {
    this.#explicit.delete(ledgerId);
  }

  /** Entries were added: their headers tell what their writer had confirmed. */
  noteBatch(batch: AppendBatch): void {
    if (this.#waitersCount === 0 || !this.#waiters.has(batch.ledgerId)) return;
    this.#moved(batch.ledgerId, entryLastAddConfirmed(batch.bytes, batch.offsetAt(batch.count - 1)));
  }

  /** Undefined when too many wait already. Made before the present mark is looked at, so that nothing is missed. */
  newWait(ledgerId: number, after: number): LacWait | undefined {
    if (this.#waitersCount >= waitersMax) return undefined;
    let isMoved = false;
    let woken: (() => void) | undefined;
    const waiter: Waiter = {
      ledgerId,
      after,
      wake: () => {
        isMoved = true;
        woken?.();
      },
    };
    this.#add(waiter);
    return {
      wait: (clock, timeoutMs, stop) => {
        if (isMoved || stop?.aborted) return Promise.resolve();
        return new Promise((resolve) => {
          const timer: Timer = clock.after(timeoutMs, () => woken?.());
          woken = () => {
            timer.cancel();
            stop?.removeEventListener('abort', woken as () => void);
            resolve();
          };
          stop?.addEventListener('abort', woken, { once: true });
        });
      },
      cancel: () => this.#remove(waiter),
    };
  }

  /** The bookie ends: nobody waits any more. */
  wakeAll(): void {
    for (const waiters of [...this.#waiters.values()]) for (const waiter of [...waiters]) waiter.wake();
  }

  #moved(ledgerId: number, lastAddConfirmed: number): void {
    for (const waiter of this.#waiters.get(ledgerId) ?? []) if (lastAddConfirmed > waiter.after) waiter.wake();
  }

  #add(waiter: Waiter): void {
    const others = this.#waiters.get(waiter.ledgerId);
    if (others === undefined) this.#waiters.set(waiter.ledgerId, new Set([waiter]));
    else others.add(waiter);
    this.#waitersCount++;
  }

  #remove(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.ledgerId);
    if (waiters === undefined || !waiters.delete(waiter)) return;
    this.#waitersCount--;
    if (waiters.size === 0) this.#waiters.delete(waiter.ledgerId);
  }
}

/** What a reply says about the last-add-confirmed, unverified: only clients know the digest. -1 for nothing. */
export function lacOfReply({ lastEntry, explicitLac }: LacReply): number {
  const inEntry = lastEntry === undefined ? -1 : entryLastAddConfirmed(lastEntry);
  return explicitLac === undefined ? inEntry : Math.max(inEntry, explicitLacOf(explicitLac).lastAddConfirmed);
}
