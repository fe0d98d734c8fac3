import { DaybookError, type Disk, diskErrors, type Logger } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LogExtent } from './checkpoint-format.js';
import { forEachLedgerRow } from './index-table.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import { LedgerMapFile } from './ledger-map-file.js';
import { mapIdIn } from './ledger-map-format.js';
import { mergeMaps, mergeWorthwhile, writeRanges } from './ledger-map-merge.js';
import { LedgerMapWriter } from './ledger-map-writer.js';
import type { LogFiles } from './log-files.js';
import { type LogRange, LogRanges } from './log-ranges.js';

export interface LedgerMapOptions {
  disk: Disk;
  directories: LedgerDirectories;
  files: LogFiles;
  cache: LedgerCache;
  /** What is in memory beyond this goes to a map file after the next checkpoint. */
  bytesMax: number;
  logger: Logger;
  /** False for logs that are gone: what is known of them does not count any more. */
  isLog(logId: number): boolean;
  hasLedger(ledgerId: number): boolean;
  /** What was in memory of a ledger goes to a file: its highest entry there. */
  onSpilled(ledgerId: number, lastEntryId: number): void;
  /** The ledger table of a log cannot be read: what the log holds is not known. */
  onDamaged(log: LogExtent, error: DaybookError): void;
}

/** A row of the ledger table of a sealed log, as far as the map needs it. */
interface TableRow {
  ledgerId: number;
  firstEntryId: number;
  lastEntryId: number;
}

/** Ranges of some logs, with the bytes of the logs' indexes. */
interface Gathered {
  ranges: LogRanges;
  logs: Map<number, number>;
}

/**
 * Which sealed logs hold what of which ledger: in memory for the logs sealed last, up to a bound, and in map files for the others. All of it repeats the
 * ledger tables of the logs' indexes: at start, the tables of logs that no map tells of are read, and a map that cannot be read is made again.
 */
export class LedgerMap {
  readonly #options: LedgerMapOptions;
  #recent: Gathered = { ranges: new LogRanges(), logs: new Map() };
  /** What is being written to a map file: still looked at, no longer added to. */
  #spilling: Gathered | undefined;
  /** Replaced, never changed. */
  #maps: readonly LedgerMapFile[] = [];
  readonly #unreadable = new Set<LedgerMapFile>();
  #nextMapId = 1;

  constructor(options: LedgerMapOptions) {
    this.#options = options;
  }

  /** In memory, the tables of the files included. */
  get bytes(): number {
    return this.#maps.reduce((sum, map) => sum + map.bytes, this.#recent.ranges.bytes + (this.#spilling?.ranges.bytes ?? 0));
  }

  get mapsCount(): number {
    return this.#maps.length;
  }

