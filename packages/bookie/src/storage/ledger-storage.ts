import { type Clock, type Disk, diskErrors, type Logger } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { JournalMarks } from '../journal/journal-mark.js';
import { Checkpoints } from './checkpoint.js';
import { CheckpointDirectories } from './checkpoint-directories.js';
import type { Checkpoint } from './checkpoint-format.js';
import type { EntryLogs } from './entry-logs.js';
import { EntryReader, type FoundBadEntry, type ReadResult } from './entry-reader.js';
import type { ExplicitLacs } from './explicit-lacs.js';
import { flushHalf } from './flush.js';
import type { RebuiltIndex } from './index-rebuild.js';
import { LedgerCache } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import type { LedgerMap } from './ledger-map.js';
import { LedgerStates } from './ledger-state.js';
import { LedgerStateFile } from './ledger-state-file.js';
import { LogFiles } from './log-files.js';
import type { LogStatus } from './log-status.js';
import { LogUsage } from './log-usage.js';
import { openLogs } from './open-logs.js';
import { ReadCache } from './read-cache.js';
import type { ScrubbedStorage } from './scrubber.js';
import { Turns } from './turns.js';
import { WriteCache, type WriteCacheHalf } from './write-cache.js';

export interface LedgerStorageOptions {
  disk: Disk;
  clock: Clock;
  directories: LedgerDirectories;
  /** Checkpoints are published there, too. */
  journalDirectories: readonly string[];
  /** Kept with the states of the ledgers. */
  explicitLacs?: ExplicitLacs;
  writeCacheBytesMax: number;
  readCacheBytesMax: number;
  readAheadBytes: number;
  ledgerCacheBytesMax: number;
  ledgerMapBytesMax: number;
  logBytesMax: number;
  logSyncStepBytes: number;
  openIndexBytesMax: number;
  openFilesMax: number;
  diskReserveBytes: number;
  /** An entry cannot be read any more, from any copy. */
  onBadEntry?(bad: FoundBadEntry): void;
  onDamagedIndex?(logId: number): void;
  /** A log found no room to grow, and its entries went to another directory. */
  onNoRoom?(directory: string): void;
  logger: Logger;
}

export interface EntryRun {
  first: number;
  last: number;
}

export interface StorageStats {
  ledgers: number;
  writeCacheBytes: number;
  writeCacheEntries: number;
  readCacheBytes: number;
  readCacheHits: number;
  readCacheMisses: number;
  ledgerCacheBytes: number;
  ledgerCacheHits: number;
  ledgerCacheMisses: number;
  ledgerMapBytes: number;
  ledgerMaps: number;
  entryLogs: number;
  entryLogBytes: number;
}

/**
 * Entries and ledgers of one bookie, behind the journal: the one interface over the files in the ledger directories. Nothing here is durable before
 * {@link flush} and {@link publish}; what came after the last one is replayed from the journal.
 */
export class LedgerStorage implements ScrubbedStorage {
  readonly states: LedgerStates;
  readonly entryLogs: EntryLogs;
  readonly files: LogFiles;
  readonly ledgerCache: LedgerCache;
  readonly map: LedgerMap;
  readonly usage: LogUsage;
  readonly #options: LedgerStorageOptions;
  readonly #checkpoints: Checkpoints;
  readonly #stateFile: LedgerStateFile;
  readonly #writeCache: WriteCache;
  readonly #readCache: ReadCache;
  readonly #reader: EntryReader;
  /** Of those who write the open log, or publish. */
  readonly #turns = new Turns();
  /** The marks that belong to the half of the write cache that is being flushed. */
  #flushMarks: JournalMarks | undefined;

