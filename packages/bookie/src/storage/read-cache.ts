import { LRUCache } from 'lru-cache';

/** Records of consecutive entries of one ledger as they lie in a log. */
export interface Span {
  ledgerId: number;
  firstEntryId: number;
  /** Where each record starts in the log, then where the last one ends. */
  positions: Uint32Array;
  bytes: Buffer;
}

const spansPerLedgerMax = 8;
const sequencesMax = 4096;

/**
 * What was read ahead, up to a bound in bytes: a reader who goes through a ledger finds the next entries here. Also remembers where such readers are, to
 * tell them from random reads, for which nothing is read ahead.
 */
export class ReadCache {
  readonly #spans: LRUCache<number, Span>;
  readonly #spansOf = new Map<number, number[]>();
  /** Per ledger: the entry that a sequential reader asks for next. */
  readonly #nextOf = new Map<number, number>();
  #nextKey = 0;
  #hits = 0;
  #misses = 0;

  constructor(bytesMax: number) {
    this.#spans = new LRUCache({
      maxSize: Math.max(1, bytesMax),
      sizeCalculation: (span) => span.bytes.length + span.positions.byteLength + 200,
      maxEntrySize: Math.max(1, bytesMax),
      dispose: (span, key) => this.#forget(span.ledgerId, key),
    });
  }

  get bytes(): number {
    return this.#spans.calculatedSize;
  }

  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  /** The record of an entry: part of the cache, to be copied. */
  find(ledgerId: number, entryId: number): Buffer | undefined {
    for (const key of this.#spansOf.get(ledgerId) ?? []) {
      const span = this.#spans.peek(key);
      if (span === undefined || entryId < span.firstEntryId || entryId - span.firstEntryId >= span.positions.length - 1) continue;
      this.#spans.get(key);
      this.#hits++;
      const start = span.positions[0] as number;
      const index = entryId - span.firstEntryId;
      return span.bytes.subarray((span.positions[index] as number) - start, (span.positions[index + 1] as number) - start);
    }
    this.#misses++;
    return undefined;
  }

  add(span: Span): void {
    const key = this.#nextKey++;
    const keys = this.#spansOf.get(span.ledgerId) ?? [];
    if (keys.length >= spansPerLedgerMax) this.#spans.delete(keys[0] as number);
    this.#spansOf.set(span.ledgerId, [...(this.#spansOf.get(span.ledgerId) ?? []), key]);
    this.#spans.set(key, span);
    if (!this.#spans.has(key)) this.#forget(span.ledgerId, key);
  }

  /** Whether a read that begins at `entryId` goes on where one ended. */
  isSequential(ledgerId: number, entryId: number): boolean {
    return this.#nextOf.get(ledgerId) === entryId;
  }

  noteRead(ledgerId: number, lastEntryId: number): void {
    // Whoever read last is at the end, whoever has not read for longest at the beginning.
    this.#nextOf.delete(ledgerId);
    this.#nextOf.set(ledgerId, lastEntryId + 1);
    if (this.#nextOf.size > sequencesMax) this.#nextOf.delete(this.#nextOf.keys().next().value as number);
  }

  /** The ledger is gone. */
  forget(ledgerId: number): void {
    for (const key of this.#spansOf.get(ledgerId) ?? []) this.#spans.delete(key);
    this.#nextOf.delete(ledgerId);
  }

  clear(): void {
    this.#spans.clear();
    this.#spansOf.clear();
  }

  #forget(ledgerId: number, key: number): void {
    const keys = (this.#spansOf.get(ledgerId) ?? []).filter((candidate) => candidate !== key);
    if (keys.length === 0) this.#spansOf.delete(ledgerId);
    else this.#spansOf.set(ledgerId, keys);
  }
}
