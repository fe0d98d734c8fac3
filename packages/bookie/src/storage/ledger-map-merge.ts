import type { LedgerMapFile } from './ledger-map-file.js';
import { ledgerIdOfMapRow, mapRowBytes, rangeOfMapRow } from './ledger-map-format.js';
import type { LedgerMapWriter } from './ledger-map-writer.js';
import type { LogRange, LogRanges } from './log-ranges.js';

/** Maps of one size class are joined when there are so many. */
const fanIn = 4;
/** Blocks read at once while maps are joined. */
const chunkBlocks = 32;

/** Writes ranges that are in memory, of the logs that count. */
export async function writeRanges(writer: LedgerMapWriter, ranges: LogRanges, counts: (logId: number) => boolean): Promise<void> {
  const found: LogRange[] = [];
  for (const ledgerId of ranges.ledgerIds()) {
    found.length = 0;
    ranges.collect(ledgerId, found);
    for (const range of found.sort((a, b) => a.logId - b.logId)) {
      if (!counts(range.logId)) continue;
      if (writer.isFull) await writer.flush();
      writer.add(ledgerId, range);
    }
  }
}

/** The maps to write anew as one: several of like size, or one half of whose logs are gone. Each row is written again a logarithmic number of times. */
export function mergeWorthwhile(maps: readonly LedgerMapFile[], isLog: (logId: number) => boolean): readonly LedgerMapFile[] | undefined {
  const classes = new Map<number, LedgerMapFile[]>();
  for (const map of maps) {
    const gone = [...map.logs.keys()].filter((logId) => !isLog(logId)).length;
    if (gone * 2 > map.logs.size) return [map];
    const sizeClass = Math.floor(Math.log(Math.max(1, map.rowsCount)) / Math.log(fanIn));
    const like = classes.get(sizeClass) ?? [];
    like.push(map);
    classes.set(sizeClass, like);
  }
  return [...classes.values()].find((like) => like.length >= fanIn);
}

/** Writes the rows of several maps as one, without those that need not be kept. */
export async function mergeMaps(
  maps: readonly LedgerMapFile[],
  writer: LedgerMapWriter,
  keeps: (ledgerId: number, logId: number) => boolean,
): Promise<void> {
  const cursors = maps.map((map) => new RowCursor(map));
  for (const cursor of cursors) await cursor.load();
  for (;;) {
    let ledgerId = Number.POSITIVE_INFINITY;
    for (const cursor of cursors) ledgerId = Math.min(ledgerId, cursor.ledgerId);
    if (ledgerId === Number.POSITIVE_INFINITY) return;
    const found: LogRange[] = [];
    for (const cursor of cursors) await cursor.take(ledgerId, found);
    for (const range of found.sort((a, b) => a.logId - b.logId)) {
      if (!keeps(ledgerId, range.logId)) continue;
      if (writer.isFull) await writer.flush();
      writer.add(ledgerId, range);
    }
  }
}

/** Goes through the rows of a map. */
class RowCursor {
  readonly #map: LedgerMapFile;
  #rows: Buffer = Buffer.alloc(0);
  #at = 0;
  #nextBlock = 0;

  constructor(map: LedgerMapFile) {
    this.#map = map;
  }

  /** That of the next row; infinity at the end. */
  get ledgerId(): number {
    return this.#at < this.#rows.length ? ledgerIdOfMapRow(this.#rows, this.#at) : Number.POSITIVE_INFINITY;
  }

  async load(): Promise<void> {
    if (this.#nextBlock >= this.#map.blocksCount) return;
    this.#rows = await this.#map.readBlocks(this.#nextBlock, chunkBlocks);
    this.#nextBlock += chunkBlocks;
    this.#at = 0;
  }

  /** Moves the rows of a ledger to `out`. */
  async take(ledgerId: number, out: LogRange[]): Promise<void> {
    while (this.ledgerId === ledgerId) {
      out.push(rangeOfMapRow(this.#rows, this.#at));
      this.#at += mapRowBytes;
      if (this.#at >= this.#rows.length) await this.load();
    }
  }
}
