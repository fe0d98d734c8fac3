const bitsPerChunk = 4096;
const wordsPerChunk = bitsPerChunk / 32;

interface Chunk {
  readonly words: Uint32Array;
  count: number;
}

export function popcount(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  x = (x + (x >>> 4)) & 0x0f0f0f0f;
  return Math.imul(x, 0x01010101) >>> 24;
}

/** Which entries of one ledger are acknowledged: bits in chunks of 4096, so that a million scattered ones cost a bit or few each. */
export class EntryBits {
  #chunks = new Map<number, Chunk>();
  #count = 0;

  /** How many bits are set. */
  get count(): number {
    return this.#count;
  }

  /** How many runs of set bits there are: where a bit is set and the one before is not, a run begins. */
  runsCount(): number {
    let runs = 0;
    for (const [index, { words }] of this.#chunks) {
      let before = this.has(index * bitsPerChunk - 1) ? 1 : 0;
      for (const word of words) {
        runs += popcount(word & ~((word << 1) | before));
        before = word >>> 31;
      }
    }
    return runs;
  }

  has(entryId: number): boolean {
    const chunk = this.#chunks.get(Math.floor(entryId / bitsPerChunk));
    if (chunk === undefined) return false;
    const bit = entryId % bitsPerChunk;
    return ((chunk.words[bit >>> 5] as number) & (1 << (bit & 31))) !== 0;
  }

  /** False when it was set already. */
  add(entryId: number): boolean {
    const chunk = this.#chunk(Math.floor(entryId / bitsPerChunk));
    const bit = entryId % bitsPerChunk;
    const mask = 1 << (bit & 31);
    if (((chunk.words[bit >>> 5] as number) & mask) !== 0) return false;
    chunk.words[bit >>> 5] = (chunk.words[bit >>> 5] as number) | mask;
    chunk.count++;
    this.#count++;
    return true;
  }

  /** Sets all of `first`..`last`. */
  addRange(first: number, last: number): void {
    for (let id = first; id <= last; ) {
      const bit = id % bitsPerChunk;
      if ((bit & 31) === 0 && id + 31 <= last) {
        this.setWord(id / 32, 0xffffffff);
        id += 32;
      } else {
        this.add(id);
        id++;
      }
    }
  }

  /** Sets the bits of `word` for the entries from 32 x `wordIndex` on. */
  setWord(wordIndex: number, word: number): void {
    if (word === 0) return;
    const chunk = this.#chunk(Math.floor(wordIndex / wordsPerChunk));
    const at = wordIndex % wordsPerChunk;
    const before = chunk.words[at] as number;
    const added = popcount((before | word) >>> 0) - popcount(before);
    chunk.words[at] = (before | word) >>> 0;
    chunk.count += added;
    this.#count += added;
  }

  /** The first entry from `from` on whose bit is not set. */
  firstUnset(from: number): number {
    let id = from;
    for (;;) {
      const chunk = this.#chunks.get(Math.floor(id / bitsPerChunk));
      if (chunk === undefined) return id;
      const base = id - (id % bitsPerChunk);
      for (let word = (id % bitsPerChunk) >>> 5; word < wordsPerChunk; word++) {
        // Bits below the start count as set.
        const below = word === (id % bitsPerChunk) >>> 5 && (id & 31) !== 0 ? (1 << (id & 31)) - 1 : 0;
        const unset = ~((chunk.words[word] as number) | below) >>> 0;
        if (unset !== 0) return base + word * 32 + (31 - Math.clz32(unset & -unset));
      }
      id = base + bitsPerChunk;
    }
  }

  /** Forgets the bits of all entries below `limit`. */
  clearBelow(limit: number): void {
    const limitChunk = Math.floor(limit / bitsPerChunk);
    for (const [index, chunk] of this.#chunks) {
      if (index < limitChunk) this.#remove(index, chunk);
    }
    const chunk = this.#chunks.get(limitChunk);
    if (chunk === undefined) return;
    const bit = limit % bitsPerChunk;
    for (let word = 0; word <= bit >>> 5; word++) {
      const keep = word < bit >>> 5 ? 0 : -1 << (bit & 31);
      const before = chunk.words[word] as number;
      const after = (before & keep) >>> 0;
      const removed = popcount(before) - popcount(after);
      chunk.words[word] = after;
      chunk.count -= removed;
      this.#count -= removed;
    }
    if (chunk.count === 0) this.#remove(limitChunk, chunk);
  }

  /** Calls `visit` with each non-empty word in ascending order; the word covers the entries from 32 x `wordIndex` on. */
  forEachWord(visit: (wordIndex: number, word: number) => void): void {
    for (const index of [...this.#chunks.keys()].sort((a, b) => a - b)) {
      const { words } = this.#chunks.get(index) as Chunk;
      for (let word = 0; word < wordsPerChunk; word++) {
        if (words[word] !== 0) visit(index * wordsPerChunk + word, words[word] as number);
      }
    }
  }

  /** Runs of set bits, ascending, both ends included; stops after `runsMax`. */
  runs(runsMax = Number.POSITIVE_INFINITY): { first: number; last: number }[] {
    const out: { first: number; last: number }[] = [];
    let open: { first: number; last: number } | undefined;
    this.forEachWord((wordIndex, word) => {
      if (out.length > runsMax) return;
      for (let bit = 0; bit < 32; bit++) {
        if ((word & (1 << bit)) === 0) continue;
        const id = wordIndex * 32 + bit;
        if (open !== undefined && open.last === id - 1) open.last = id;
        else {
          open = { first: id, last: id };
          out.push(open);
        }
      }
    });
    return out.length > runsMax ? out.slice(0, runsMax) : out;
  }

  #chunk(index: number): Chunk {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      chunk = { words: new Uint32Array(wordsPerChunk), count: 0 };
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }

  #remove(index: number, chunk: Chunk): void {
    this.#count -= chunk.count;
    this.#chunks.delete(index);
  }
}
