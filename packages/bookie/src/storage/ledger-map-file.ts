import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId } from './batch-bytes.js';
import type { LedgerCache } from './ledger-cache.js';
import {
  decodeMapHeader,
  decodeMapTrailer,
  ledgerIdOfMapRow,
  mapBlockBytes,
  mapBlockTableRowBytes,
  mapHeaderBytes,
  mapLayout,
  mapLogRowBytes,
  mapRowBytes,
  mapTrailerBytes,
  rangeOfMapRow,
} from './ledger-map-format.js';
import type { LogFiles } from './log-files.js';
import type { LogRange } from './log-ranges.js';

interface Parts {
  files: LogFiles;
  cache: LedgerCache;
}

/** One ledger map on disk. In memory are 12 bytes for each of its blocks (256 rows); the blocks go through the ledger cache. */
export class LedgerMapFile {
  readonly mapId: number;
  readonly path: string;
  readonly rowsCount: number;
  /** The logs it tells of, with the bytes of their indexes. */
  readonly logs: ReadonlyMap<number, number>;
  readonly #parts: Parts;
  readonly #firstIds: Float64Array;
  readonly #crcs: Uint32Array;

  private constructor(parts: Parts, path: string, loaded: Loaded) {
    this.#parts = parts;
    this.path = path;
    this.mapId = loaded.mapId;
    this.rowsCount = loaded.rowsCount;
    this.logs = loaded.logs;
    this.#firstIds = loaded.firstIds;
    this.#crcs = loaded.crcs;
  }

  /** Rejects with `BOOKIE_LOG_DAMAGED` when it is not a whole map. */
  static async open(parts: Parts, path: string, fileBytes: number): Promise<LedgerMapFile> {
    const read = async (position: number, bytes: number): Promise<Buffer> => {
      const target = Buffer.alloc(Math.max(0, bytes));
      return target.subarray(0, await parts.files.read(path, position, target));
    };
    const mapId = decodeMapHeader(await read(0, mapHeaderBytes), path);
    const trailer = decodeMapTrailer(await read(Math.max(0, fileBytes - mapTrailerBytes), mapTrailerBytes));
    if (mapId === undefined || trailer === undefined || trailer.mapId !== mapId) throw bookieErrors.LOG_DAMAGED(path, 'no valid header or trailer');
    const layout = mapLayout(trailer);
    if (layout.fileBytes !== fileBytes) throw bookieErrors.LOG_DAMAGED(path, `${layout.fileBytes} bytes expected, ${fileBytes} there`);
    const tables = await read(layout.tablesAt, layout.tablesBytes);
    if (tables.length !== layout.tablesBytes || crc32c(tables) !== trailer.tablesCrc) throw bookieErrors.LOG_DAMAGED(path, 'its tables');
    return new LedgerMapFile(parts, path, { mapId, rowsCount: trailer.rowsCount, ...decodeTables(tables, layout.blocksCount) });
  }

  get blocksCount(): number {
    return this.#firstIds.length;
  }

  /** What the file needs in memory. */
  get bytes(): number {
    return this.#firstIds.byteLength + this.#crcs.byteLength + this.logs.size * 100;
  }

  /** Adds the ranges of a ledger to `out`: one read, or none if the block is in the cache, unless the ledger has very many. */
  async collect(ledgerId: number, out: LogRange[]): Promise<void> {
    for (let i = Math.max(0, this.#blocksBefore(ledgerId) - 1); i < this.blocksCount && (this.#firstIds[i] as number) <= ledgerId; i++) {
      const block = await this.#parts.cache.mapBlock(this.path, i, () => this.readBlocks(i, 1));
      for (let at = firstRowOf(block, ledgerId); at < block.length && ledgerIdOfMapRow(block, at) === ledgerId; at += mapRowBytes) {
        out.push(rangeOfMapRow(block, at));
      }
    }
  }

  /** Some blocks as they are on disk, each checked; past the cache. */
  async readBlocks(from: number, count: number): Promise<Buffer> {
    const until = Math.min(from + count, this.blocksCount);
    const start = from * mapBlockBytes;
    const bytes = Buffer.allocUnsafeSlow(Math.min(until * mapBlockBytes, this.rowsCount * mapRowBytes) - start);
    const read = await this.#parts.files.read(this.path, mapHeaderBytes + start, bytes);
    for (let i = from; i < until; i++) {
      const block = bytes.subarray((i - from) * mapBlockBytes, Math.min((i - from + 1) * mapBlockBytes, bytes.length));
      if (read !== bytes.length || crc32c(block) !== this.#crcs[i]) throw bookieErrors.LOG_DAMAGED(this.path, `block ${i}`);
    }
    return bytes;
  }

  /** The file is about to be removed: closes it and forgets what is cached of it. */
  forget(): void {
    this.#parts.files.forgetFile(this.path);
    this.#parts.cache.forgetMap(this.path);
  }

  /** How many blocks begin with a ledger below this one. */
  #blocksBefore(ledgerId: number): number {
    let low = 0;
    let high = this.blocksCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#firstIds[middle] as number) < ledgerId) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface Loaded {
  mapId: number;
  rowsCount: number;
  logs: ReadonlyMap<number, number>;
  firstIds: Float64Array;
  crcs: Uint32Array;
}

function decodeTables(tables: Buffer, blocksCount: number): Pick<Loaded, 'logs' | 'firstIds' | 'crcs'> {
  const firstIds = new Float64Array(blocksCount);
  const crcs = new Uint32Array(blocksCount);
  for (let i = 0, at = 0; i < blocksCount; i++, at += mapBlockTableRowBytes) {
    firstIds[i] = readId(tables, at);
    crcs[i] = tables.readUInt32BE(at + 8);
  }
  const logs = new Map<number, number>();
  for (let at = blocksCount * mapBlockTableRowBytes; at < tables.length; at += mapLogRowBytes) logs.set(readId(tables, at), readId(tables, at + 8));
  return { firstIds, crcs, logs };
}

/** Where the rows of a ledger begin in a block, or would. */
function firstRowOf(block: Buffer, ledgerId: number): number {
  let low = 0;
  let high = block.length / mapRowBytes;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ledgerIdOfMapRow(block, middle * mapRowBytes) < ledgerId) low = middle + 1;
    else high = middle;
  }
  return low * mapRowBytes;
}
