const pageBytes = 4 * 1024;

/** The bytes of a simulated file; pages nobody wrote to, or only zeros, take no memory. */
export class SparseBytes {
  readonly #pages = new Map<number, Buffer>();
  /** Pages that a copy has too: they are copied when somebody writes to them. */
  readonly #shared = new Set<number>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  read(position: number, target: Uint8Array): number {
    const count = Math.max(0, Math.min(target.length, this.#length - position));
    eachPage(position, count, (page, from, done, length) => {
      const bytes = this.#pages.get(page);
      if (bytes === undefined) target.fill(0, done, done + length);
      else target.set(bytes.subarray(from, from + length), done);
    });
    return count;
  }

  write(position: number, source: Uint8Array): void {
    eachPage(position, source.length, (page, from, done, length) => {
      const part = source.subarray(done, done + length);
      if (this.#pages.has(page) || !isZero(part)) this.#ownPage(page).set(part, from);
    });
    if (source.length > 0) this.#length = Math.max(this.#length, position + source.length);
  }

  truncate(length: number): void {
    if (length < this.#length) {
      const lastPage = Math.floor(length / pageBytes);
      for (const page of this.#pages.keys()) {
        if (page <= lastPage) continue;
        this.#pages.delete(page);
        this.#shared.delete(page);
      }
      if (this.#pages.has(lastPage)) this.#ownPage(lastPage).fill(0, length - lastPage * pageBytes);
    }
    this.#length = length;
  }

  /** Flips one bit; false when there is no such byte. */
  flip(position: number, bit: number): boolean {
    if (position >= this.#length) return false;
    const byte = new Uint8Array(1);
    this.read(position, byte);
    byte[0] = (byte[0] as number) ^ (1 << bit);
    this.write(position, byte);
    return true;
  }

  copy(): SparseBytes {
    const out = new SparseBytes();
    for (const [page, bytes] of this.#pages) {
      out.#pages.set(page, bytes);
      this.#shared.add(page);
      out.#shared.add(page);
    }
    out.#length = this.#length;
    return out;
  }

  /** The page, to write to. */
  #ownPage(page: number): Buffer {
    const bytes = this.#pages.get(page);
    if (bytes !== undefined && !this.#shared.delete(page)) return bytes;
    const own = bytes === undefined ? Buffer.alloc(pageBytes) : Buffer.from(bytes);
    this.#pages.set(page, own);
    return own;
  }
}

const zeros = Buffer.alloc(pageBytes);

/** One comparison of memory; a loop over the bytes took most of the time of a simulated run. */
function isZero(part: Uint8Array): boolean {
  return zeros.compare(part, 0, part.length, 0, part.length) === 0;
}

function eachPage(position: number, count: number, visit: (page: number, from: number, done: number, length: number) => void): void {
  for (let done = 0; done < count; ) {
    const page = Math.floor((position + done) / pageBytes);
    const from = position + done - page * pageBytes;
    const length = Math.min(pageBytes - from, count - done);
    visit(page, from, done, length);
    done += length;
  }
}
