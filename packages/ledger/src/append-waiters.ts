import type { EntryId } from '@daybook/proto';

interface Waiter {
  readonly entryId: EntryId;
  readonly resolve: (entryId: EntryId) => void;
  readonly reject: (error: Error) => void;
}

/** Promises of single appends, answered from the front as lastConfirmed moves on. */
export class AppendWaiters {
  #waiters: Waiter[] = [];
  #head = 0;

  add(entryId: EntryId): Promise<EntryId> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ entryId, resolve, reject });
    });
  }

  confirmed(upTo: EntryId): void {
    let waiter = this.#waiters[this.#head];
    while (waiter !== undefined && waiter.entryId <= upTo) {
      waiter.resolve(waiter.entryId);
      this.#head++;
      waiter = this.#waiters[this.#head];
    }
    if (this.#head > 256 && this.#head * 2 > this.#waiters.length) {
      this.#waiters = this.#waiters.slice(this.#head);
      this.#head = 0;
    }
  }

  failed(error: Error): void {
    const rest = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of rest) waiter.reject(error);
  }
}
