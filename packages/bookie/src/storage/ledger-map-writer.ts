import { crc32c, type Disk, type DiskFile } from '@daybook/runtime';
import { writeId } from './batch-bytes.js';
import {
  encodeMapHeader,
  encodeMapRow,
  encodeMapTrailer,
  mapBlockBytes,
  mapBlockTableRowBytes,
  mapFileName,
  mapHeaderBytes,
  mapLogRowBytes,
  mapRowBytes,
} from './ledger-map-format.js';
import type { LogRange } from './log-ranges.js';
import { syncOrFail } from './sync-or-fail.js';

const bufferBytes = 128 * mapBlockBytes;

/** Writes a ledger map, row by row in their order, under a temporary name; the map is there, whole and durable, when `finish` resolves. */
export class LedgerMapWriter {
  readonly mapId: number;
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #file: DiskFile;
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #writtenTo = mapHeaderBytes;
  #blockTable: { ledgerId: number; crc: number }[] = [];
  #firstOfBlock = 0;
  #rowsCount = 0;

  private constructor(disk: Disk, directory: string, mapId: number, file: DiskFile) {
    this.#disk = disk;
    this.#directory = directory;
    this.mapId = mapId;
    this.#file = file;
  }

  static async create(disk: Disk, directory: string, mapId: number): Promise<LedgerMapWriter> {
    const file = await disk.open(`${directory}/${mapFileName(mapId)}.new`, { mode: 'write' });
    const writer = new LedgerMapWriter(disk, directory, mapId, file);
    try {
      await file.truncate(0);
      await file.writeAt(0, encodeMapHeader(mapId));
      return writer;
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  get rowsCount(): number {
    return this.#rowsCount;
  }

  get path(): string {
    return `${this.#directory}/${mapFileName(this.mapId)}`;
  }

  /** True when {@link flush} must come before the next row. */
  get isFull(): boolean {
    return this.#used === this.#buffer.length;
  }

  add(ledgerId: number, range: LogRange): void {
    if (this.#used % mapBlockBytes === 0) this.#firstOfBlock = ledgerId;
    encodeMapRow(this.#buffer, this.#used, ledgerId, range);
    this.#used += mapRowBytes;
    this.#rowsCount++;
    if (this.#used % mapBlockBytes === 0) this.#endBlock(this.#used - mapBlockBytes);
  }

  async flush(): Promise<void> {
    await this.#file.writeAt(this.#writtenTo, this.#buffer.subarray(0, this.#used));
    this.#writtenTo += this.#used;
    this.#used = 0;
  }

  /** `logs`: those whose ledgers are in it, with the bytes of their indexes. When it rejects, nothing remains. */
  async finish(logs: ReadonlyMap<number, number>): Promise<void> {
    try {
      await this.#end(logs);
    } catch (error) {
      await this.discard();
      throw error;
    }
    await this.#file.close();
    await this.#disk.rename(`${this.path}.new`, this.path);
    await syncOrFail(() => this.#disk.syncDirectory(this.#directory));
  }

  async #end(logs: ReadonlyMap<number, number>): Promise<void> {
    const inLastBlock = this.#used % mapBlockBytes;
    if (inLastBlock > 0) this.#endBlock(this.#used - inLastBlock);
    if (this.#used > 0) await this.flush();
    const tables = encodeTables(this.#blockTable, logs);
    const { mapId, rowsCount } = this;
    const trailer = encodeMapTrailer({ mapId, rowsCount, logsCount: logs.size, tablesCrc: crc32c(tables) });
    await this.#file.writeAt(this.#writtenTo, Buffer.concat([tables, trailer]));
    await syncOrFail(() => this.#file.sync());
  }

  /** Instead of `finish`: nothing remains. */
  async discard(): Promise<void> {
    await this.#file.close();
    await this.#disk.remove(`${this.path}.new`);
  }

  #endBlock(start: number): void {
    this.#blockTable.push({ ledgerId: this.#firstOfBlock, crc: crc32c(this.#buffer.subarray(start, this.#used)) });
  }
}

function encodeTables(blocks: readonly { ledgerId: number; crc: number }[], logs: ReadonlyMap<number, number>): Buffer {
  const out = Buffer.alloc(blocks.length * mapBlockTableRowBytes + logs.size * mapLogRowBytes);
  let at = 0;
  for (const { ledgerId, crc } of blocks) {
    writeId(out, ledgerId, at);
    out.writeUInt32BE(crc, at + 8);
    at += mapBlockTableRowBytes;
  }
  for (const [logId, indexBytes] of [...logs].sort(([a], [b]) => a - b)) {
    writeId(out, logId, at);
    writeId(out, indexBytes, at + 8);
    at += mapLogRowBytes;
  }
  return out;
}
