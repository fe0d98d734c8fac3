import { invariant } from '@daybook/runtime';
import type { Slab } from './entry-cache.js';

/** A payload that was confirmed, for {@link AppendQueue.confirm}. */
export type ConfirmedVisitor = (slab: Slab, offset: number, length: number) => void;

const compactAt = 1024;

/**
 * Appends that are not answered, in order: first those pushed to the current ledger, then those waiting for room or for a new ledger. When a ledger
 * ends, what it did not confirm becomes waiting again and goes to the next one, in the same order. No object per append.
 *
 *     | failed, pushed | pushed | waiting |
 */
export class AppendQueue {
  #slabs: Slab[] = [];
  #offsets: number[] = [];
  #lengths: number[] = [];
  #head = 0;
  #pushedCount = 0;
  /** The oldest pushed ones whose publishers have been told that they failed; the ledger may confirm them all the same. */
  #failedCount = 0;
  #bytes = 0;
  #addedTotal = 0;
  /** How many had been added at some moments, to tell ages without a time per append. */
  #marks: { addedTotal: number; atMs: number }[] = [];

  get count(): number {
    return this.#slabs.length - this.#head;
  }

  /** How many publishers wait for an answer. */
  get unansweredCount(): number {
    return this.count - this.#failedCount;
  }

  get pushedCount(): number {
    return this.#pushedCount;
  }

  get waitingCount(): number {
    return this.count - this.#pushedCount;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(slab: Slab, offset: number, length: number): void {
    this.#slabs.push(slab);
    this.#offsets.push(offset);
    this.#lengths.push(length);
    this.#bytes += length;
    this.#addedTotal++;
  }

  /** The oldest waiting payload, to be pushed next. */
  nextWaiting(): Buffer {
    invariant(this.waitingCount > 0, 'there is an append to push');
    const index = this.#head + this.#pushedCount;
    const offset = this.#offsets[index] as number;
    return (this.#slabs[index] as Slab).bytes.subarray(offset, offset + (this.#lengths[index] as number));
  }

  markPushed(): void {
    this.#pushedCount++;
  }

  /** The `count` oldest pushed ones are durable. Returns their bytes, and how many of them nobody waits for any more. */
  confirm(count: number, visit: ConfirmedVisitor): { bytes: number; failedBefore: number } {
    invariant(count <= this.#pushedCount, 'only what was pushed is confirmed');
    let bytes = 0;
    for (let index = this.#head; index < this.#head + count; index++) {
      const length = this.#lengths[index] as number;
      bytes += length;
      visit(this.#slabs[index] as Slab, this.#offsets[index] as number, length);
    }
    const failedBefore = Math.min(count, this.#failedCount);
    this.#failedCount -= failedBefore;
    this.#pushedCount -= count;
    this.#dropOldest(count, bytes);
    return { bytes, failedBefore };
  }

  /** The ledger ended: what it did not confirm waits again, except what was answered as failed. Returns the bytes dropped. */
  requeue(): number {
    const failed = this.#failedCount;
    const bytes = this.#bytesOf(this.#head, failed);
    this.#failedCount = 0;
    this.#pushedCount = 0;
    this.#dropOldest(failed, bytes);
    return bytes;
  }

  /** Answers all as failed and forgets them. Returns how many were unanswered and the bytes dropped. */
  failAll(): { count: number; bytes: number } {
    const result = { count: this.unansweredCount, bytes: this.#bytes };
    this.#failedCount = 0;
    this.#pushedCount = 0;
    this.#dropOldest(this.count, this.#bytes);
    return result;
  }

  /**
   * Called regularly with the time: everything added `waitMaxMs` ago or earlier counts as failed. What waits is forgotten; what was pushed stays, as its ledger
   * may still confirm it. Returns how many publishers to tell and the bytes dropped.
   */
  failOlder(nowMs: number, waitMaxMs: number): { count: number; bytes: number } {
    if (this.count === 0) {
      this.#marks = [];
      return { count: 0, bytes: 0 };
    }
    let limit = 0;
    while (this.#marks.length > 0 && (this.#marks[0] as { atMs: number }).atMs <= nowMs - waitMaxMs) {
      limit = (this.#marks.shift() as { addedTotal: number }).addedTotal;
    }
    if (this.#marks.at(-1)?.addedTotal !== this.#addedTotal) this.#marks.push({ addedTotal: this.#addedTotal, atMs: nowMs });
    const old = limit - (this.#addedTotal - this.count);
    if (old <= this.#failedCount) return { count: 0, bytes: 0 };
    const before = this.#failedCount;
    this.#failedCount = Math.min(old, this.#pushedCount);
    const waiting = old - this.#failedCount;
    return { count: old - before, bytes: this.#dropWaiting(waiting) };
  }

  #dropWaiting(count: number): number {
    if (count === 0) return 0;
    const from = this.#head + this.#pushedCount;
    const bytes = this.#bytesOf(from, count);
    this.#slabs.splice(from, count);
    this.#offsets.splice(from, count);
    this.#lengths.splice(from, count);
    this.#bytes -= bytes;
    // What is counted as added never becomes less: the marks speak of it.
    return bytes;
  }

  #bytesOf(from: number, count: number): number {
    let bytes = 0;
    for (let index = from; index < from + count; index++) bytes += this.#lengths[index] as number;
    return bytes;
  }

  #dropOldest(count: number, bytes: number): void {
    this.#bytes -= bytes;
    this.#head += count;
    if (this.#head === this.#slabs.length) {
      if (this.#head === 0) return;
      // Fresh arrays: a burst must not leave its capacity behind in a log that goes idle.
      this.#slabs = [];
      this.#offsets = [];
      this.#lengths = [];
      this.#head = 0;
    } else if (this.#head >= compactAt && this.#head * 2 >= this.#slabs.length) {
      this.#slabs = this.#slabs.slice(this.#head);
      this.#offsets = this.#offsets.slice(this.#head);
      this.#lengths = this.#lengths.slice(this.#head);
      this.#head = 0;
    }
  }
}
