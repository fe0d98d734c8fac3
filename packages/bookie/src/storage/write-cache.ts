import { invariant } from '@daybook/runtime';
import { countIn, entryBytesIn, entryIdIn, entryStartIn, indexOfEntry } from './batch-bytes.js';
import { grown, RangeChains } from './range-chains.js';

/** An entry where it lies in the cache: good until the next `await`. */
export interface CachedEntry {
  bytes: Buffer;
  start: number;
  end: number;
}

const chunkBytesMax = 1 << 20;
/** A small cache has small chunks: several in each half. */
const chunksPerHalfMin = 4;
/** What a batch costs beside its bytes: its node in the chains, its place. */
const batchOverheadBytes = 40;

/** Chunks that were used once: taken again rather than allocated, until somebody drops them. */
export class ChunkPool {
  readonly #chunkBytes: number;
  #free: Buffer[] = [];

  constructor(chunkBytes = chunkBytesMax) {
    this.#chunkBytes = chunkBytes;
  }

  take(bytesMin: number): Buffer {
    if (bytesMin > this.#chunkBytes) return Buffer.allocUnsafeSlow(bytesMin);
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#chunkBytes);
  }

  give(chunk: Buffer): void {
    if (chunk.length === this.#chunkBytes) this.#free.push(chunk);
  }

  get bytes(): number {
    return this.#free.length * this.#chunkBytes;
  }

  /** Returns the memory to the process. */
  drop(): void {
    this.#free = [];
  }
}

/** Batches that are not in an entry log yet: each copied once, as it came, into an arena. */
export class WriteCacheHalf {
  readonly #pool: ChunkPool;
  #chunks: Buffer[] = [];
  #usedInChunk = 0;
  readonly #heads = new Map<number, number>();
  readonly #batches = new RangeChains();
  #chunkOf = new Uint32Array(0);
  #offsetOf = new Uint32Array(0);
  #bytes = 0;
  #entriesCount = 0;

  constructor(pool: ChunkPool) {
    this.#pool = pool;
  }

  /** Bytes held, bookkeeping included. */
  get bytes(): number {
    return this.#bytes;
  }

  get entriesCount(): number {
    return this.#entriesCount;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(ledgerId: number, batch: Buffer): void {
    const chunk = this.#chunkFor(batch.length);
    const at = this.#usedInChunk;
    chunk.set(batch, at);
    this.#usedInChunk += batch.length;
    const count = countIn(chunk, at);
    const head = this.#batches.push(this.#heads.get(ledgerId) ?? -1, entryIdIn(chunk, at, 0), entryIdIn(chunk, at, count - 1));
    this.#heads.set(ledgerId, head);
    this.#setPlace(head, this.#chunks.length - 1, at);
    this.#bytes += batch.length + batchOverheadBytes;
    this.#entriesCount += count;
  }

  find(ledgerId: number, entryId: number): CachedEntry | undefined {
    const head = this.#heads.get(ledgerId);
    if (head === undefined) return undefined;
    for (let node = this.#batches.find(head, entryId); node >= 0; node = this.#batches.find(this.#batches.previous(node), entryId)) {
      const bytes = this.#chunks[this.#chunkOf[node] as number] as Buffer;
      const at = this.#offsetOf[node] as number;
      const index = indexOfEntry(bytes, at, entryId);
      if (index < 0) continue;
      const start = entryStartIn(bytes, at, index);
      return { bytes, start, end: start + entryBytesIn(bytes, at, index) };
    }
    return undefined;
  }

  /** The highest entry id of a ledger, or -1. */
  lastId(ledgerId: number): number {
    return this.#batches.lastId(this.#heads.get(ledgerId) ?? -1);
  }

  /** The ledger is gone: nothing of it is found or flushed any more; its bytes are free with those of the others. */
  forget(ledgerId: number): void {
    this.#heads.delete(ledgerId);
  }

  /** Ascending. */
  ledgerIds(): Float64Array {
    return Float64Array.from(this.#heads.keys()).sort();
  }

  /** Calls `visit` for each entry of a ledger in ascending order; of an entry that came twice, for the newest. */
  visit(ledgerId: number, visit: (entryId: number, bytes: Buffer, start: number, end: number) => void): void {
    const head = this.#heads.get(ledgerId) ?? -1;
    if (this.#batches.isAscending(head)) {
      for (const node of this.#batches.oldestFirst(head)) this.#visitBatch(node, visit);
      return;
    }
    const newest = new Map<number, { bytes: Buffer; start: number; end: number }>();
    for (const node of this.#batches.oldestFirst(head)) this.#visitBatch(node, (id, bytes, start, end) => newest.set(id, { bytes, start, end }));
    for (const id of Float64Array.from(newest.keys()).sort()) {
      const { bytes, start, end } = newest.get(id) as CachedEntry;
      visit(id, bytes, start, end);
    }
  }

  /** Gives the memory back to the pool; what `find` returned is void. */
  clear(): void {
    for (const chunk of this.#chunks) this.#pool.give(chunk);
    this.#chunks = [];
    this.#usedInChunk = 0;
    this.#heads.clear();
    this.#batches.clear();
    this.#bytes = 0;
    this.#entriesCount = 0;
  }

  #visitBatch(node: number, visit: (entryId: number, bytes: Buffer, start: number, end: number) => void): void {
    const bytes = this.#chunks[this.#chunkOf[node] as number] as Buffer;
    const at = this.#offsetOf[node] as number;
    const count = countIn(bytes, at);
    for (let i = 0; i < count; i++) {
      const start = entryStartIn(bytes, at, i);
      visit(entryIdIn(bytes, at, i), bytes, start, start + entryBytesIn(bytes, at, i));
    }
  }

  #chunkFor(bytes: number): Buffer {
    const current = this.#chunks.at(-1);
    if (current !== undefined && this.#usedInChunk + bytes <= current.length) return current;
    const chunk = this.#pool.take(bytes);
    this.#chunks.push(chunk);
    this.#usedInChunk = 0;
    return chunk;
  }

  #setPlace(node: number, chunk: number, offset: number): void {
    if (node >= this.#chunkOf.length) {
      const length = Math.max(64, node * 2);
      this.#chunkOf = grown(this.#chunkOf, new Uint32Array(length));
      this.#offsetOf = grown(this.#offsetOf, new Uint32Array(length));
    }
    this.#chunkOf[node] = chunk;
    this.#offsetOf[node] = offset;
  }
}

/** Two halves: one takes appends while the other is flushed. Bounded: a batch that does not fit must wait. */
export class WriteCache {
  readonly #halfBytesMax: number;
  readonly #pool: ChunkPool;
  #active: WriteCacheHalf;
  #flushing: WriteCacheHalf | undefined;

  constructor(bytesMax: number) {
    this.#halfBytesMax = Math.floor(bytesMax / 2);
    this.#pool = new ChunkPool(Math.max(1, Math.min(chunkBytesMax, Math.floor(this.#halfBytesMax / chunksPerHalfMin))));
    this.#active = new WriteCacheHalf(this.#pool);
  }

  hasRoomFor(bytes: number): boolean {
    return this.#active.bytes + bytes + batchOverheadBytes <= this.#halfBytesMax;
  }

  add(ledgerId: number, batch: Buffer, mayExceed = false): void {
    invariant(mayExceed || this.hasRoomFor(batch.length), 'the write cache has room for what is added');
    this.#active.add(ledgerId, batch);
  }

  find(ledgerId: number, entryId: number): CachedEntry | undefined {
    return this.#active.find(ledgerId, entryId) ?? this.#flushing?.find(ledgerId, entryId);
  }

  lastId(ledgerId: number): number {
    return Math.max(this.#active.lastId(ledgerId), this.#flushing?.lastId(ledgerId) ?? -1);
  }

  forget(ledgerId: number): void {
    for (const half of this.halves()) half.forget(ledgerId);
  }

  /** All halves that hold something, oldest first. */
  halves(): WriteCacheHalf[] {
    return this.#flushing === undefined ? [this.#active] : [this.#flushing, this.#active];
  }

  get bytes(): number {
    return this.#active.bytes + (this.#flushing?.bytes ?? 0);
  }

  get entriesCount(): number {
    return this.#active.entriesCount + (this.#flushing?.entriesCount ?? 0);
  }

  /** Share of the active half in use, 0 to 1. */
  get fullness(): number {
    return this.#active.bytes / this.#halfBytesMax;
  }

  get isActiveEmpty(): boolean {
    return this.#active.isEmpty;
  }

  /** The half to flush: the one a failed flush left behind, or the active one, which is swapped for an empty one. */
  beginFlush(): WriteCacheHalf {
    if (this.#flushing === undefined) {
      this.#flushing = this.#active;
      this.#active = new WriteCacheHalf(this.#pool);
    }
    return this.#flushing;
  }

  /** Drops the flushed half: its entries must be found in the entry log from this turn on. `dropMemory` when it may take long until the next one. */
  endFlush(dropMemory: boolean): void {
    this.#flushing?.clear();
    this.#flushing = undefined;
    if (dropMemory) this.#pool.drop();
  }
}
