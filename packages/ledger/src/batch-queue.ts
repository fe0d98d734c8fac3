import { invariant } from '@daybook/runtime';

/** What the writer's state machine knows of a batch of consecutive entries; the bytes are the business of who sends it. */
export interface PendingBatch {
  /** Place in the writer's sequence of batches, from 0 without gaps. */
  readonly number: number;
  readonly firstEntryId: number;
  readonly lastEntryId: number;
  /** Memory it holds, all its blobs together. */
  readonly bytes: number;
  /** Payload bytes of the ledger up to and including this batch. */
  readonly lengthUpTo: number;
  /** Monotonic time at which it was built. */
  readonly builtAtMs: number;
}

/** Batches in order, addressed by their number; taken off at the front only. */
export class BatchQueue<B extends PendingBatch> {
  #items: (B | undefined)[] = [];
  #head = 0;
  #firstNumber = 0;

  /** Number of the oldest batch, or the next one to come when it is empty. */
  get firstNumber(): number {
    return this.#firstNumber;
  }

  /** Number that the next batch must have. */
  get nextNumber(): number {
    return this.#firstNumber + this.count;
  }

  get count(): number {
    return this.#items.length - this.#head;
  }

  push(batch: B): void {
    invariant(batch.number === this.nextNumber, `batch ${batch.number} out of order, expected ${this.nextNumber}`);
    this.#items.push(batch);
  }

  get(number: number): B | undefined {
    return number < this.#firstNumber ? undefined : this.#items[this.#head + number - this.#firstNumber];
  }

  dropFirst(): void {
    this.#items[this.#head] = undefined;
    this.#head++;
    this.#firstNumber++;
    // Moves the rest down once in a while: constant time per batch, and no growing array; an empty queue keeps nothing.
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  clear(): void {
    this.#firstNumber = this.nextNumber;
    this.#items = [];
    this.#head = 0;
  }
}
