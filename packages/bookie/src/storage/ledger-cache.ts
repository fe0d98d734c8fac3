import { crc32c } from '@daybook/runtime';
import { LRUCache } from 'lru-cache';
import { bookieErrors } from '../errors.js';
import { decodeTrailer, type Run, type Trailer, trailerBytes } from './index-format.js';
import { type BlockPlace, blockAt, decodeBlock, findBlock, findRun, visitRuns } from './index-table.js';
import type { LogFiles } from './log-files.js';

/** A sealed log's index: where it ends in its file. */
export interface SealedIndex {
  logId: number;
  indexBytes: number;
}

/**
 * Index blocks and block tables of sealed logs, in memory up to a bound in bytes. With the block table at hand, a look-up costs one read at most.
 * Every part is checked against its CRC when it is read; anything wrong rejects with `BOOKIE_LOG_DAMAGED`, never "not there".
 */
export class LedgerCache {
  readonly #files: LogFiles;
  readonly #parts: LRUCache<string, Buffer | Uint32Array>;
  #hits = 0;
  #misses = 0;

  constructor(files: LogFiles, bytesMax: number) {
    this.#files = files;
    this.#parts = new LRUCache({ maxSize: bytesMax, sizeCalculation: (part) => part.byteLength + 100, maxEntrySize: bytesMax });
  }

  get bytes(): number {
    return this.#parts.calculatedSize;
  }

  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  /** The run of a sealed log that holds an entry. */
  async find(index: SealedIndex, ledgerId: number, entryId: number): Promise<Run | undefined> {
    const table = await this.#blockTable(index);
    const place = findBlock(table, ledgerId, entryId);
    if (place === undefined) return undefined;
    return findRun(await this.#block(index, place), ledgerId, entryId);
  }

  /** Calls `visit` for each run of a ledger in a sealed log, ascending. */
  async visit(index: SealedIndex, ledgerId: number, visit: (firstEntryId: number, count: number) => void): Promise<void> {
    const table = await this.#blockTable(index);
    const first = findBlock(table, ledgerId, 0);
    for (let i = first?.index ?? 0; ; i++) {
      const place = blockAt(table, i);
      if (place === undefined || !visitRuns(await this.#block(index, place), ledgerId, visit)) return;
    }
  }

  /** All blocks of a sealed log, one after another, past the cache: for those who go through the whole log once. */
  async *blocks(index: SealedIndex): AsyncGenerator<Uint32Array> {
    const { blocks } = await this.#trailer(index);
    const table = await this.#read(index.logId, blocks, 'block table');
    for (let i = 0; ; i++) {
      const place = blockAt(table, i);
      if (place === undefined) return;
      yield decodeBlock(await this.#read(index.logId, place, `block ${i}`));
    }
  }

  /** How much of a sealed log nobody can tell what it was. Rejects when there is no valid index that ends where it is said to. */
  async holeBytes(index: SealedIndex): Promise<number> {
    return (await this.#trailer(index)).holeBytes;
  }

  /** What a log holds of each ledger. */
  async ledgerTable(index: SealedIndex): Promise<Buffer> {
    const { ledgers } = await this.#trailer(index);
    return this.#read(index.logId, ledgers, 'ledger table');
  }

  forget(logId: number): void {
    this.#forget(`${logId}:`);
  }

  /** Blocks of a ledger map share the bound with those of the indexes. */
  mapBlock(path: string, index: number, load: () => Promise<Buffer>): Promise<Buffer> {
    return this.#cached(`${path}:${index}`, load);
  }

  forgetMap(path: string): void {
    this.#forget(`${path}:`);
  }

  #forget(prefix: string): void {
    for (const key of this.#parts.keys()) if (key.startsWith(prefix)) this.#parts.delete(key);
  }

  async #blockTable(index: SealedIndex): Promise<Buffer> {
    return this.#cached(`${index.logId}:table`, async () => {
      const { blocks } = await this.#trailer(index);
      return this.#read(index.logId, blocks, 'block table');
    });
  }

  #block(index: SealedIndex, place: BlockPlace): Promise<Uint32Array> {
    return this.#cached(`${index.logId}:${place.index}`, async () => decodeBlock(await this.#read(index.logId, place, `block ${place.index}`)));
  }

  async #cached<T extends Buffer | Uint32Array>(key: string, load: () => Promise<T>): Promise<T> {
    const known = this.#parts.get(key);
    if (known !== undefined) {
      this.#hits++;
      return known as T;
    }
    this.#misses++;
    const part = await load();
    this.#parts.set(key, part);
    return part;
  }

  async #trailer(index: SealedIndex): Promise<Trailer> {
    const path = this.#files.indexPath(index.logId);
    const bytes = Buffer.alloc(trailerBytes);
    const read = await this.#files.read(path, index.indexBytes - trailerBytes, bytes);
    const trailer = read === trailerBytes ? decodeTrailer(bytes, index.logId) : undefined;
    if (trailer === undefined) throw bookieErrors.LOG_DAMAGED(path, 'no valid trailer');
    return trailer;
  }

  async #read(logId: number, part: { offset: number; bytes: number; crc: number }, what: string): Promise<Buffer> {
    const path = this.#files.indexPath(logId);
    const bytes = Buffer.allocUnsafeSlow(part.bytes);
    const read = await this.#files.read(path, part.offset, bytes);
    if (read !== bytes.length || crc32c(bytes) !== part.crc) throw bookieErrors.LOG_DAMAGED(path, `${what} at ${part.offset}`);
    return bytes;
  }
}