  private constructor(options: LedgerStorageOptions, loaded: Loaded) {
    this.#options = options;
    this.#checkpoints = loaded.checkpoints;
    this.#stateFile = loaded.stateFile;
    this.states = loaded.states;
    this.entryLogs = loaded.logs;
    this.files = loaded.files;
    this.ledgerCache = loaded.ledgerCache;
    this.map = loaded.map;
    this.usage = new LogUsage({ logs: loaded.logs, cache: loaded.ledgerCache, hasLedger: (ledgerId) => loaded.states.has(ledgerId) });
    this.#writeCache = new WriteCache(options.writeCacheBytesMax);
    this.#readCache = new ReadCache(options.readCacheBytesMax);
    this.#reader = new EntryReader({
      writeCache: this.#writeCache,
      readCache: this.#readCache,
      ledgerCache: loaded.ledgerCache,
      logs: loaded.logs,
      files: loaded.files,
      map: loaded.map,
      readAheadBytes: options.readAheadBytes,
      onBadEntry: (bad) => options.onBadEntry?.(bad),
      onDamagedIndex: (logId) => options.onDamagedIndex?.(logId),
    });
  }

  /** Opens what the last checkpoint names. Refuses (`BOOKIE_CHECKPOINT_CORRUPT`, `BOOKIE_STATE_CORRUPT`) what it cannot be sure of. */
  static async open(options: LedgerStorageOptions): Promise<LedgerStorage> {
    const { disk, directories } = options;
    const places = new CheckpointDirectories(directories, options.journalDirectories);
    const checkpoints = await Checkpoints.load(disk, places);
    const states = new LedgerStates(options.clock);
    const stateFile = new LedgerStateFile(disk, places, options.explicitLacs);
    checkpoints.noteTaken(await stateFile.load(states, checkpoints.latest?.statesNumber));
    const files = new LogFiles(disk, options.openFilesMax);
    const ledgerCache = new LedgerCache(files, options.ledgerCacheBytesMax);
    const { map, logs } = await openLogs(options, { files, ledgerCache, states, latest: checkpoints.latest });
    return new LedgerStorage(options, { checkpoints, stateFile, states, files, ledgerCache, map, logs });
  }

  get lastCheckpoint(): Checkpoint | undefined {
    return this.#checkpoints.latest;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#writeCache.hasRoomFor(bytes);
  }

  /** Adds the bytes of an append batch; they are copied. The ledger exists, and there is room, unless what is in the journal must go in at any price. */
  add(ledgerId: number, batch: Buffer, { mayExceed = false } = {}): void {
    this.#writeCache.add(ledgerId, batch, mayExceed);
  }

  /** Share of the write cache that fills up before the next flush, 0 to 1. */
  get fullness(): number {
    return this.#writeCache.fullness;
  }

  read(ledgerId: number, entryIds: readonly number[], bytesMax: number): Promise<ReadResult> {
    return this.#reader.read(ledgerId, entryIds, bytesMax);
  }

  /** The highest entry id of a ledger, or -1. Rejects when an index cannot be read, also instead of saying -1 while some log cannot be used. */
  async lastEntryId(ledgerId: number): Promise<number> {
    for (;;) {
      const { changesCount } = this.entryLogs;
      // In memory first, in one turn with the list of sealed logs.
      const ranges = this.map.rangesOf(ledgerId);
      const seen = this.lastEntryIdSeen(ledgerId);
      const sealed = (await ranges).reduce((max, range) => Math.max(max, range.last), -1);
      if (this.entryLogs.changesCount !== changesCount) continue;
      this.states.noteEntry(ledgerId, sealed);
      const last = Math.max(seen, sealed);
      if (last < 0 && this.entryLogs.hasDamaged) throw bookieErrors.LOG_DAMAGED('an entry log', `entries of ledger ${ledgerId} may be in it`);
      return last;
    }
  }

  /** What {@link lastEntryId} will say, as far as it is known without looking at the disk: never more. */
  lastEntryIdSeen(ledgerId: number): number {
    const inLogs = Math.max(this.entryLogs.lastOpenId(ledgerId), this.map.lastIdInMemory(ledgerId), this.states.lastEntryId(ledgerId));
    return Math.max(this.#writeCache.lastId(ledgerId), inLogs);
  }

  /** All entries of a ledger as ascending runs that do not touch. Rejects when an index cannot be read, and while some log cannot be used. */
  async listEntries(ledgerId: number): Promise<EntryRun[]> {
    for (;;) {
      const { changesCount } = this.entryLogs;
      try {
        const runs = await this.#listOnce(ledgerId);
        if (this.entryLogs.changesCount !== changesCount) continue;
        if (!this.entryLogs.hasDamaged) return joined(runs);
        throw bookieErrors.LOG_DAMAGED('an entry log', `entries of ledger ${ledgerId} may be in it`);
      } catch (error) {
        if (this.entryLogs.changesCount === changesCount) throw error;
      }
    }
  }

  async #listOnce(ledgerId: number): Promise<EntryRun[]> {
    const runs: EntryRun[] = [];
    const add = (first: number, count: number): void => {
      const before = runs.at(-1);
      if (before !== undefined && before.last + 1 === first) before.last += count;
      else runs.push({ first, last: first + count - 1 });
    };
    // In memory first, in one turn with the list of sealed logs: a flush may move entries into a log while the indexes are read.
    const sealed = this.map.rangesOf(ledgerId);
    for (const half of this.#writeCache.halves()) half.visit(ledgerId, (entryId) => add(entryId, 1));
    for (const run of this.entryLogs.openRunsOf(ledgerId)) add(run.firstEntryId, run.count);
    for (const { logId } of await sealed) await this.ledgerCache.visit(this.entryLogs.sealedIndex(logId), ledgerId, add);
    return runs;
  }

  /**
   * The hook of garbage collection: the ledger is proved to be gone from metadata. Its entries are not flushed any more, and not found. `isStillGone` is
   * asked in the turn in which it happens.
   */
  async deleteLedger(ledgerId: number, isStillGone: () => boolean = () => true): Promise<boolean> {
    const ranges = await this.map.rangesOf(ledgerId);
    if (!this.states.has(ledgerId) || !isStillGone()) return false;
    this.states.delete(ledgerId);
    // Not only because of the flush, which leaves out what is deleted: when the ledger comes back meanwhile, nobody may find what is about to be dropped.
    this.#writeCache.forget(ledgerId);
    this.#readCache.forget(ledgerId);
    this.map.deleteLedger(ledgerId);
    for (const { logId } of ranges) this.usage.noteChange(logId);
    return true;
  }

  /** True when something was added since the last flush began. */
  get isDirty(): boolean {
    return !this.#writeCache.isActiveEmpty;
  }

  /**
   * Writes what is in the write cache to the entry log and returns the marks to publish: `marks`, taken before the call, or those of an earlier flush that
   * failed and is tried again now. Not to be called while it runs. Rejects with `DISK_FULL` when it may be tried again later; after anything else the
   * bookie must stop.
   */
  async flush(marks: JournalMarks, options: { mayIdle: boolean }): Promise<JournalMarks> {
    // In the turn in which the marks were taken.
    const half = this.#writeCache.beginFlush();
    this.#flushMarks ??= marks;
    await this.#turns.run(async () => {
      await this.entryLogs.sealAbandoned();
      if (!half.isEmpty) await this.#writeSomewhere(half);
    });
    this.#writeCache.endFlush(options.mayIdle);
    const covered = this.#flushMarks;
    this.#flushMarks = undefined;
    return covered;
  }

  /** When a directory fails or is full, all of the half goes to another one: nothing behind the last good sync is trusted. */
  async #writeSomewhere(half: WriteCacheHalf): Promise<void> {
    for (;;) {
      try {
        await this.entryLogs.requireRoom(half.bytes);
        return await flushHalf(half, this.entryLogs, this.#options, (ledgerId) => this.states.has(ledgerId));
      } catch (error) {
        const left = this.entryLogs.leaveDirectory(error);
        if (left === undefined) throw error;
        if (diskErrors.FULL.is(error)) this.#options.onNoRoom?.(left);
      }
    }
  }

  /** Publishes how far the journals are no longer needed: marks that {@link flush} returned. */
  publish(marks: JournalMarks): Promise<void> {
    return this.#turns.run(() => this.#publish(marks));
  }

  /**
   * Publishes which logs there are now, and how far they reach, and removes the files of those that are retired. `before` runs first, and may seal logs.
   * Nothing else writes the log of flushes meanwhile. As long as no checkpoint was ever published (the disk is full), the first one will do.
   */
  publishLogs(before?: () => Promise<void>): Promise<void> {
    return this.#turns.run(async () => {
      await before?.();
      const { latest } = this.#checkpoints;
      if (latest !== undefined) await this.#publish(latest.marks);
    });
  }

  async #publish(marks: JournalMarks): Promise<void> {
    const number = this.#checkpoints.takeNumber();
    const statesNumber = await this.#stateFile.save(this.states, number);
    // In one turn: what is retired is not in this list any more.
    const retired = this.entryLogs.retired.take();
    const logs = this.entryLogs.extents();
    const sealed = this.entryLogs.sealed();
    try {
      await this.#checkpoints.publish({ number, marks, statesNumber, nextLogId: this.entryLogs.nextLogId, logs });
    } catch (error) {
      this.entryLogs.retired.giveBack(retired);
      throw error;
    }
    await this.entryLogs.retired.remove(retired);
    await this.map.spill(sealed);
  }

  /** Removes files of entry logs that did not become part of a checkpoint; after the first one of this run. */
  removeLeftovers(): Promise<void> {
    return this.entryLogs.removeLeftovers();
  }

  logs(): readonly LogStatus[] {
    return this.entryLogs.status();
  }

  hasLedger(ledgerId: number): boolean {
    return this.states.has(ledgerId);
  }

  isServed(ledgerId: number, entryId: number): Promise<boolean> {
    return this.#reader.isIntact(ledgerId, entryId);
  }

  /** Whether an entry can be read from some entry log. */
  isInLogs(ledgerId: number, entryId: number): Promise<boolean> {
    return this.#reader.isIntactInLogs(ledgerId, entryId);
  }

  /** The index of a log turned out to be damaged. */
  noteDamagedIndex(logId: number): void {
    this.#options.onDamagedIndex?.(logId);
  }

  retryLog(logId: number): Promise<boolean> {
    return this.entryLogs.retry(logId);
  }

  /** Where the next log for compaction goes. */
  emptiestDirectory(): Promise<string> {
    return this.#options.directories.emptiest();
  }

  isWritable(directory: string): boolean {
    return this.#options.directories.isWritable(directory);
  }

  replaceIndex(logId: number, rebuilt: RebuiltIndex): boolean {
    return this.entryLogs.replaceIndex(logId, rebuilt);
  }

  stats(): StorageStats {
    return {
      ledgers: this.states.count,
      writeCacheBytes: this.#writeCache.bytes,
      writeCacheEntries: this.#writeCache.entriesCount,
      readCacheBytes: this.#readCache.bytes,
      readCacheHits: this.#readCache.hits,
      readCacheMisses: this.#readCache.misses,
      ledgerCacheBytes: this.ledgerCache.bytes,
      ledgerCacheHits: this.ledgerCache.hits,
      ledgerCacheMisses: this.ledgerCache.misses,
      ledgerMapBytes: this.map.bytes,
      ledgerMaps: this.map.mapsCount,
      entryLogs: this.entryLogs.count,
      entryLogBytes: this.entryLogs.bytes,
    };
  }

  close(): Promise<void> {
    return this.entryLogs.close();
  }
}

interface Loaded {
  checkpoints: Checkpoints;
  stateFile: LedgerStateFile;
  states: LedgerStates;
  files: LogFiles;
  ledgerCache: LedgerCache;
  map: LedgerMap;
  logs: EntryLogs;
}

function joined(runs: EntryRun[]): EntryRun[] {
  const out: EntryRun[] = [];
  for (const run of runs.sort((a, b) => a.first - b.first)) {
    const before = out.at(-1);
    if (before !== undefined && run.first <= before.last + 1) before.last = Math.max(before.last, run.last);
    else out.push({ ...run });
  }
  return out;
}
