import type { Disk, Logger } from '@daybook/runtime';
import type { JournalMarks } from '../journal/journal-mark.js';
import { Checkpoints } from './checkpoint.js';
import type { Checkpoint } from './checkpoint-format.js';
import { EntryLogs, type LogStatus } from './entry-logs.js';
import { EntryReader, type FoundBadEntry, type ReadResult } from './entry-reader.js';
import { flushHalf } from './flush.js';
import type { LedgerRow } from './index-format.js';
import type { RebuiltIndex } from './index-rebuild.js';
import { LedgerCache } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import { LedgerStates } from './ledger-state.js';
import { LedgerStateFile } from './ledger-state-file.js';
import { LogFiles } from './log-files.js';
import { ReadCache } from './read-cache.js';
import type { ScrubbedStorage } from './scrubber.js';
import { WriteCache, type WriteCacheHalf } from './write-cache.js';

export interface LedgerStorageOptions {
  disk: Disk;
  directories: LedgerDirectories;
  writeCacheBytesMax: number;
  readCacheBytesMax: number;
  readAheadBytes: number;
  ledgerCacheBytesMax: number;
  logBytesMax: number;
  openIndexBytesMax: number;
  openFilesMax: number;
  /** An entry cannot be read any more, from any copy. */
  onBadEntry?(bad: FoundBadEntry): void;
  onDamagedIndex?(logId: number): void;
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
  entryLogs: number;
  entryLogBytes: number;
}

/**
 * Entries and ledgers of one bookie, behind the journal: the one interface over the files in the ledger directories. Nothing here is durable before
 * {@link flush} and {@link publish}; what came after the last one is replayed from the journal.
 */
export class LedgerStorage implements ScrubbedStorage {
  readonly states: LedgerStates;
  readonly #options: LedgerStorageOptions;
  readonly #checkpoints: Checkpoints;
  readonly #stateFile: LedgerStateFile;
  readonly #logs: EntryLogs;
  readonly #writeCache: WriteCache;
  readonly #readCache: ReadCache;
  readonly #ledgerCache: LedgerCache;
  readonly #reader: EntryReader;
  /** The marks that belong to the half of the write cache that is being flushed. */
  #flushMarks: JournalMarks | undefined;