  /** At start: finds the maps, and reads the ledger tables of sealed logs that none of them tells of. */
  async load(sealed: readonly LogExtent[]): Promise<void> {
    await this.#loadMaps(new Set(sealed.map(({ logId }) => logId)));
    // An index that was made again is read once more: a map from before tells of the old one.
    const told = new Set(this.#maps.flatMap((map) => [...map.logs].map(([logId, indexBytes]) => `${logId}:${indexBytes}`)));
    for (const log of sealed) {
      if (told.has(`${log.logId}:${log.indexBytes}`) || this.#recent.logs.has(log.logId)) continue;
      await this.#gather(this.#recent, log);
      await this.spill(sealed);
    }
  }

  /** Notes what a log that was just sealed holds. */
  addLog(log: LogExtent, rows: readonly TableRow[]): void {
    const { ranges, logs } = this.#recent;
    logs.set(log.logId, log.indexBytes);
    for (const { ledgerId, firstEntryId, lastEntryId } of rows) ranges.add(ledgerId, { logId: log.logId, first: firstEntryId, last: lastEntryId });
  }

  /** The ledger is gone; what files say of it does not matter as long as it does not exist. */
  deleteLedger(ledgerId: number): void {
    this.#recent.ranges.delete(ledgerId);
  }

  /** The highest entry of a ledger in those sealed logs that are told of in memory, or -1. */
  lastIdInMemory(ledgerId: number): number {
    return Math.max(this.#recent.ranges.lastId(ledgerId), this.#spilling?.ranges.lastId(ledgerId) ?? -1);
  }

  /** What sealed logs hold of a ledger, oldest log first. */
  async rangesOf(ledgerId: number): Promise<LogRange[]> {
    const found = await this.#collect(ledgerId);
    const byLog = new Map(found.map((range) => [range.logId, range]));
    return [...byLog.values()].filter(({ logId }) => this.#options.isLog(logId)).sort((a, b) => a.logId - b.logId);
  }

  /** The sealed logs that may hold an entry, newest first: mostly one. */
  async logsWith(ledgerId: number, entryId: number): Promise<number[]> {
    if (this.#maps.length === 0 && this.#spilling === undefined) {
      const logs: number[] = [];
      this.#recent.ranges.collectWith(ledgerId, entryId, logs);
      return logs.length < 2 ? logs.filter(this.#options.isLog) : logs.filter(this.#options.isLog).sort((a, b) => b - a);
    }
    const ranges = await this.rangesOf(ledgerId);
    return ranges
      .filter(({ first, last }) => first <= entryId && entryId <= last)
      .map(({ logId }) => logId)
      .reverse();
  }

  /**
   * Writes what is in memory to a map file when it is over its bound. `sealed`: the sealed logs of the last checkpoint; of others nothing may get into a
   * file, as after a crash they may come to hold something else. On a full disk all stays in memory until the next call.
   */
  async spill(sealed: readonly LogExtent[]): Promise<void> {
    if (this.#spilling === undefined && !this.#beginSpill(sealed)) return;
    const gathered = this.#spilling as Gathered;
    try {
      const map = await this.#write(gathered.logs, (writer) => writeRanges(writer, gathered.ranges, (logId) => gathered.logs.has(logId)));
      for (const ledgerId of gathered.ranges.ledgerIds()) this.#options.onSpilled(ledgerId, gathered.ranges.lastId(ledgerId));
      this.#maps = [...this.#maps, map];
      this.#spilling = undefined;
    } catch (error) {
      if (!diskErrors.FULL.is(error)) throw error;
    }
  }

  /** Makes maps again that cannot be read, joins small ones, and drops what is gone. To be called now and then; one call at a time. */
  async tidy(sealed: () => readonly LogExtent[], stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      for (const map of this.#unreadable) await this.#rebuild(map, sealed());
      const group = mergeWorthwhile(this.#maps, this.#options.isLog);
      if (group === undefined) return;
      const logs = new Map(group.flatMap((map) => [...map.logs].filter(([logId]) => this.#options.isLog(logId))));
      const keeps = (ledgerId: number, logId: number): boolean => logs.has(logId) && this.#options.hasLedger(ledgerId);
      try {
        const merged = logs.size === 0 ? [] : [await this.#write(logs, (writer) => mergeMaps(group, writer, keeps))];
        await this.#replace(group, merged);
      } catch (error) {
        if (!bookieErrors.LOG_DAMAGED.is(error)) throw error;
        for (const map of group) this.#unreadable.add(map);
      }
    }
  }

  /** Of all ranges known, also of logs that are gone; a log may come twice. */
  async #collect(ledgerId: number): Promise<LogRange[]> {
    for (;;) {
      const out: LogRange[] = [];
      this.#recent.ranges.collect(ledgerId, out);
      this.#spilling?.ranges.collect(ledgerId, out);
      const maps = this.#maps;
      let current: LedgerMapFile | undefined;
      try {
        for (const map of maps) {
          current = map;
          await map.collect(ledgerId, out);
        }
        return out;
      } catch (error) {
        // Maps that were joined meanwhile are gone: look again.
        if (current !== undefined && !this.#maps.includes(current)) continue;
        if (current !== undefined && error instanceof DaybookError) this.#unreadable.add(current);
        throw error;
      }
    }
  }

  async #loadMaps(sealed: ReadonlySet<number>): Promise<void> {
    const { disk, directories, files, cache, logger } = this.#options;
    const found: LedgerMapFile[] = [];
    await directories.each(async (directory) => {
      for (const name of await disk.list(directory)) {
        const mapId = mapIdIn(name.replace(/\.new$/, ''));
        if (mapId === undefined) continue;
        const path = `${directory}/${name}`;
        this.#nextMapId = Math.max(this.#nextMapId, mapId + 1);
        try {
          if (!name.endsWith('.new')) found.push(await LedgerMapFile.open({ files, cache }, path, (await disk.fileBytes(path)) ?? 0));
          else await disk.remove(path);
        } catch (error) {
          if (!bookieErrors.LOG_DAMAGED.is(error)) throw error;
          logger.warn({ path, error }, 'a ledger map cannot be read: it is made again');
          await disk.remove(path);
        }
      }
    });
    const told = new Set<number>();
    for (const map of found.sort((a, b) => b.logs.size - a.logs.size)) {
      const logs = [...map.logs.keys()].filter((logId) => sealed.has(logId));
      if (logs.some((logId) => !told.has(logId))) {
        for (const logId of logs) told.add(logId);
        this.#maps = [...this.#maps, map];
      } else {
        map.forget();
        await disk.remove(map.path);
      }
    }
  }

  /** Adds what a log holds; of a log that cannot be read, that it is damaged. */
  async #gather(into: Gathered, log: LogExtent): Promise<void> {
    try {
      const table = await this.#options.cache.ledgerTable(log);
      forEachLedgerRow(table, (ledgerId, first, last) => into.ranges.add(ledgerId, { logId: log.logId, first, last }));
      into.logs.set(log.logId, log.indexBytes);
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      this.#options.onDamaged(log, error);
    }
  }

  /** False when nothing is to be written now. */
  #beginSpill(sealed: readonly LogExtent[]): boolean {
    const { bytesMax, isLog, hasLedger } = this.#options;
    const { ranges, logs } = this.#recent;
    if (ranges.bytes <= bytesMax) return false;
    const published = new Set(sealed.map(({ logId }) => logId));
    const there = new Map([...logs].filter(([logId]) => isLog(logId)));
    if ([...there.keys()].some((logId) => !published.has(logId))) return false;
    if (there.size * 2 > logs.size) {
      this.#spilling = { ranges, logs: there };
      this.#recent = { ranges: new LogRanges(), logs: new Map() };
      return true;
    }
    // Most of it is of logs that are gone: what is left fits.
    const left = new LogRanges();
    const found: LogRange[] = [];
    for (const ledgerId of ranges.ledgerIds()) {
      found.length = 0;
      if (hasLedger(ledgerId)) ranges.collect(ledgerId, found);
      for (const range of found) if (there.has(range.logId)) left.add(ledgerId, range);
    }
    this.#recent = { ranges: left, logs: there };
    return this.#beginSpill(sealed);
  }

  /** Makes maps from the ledger tables of the logs that a map told of. */
  async #rebuild(map: LedgerMapFile, sealed: readonly LogExtent[]): Promise<void> {
    this.#options.logger.warn({ path: map.path }, 'a ledger map cannot be read: it is made again');
    const made: LedgerMapFile[] = [];
    let gathered: Gathered = { ranges: new LogRanges(), logs: new Map() };
    const end = async (): Promise<void> => {
      const { ranges, logs } = gathered;
      if (logs.size > 0) made.push(await this.#write(logs, (writer) => writeRanges(writer, ranges, () => true)));
      gathered = { ranges: new LogRanges(), logs: new Map() };
    };
    for (const log of sealed.filter(({ logId }) => map.logs.has(logId))) {
      await this.#gather(gathered, log);
      if (gathered.ranges.bytes > this.#options.bytesMax) await end();
    }
    await end();
    await this.#replace([map], made);
    this.#unreadable.delete(map);
  }

  async #write(logs: ReadonlyMap<number, number>, fill: (writer: LedgerMapWriter) => Promise<void>): Promise<LedgerMapFile> {
    const { disk, directories, files, cache } = this.#options;
    for (;;) {
      const directory = await directories.emptiest();
      try {
        const writer = await LedgerMapWriter.create(disk, directory, this.#nextMapId++);
        await fill(writer).catch(async (error: unknown) => {
          await writer.discard();
          throw error;
        });
        await writer.finish(logs);
        return await LedgerMapFile.open({ files, cache }, writer.path, (await disk.fileBytes(writer.path)) ?? 0);
      } catch (error) {
        if (!directories.takeOut(directory, error)) throw error;
      }
    }
  }

  async #replace(old: readonly LedgerMapFile[], made: readonly LedgerMapFile[]): Promise<void> {
    this.#maps = [...this.#maps.filter((map) => !old.includes(map)), ...made];
    for (const map of old) {
      map.forget();
      await this.#options.disk.remove(map.path);
    }
  }
}