  private constructor(options: LedgerStorageOptions, loaded: Loaded) {
    this.#options = options;
    this.#checkpoints = loaded.checkpoints;
    this.#stateFile = loaded.stateFile;
    this.#logs = loaded.logs;
    this.#ledgerCache = loaded.ledgerCache;
    this.states = loaded.states;
    this.#writeCache = new WriteCache(options.writeCacheBytesMax);
    this.#readCache = new ReadCache(options.readCacheBytesMax);
    this.#reader = new EntryReader({
      writeCache: this.#writeCache,
      readCache: this.#readCache,
      ledgerCache: loaded.ledgerCache,
      logs: loaded.logs,
      files: loaded.files,
      states: loaded.states,
      readAheadBytes: options.readAheadBytes,
      onBadEntry: (bad) => options.onBadEntry?.(bad),
      onDamagedIndex: (logId) => options.onDamagedIndex?.(logId),
    });
  }

  /** Opens what the last checkpoint names. Refuses (`BOOKIE_CHECKPOINT_CORRUPT`, `BOOKIE_STATE_CORRUPT`) what it cannot be sure of. */
  static async open(options: LedgerStorageOptions): Promise<LedgerStorage> {
    const { disk, directories, logger } = options;
    const checkpoints = await Checkpoints.load(disk, directories);
    const states = new LedgerStates();
    const stateFile = new LedgerStateFile(disk, directories);
    await stateFile.load(states, checkpoints.latest?.statesNumber);
    const files = new LogFiles(disk, options.openFilesMax);
    const ledgerCache = new LedgerCache(files, options.ledgerCacheBytesMax);
    const onSealed = (logId: number, ledgers: readonly LedgerRow[]): void => {
      for (const row of ledgers) states.addRange(row.ledgerId, { first: row.firstEntryId, last: row.lastEntryId, logId });
    };
    const onDamaged = (logId: number, why: string): void => {
      logger.error({ logId, why }, 'an entry log cannot be used: entries that are not found elsewhere are answered with an error from now on');
    };
    const logs = await EntryLogs.load({ disk, directories, files, cache: ledgerCache, onSealed, onDamaged }, checkpoints.latest);
    return new LedgerStorage(options, { checkpoints, stateFile, states, files, ledgerCache, logs });
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

  /** The highest entry id of a ledger, or -1. */
  lastEntryId(ledgerId: number): number {
    return Math.max(this.#writeCache.lastId(ledgerId), this.#logs.lastOpenId(ledgerId), this.states.lastId(ledgerId));
  }

  /** True when some entry log cannot be read: then an absence proves nothing. */
  get hasDamagedLogs(): boolean {
    return this.#logs.hasDamaged;
  }

  /** All entries of a ledger as ascending runs that do not touch. Rejects when an index cannot be read. */
  async listEntries(ledgerId: number): Promise<EntryRun[]> {
    const runs: EntryRun[] = [];
    const add = (first: number, count: number): void => {
      const before = runs.at(-1);
      if (before !== undefined && before.last + 1 === first) before.last += count;
      else runs.push({ first, last: first + count - 1 });
    };
    // In memory first, in one turn: a flush may move entries into a log while the indexes are read.
    for (const half of this.#writeCache.halves()) half.visit(ledgerId, (entryId) => add(entryId, 1));
    for (const run of this.#logs.openRunsOf(ledgerId)) add(run.firstEntryId, run.count);
    const sealed = this.states.logsOf(ledgerId).map((logId) => this.#logs.sealedIndex(logId));
    for (const index of sealed) await this.#ledgerCache.visit(index, ledgerId, add);
    return joined(runs);
  }

  /** The hook of garbage collection: the ledger is proved to be gone from metadata. Its entries are not flushed any more, and not found. */
  deleteLedger(ledgerId: number): void {
    this.states.delete(ledgerId);
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
    const half = this.#writeCache.beginFlush();
    this.#flushMarks ??= marks;
    if (!half.isEmpty) await this.#writeSomewhere(half);
    this.#writeCache.endFlush(options.mayIdle);
    const covered = this.#flushMarks;
    this.#flushMarks = undefined;
    return covered;
  }

  /** When a directory fails, all of the half goes to another one: nothing behind the last good sync is trusted. */
  async #writeSomewhere(half: WriteCacheHalf): Promise<void> {
    for (;;) {
      try {
        return await flushHalf(half, this.#logs, this.#options, (ledgerId) => this.states.has(ledgerId));
      } catch (error) {
        if (!this.#logs.takeOutDirectory(error)) throw error;
      }
    }
  }

  /** Publishes how far the journals are no longer needed: marks that {@link flush} returned. */
  async publish(marks: JournalMarks): Promise<void> {
    const number = (this.#checkpoints.latest?.number ?? 0) + 1;
    const statesNumber = await this.#stateFile.save(this.states, number);
    await this.#checkpoints.publish({ marks, statesNumber, nextLogId: this.#logs.nextLogId, logs: this.#logs.extents() });
  }

  /** Removes files of entry logs that did not become part of a checkpoint; after the first one of this run. */
  removeLeftovers(): Promise<void> {
    return this.#logs.removeLeftovers();
  }

  logs(): readonly LogStatus[] {
    return this.#logs.status();
  }

  hasLedger(ledgerId: number): boolean {
    return this.states.has(ledgerId);
  }

  isServed(ledgerId: number, entryId: number): Promise<boolean> {
    return this.#reader.isIntact(ledgerId, entryId);
  }

  replaceIndex(logId: number, rebuilt: RebuiltIndex): boolean {
    return this.#logs.replaceIndex(logId, rebuilt);
  }

  stats(): StorageStats {
    return {
      ledgers: this.states.count,
      writeCacheBytes: this.#writeCache.bytes,
      writeCacheEntries: this.#writeCache.entriesCount,
      readCacheBytes: this.#readCache.bytes,
      readCacheHits: this.#readCache.hits,
      readCacheMisses: this.#readCache.misses,
      ledgerCacheBytes: this.#ledgerCache.bytes,
      ledgerCacheHits: this.#ledgerCache.hits,
      ledgerCacheMisses: this.#ledgerCache.misses,
      entryLogs: this.#logs.count,
      entryLogBytes: this.#logs.bytes,
    };
  }

  close(): Promise<void> {
    return this.#logs.close();
  }
}

interface Loaded {
  checkpoints: Checkpoints;
  stateFile: LedgerStateFile;
  states: LedgerStates;
  files: LogFiles;
  ledgerCache: LedgerCache;
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
