import { type Clock, DaybookError, type Disk, diskErrors, type Logger } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { copyLive } from './copy-live.js';
import type { OpenLog } from './entry-log.js';
import type { LedgerStorage } from './ledger-storage.js';
import { type LogUse, liveShare } from './log-usage.js';
import { RateLimit } from './rate-limit.js';

export interface CompactorOptions {
  storage: LedgerStorage;
  disk: Disk;
  clock: Clock;
  /** 0: no limit. */
  entriesPerSecond: number;
  bytesPerSecond: number;
  logBytesMax: number;
  openIndexBytesMax: number;
  /** Space that compaction leaves free on a disk; on a small one a fiftieth of it. */
  keepFreeBytes: number;
  onCopied?(copied: { entries: number; bytes: number }): void;
  logger: Logger;
}

export interface CompactionRun {
  /** Logs with a smaller live share are rewritten. */
  threshold: number;
  stop: AbortSignal;
  /** Asked before each chunk: true ends the run, and what the log it is at has cost so far is lost. */
  isSuspended(): boolean;
  /** No log is begun after so long. */
  durationMsMax: number;
}

export interface CompactionOutcome {
  is: 'done' | 'stopped' | 'suspended' | 'out of time' | 'no space';
  logs: number;
  entries: number;
  copiedBytes: number;
  /** Bytes of logs that went, less what was copied. */
  reclaimedBytes: number;
}

/** A log that cannot be compacted: it stays as it is. */
export interface CompactionFailure {
  logId: number;
  attempts: number;
  /** An entry of which there is no other copy is damaged, or the index. */
  isDamaged: boolean;
  why: string;
  lastMs: number;
}

/** A log is tried so often, and then once a day. */
const attemptsMax = 3;
const attemptIntervalMs = 24 * 3_600_000;
const chunkBytesMax = 256 * 1024;
/** At most, of an entry in the index. */
const indexBytesPerEntry = 28;

/**
 * Rewrites sealed logs that are mostly of deleted ledgers: live entries go to a log of compaction's own, which is synced together with its index; in the turn
 * after that they are found there, and the old log is not looked into any more; the next published list of logs says so, and then the old files are removed.
 * Before the list is published, a crash leaves the old log and none of the copies; after it the copies, and files that the next start removes.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #entries: RateLimit;
  readonly #bytes: RateLimit;
  readonly #failures = new Map<number, CompactionFailure>();
  #isRunning = false;
  #writeError: unknown;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#entries = new RateLimit(options.clock, options.entriesPerSecond);
    this.#bytes = new RateLimit(options.clock, options.bytesPerSecond);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Logs that could not be compacted, of those that are still there. */
  failures(): CompactionFailure[] {
    for (const logId of this.#failures.keys()) if (!this.#options.storage.entryLogs.has(logId)) this.#failures.delete(logId);
    return [...this.#failures.values()];
  }

  /** One run at a time. Rejects when the bookie must stop. */
  async run(run: CompactionRun): Promise<CompactionOutcome> {
    this.#isRunning = true;
    try {
      return await this.#run(run);
    } finally {
      this.#isRunning = false;
    }
  }

  async #run(run: CompactionRun): Promise<CompactionOutcome> {
    const { clock } = this.#options;
    const outcome: CompactionOutcome = { is: 'done', logs: 0, entries: 0, copiedBytes: 0, reclaimedBytes: 0 };
    const startMs = clock.monoMs();
    for (const logId of this.#candidates(run.threshold)) {
      if (clock.monoMs() - startMs >= run.durationMsMax) return { ...outcome, is: 'out of time' };
      const step = await this.#try(logId, run, outcome);
      if (step !== 'next') return { ...outcome, is: step };
    }
    return outcome;
  }

  /** Emptiest first. */
  #candidates(threshold: number): number[] {
    const { entryLogs: logs, usage } = this.#options.storage;
    const uses = logs.sealed().flatMap(({ logId }) => usage.known(logId) ?? []);
    return uses
      .filter((use) => liveShare(use) < threshold && !this.hasGivenUp(use.logId) && !logs.hasHoles(use.logId))
      .sort((a, b) => liveShare(a) - liveShare(b))
      .map(({ logId }) => logId);
  }

  /** True for a log that is not tried again for now. */
  hasGivenUp(logId: number): boolean {
    const failure = this.#failures.get(logId);
    return failure !== undefined && failure.attempts >= attemptsMax && this.#options.clock.monoMs() - failure.lastMs < attemptIntervalMs;
  }

  async #try(logId: number, run: CompactionRun, outcome: CompactionOutcome): Promise<'next' | 'stopped' | 'suspended' | 'no space'> {
    const { storage } = this.#options;
    try {
      if (run.stop.aborted) return 'stopped';
      if (run.isSuspended()) return 'suspended';
      if (!storage.entryLogs.has(logId)) return 'next';
      const use = await storage.usage.measure(logId);
      if (liveShare(use) >= run.threshold) return 'next';
      if (use.liveBytes > 0 && !(await this.#hasSpaceFor(use))) return 'no space';
      await this.#compact(use, run, outcome);
      if (run.stop.aborted) return 'stopped';
      return run.isSuspended() ? 'suspended' : 'next';
    } catch (error) {
      if (diskErrors.FULL.is(error)) return 'no space';
      if (!(error instanceof DaybookError) || bookieErrors.FAILED.is(error)) throw error;
      // Gone meanwhile, as all of its ledgers were deleted.
      if (storage.entryLogs.has(logId)) this.noteFailure(logId, error);
      return 'next';
    }
  }

  /** A log cannot be looked into, or not be rewritten. */
  noteFailure(logId: number, error: DaybookError): void {
    const attempts = (this.#failures.get(logId)?.attempts ?? 0) + 1;
    const isDamaged = bookieErrors.LOG_DAMAGED.is(error);
    this.#failures.set(logId, { logId, attempts, isDamaged, why: error.message, lastMs: this.#options.clock.monoMs() });
    if (isDamaged) this.#options.storage.noteDamagedIndex(logId);
    this.#options.logger.error({ logId, attempts, error }, 'an entry log cannot be compacted: it stays as it is');
  }

  async #compact(use: LogUse, run: CompactionRun, outcome: CompactionOutcome): Promise<void> {
    const { storage, logger } = this.#options;
    const { entryLogs: logs } = storage;
    const source = logs.sealedIndex(use.logId);
    const target = await this.#target(use);
    let copied: Awaited<ReturnType<typeof copyLive>>;
    let isSwitched = false;
    try {
      copied = await copyLive({
        source,
        position: () => target.writtenTo,
        write: (records) => this.#writing(target.write(records)),
        cache: storage.ledgerCache,
        files: storage.files,
        hasLedger: (ledgerId) => storage.states.has(ledgerId),
        hasOtherCopy: (ledgerId, entryId) => storage.isInLogs(ledgerId, entryId),
        chunkBytesMax: Math.min(chunkBytesMax, this.#bytes.stepMax),
        chunkEntriesMax: this.#entries.stepMax,
        pace: (chunk) => this.#pace(chunk, run),
      });
      isSwitched = copied !== undefined && (await this.#switch(source.logId, target, copied));
    } catch (error) {
      if (error === this.#writeError && logs.giveUpCompacted(error)) return;
      throw error;
    } finally {
      // Nothing that does not count may take up space.
      if (!isSwitched && logs.compacted === target) await target.trim();
    }
    if (!isSwitched || copied === undefined) return;
    await storage.publishLogs();
    this.#failures.delete(source.logId);
    outcome.logs++;
    outcome.entries += copied.entries;
    outcome.copiedBytes += copied.bytes;
    outcome.reclaimedBytes += Math.max(0, source.logBytes - copied.bytes);
    logger.debug({ ...use, into: target.logId, copiedBytes: copied.bytes }, 'entry log compacted');
  }

  /** Makes the copies durable, and at once the ones that count. False when that may not be: the source stays. */
  #switch(
    logId: number,
    target: OpenLog,
    { runs, skipped }: { runs: Parameters<OpenLog['commit']>[0]; skipped: ReadonlySet<number> },
  ): Promise<boolean> {
    const { entryLogs: logs, states } = this.#options.storage;
    const committed = target.commit(runs, () => {
      if (!logs.isSealed(logId) || logs.hasHoles(logId)) return false;
      // A ledger that was gone came back (repair copies it here again): what the source holds of it counts again.
      for (const ledgerId of skipped) if (states.has(ledgerId)) return false;
      logs.retire(logId);
      return true;
    });
    return this.#writing(committed);
  }

  /** Remembers an error of the log that is written, to tell it from one of the log that is read. */
  async #writing<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      this.#writeError = error;
      throw error;
    }
  }

  async #pace(chunk: { entries: number; bytes: number }, run: CompactionRun): Promise<boolean> {
    await this.#entries.take(chunk.entries, run.stop);
    await this.#bytes.take(chunk.bytes, run.stop);
    if (run.stop.aborted || run.isSuspended()) return false;
    this.#options.onCopied?.(chunk);
    return true;
  }

  /** The log to copy to, with room for all that is live of another one: a log goes to one log, so that it is there or not as a whole. */
  async #target(use: LogUse): Promise<OpenLog> {
    const { storage, logBytesMax, openIndexBytesMax } = this.#options;
    const { compacted } = storage.entryLogs;
    if (compacted !== undefined) {
      const isFull = compacted.logBytes + use.liveBytes > logBytesMax;
      if (isFull || compacted.index.bytes + use.liveEntries * 4 > openIndexBytesMax) await storage.publishLogs(() => storage.entryLogs.seal(true));
    }
    return storage.entryLogs.open(true);
  }

  /** Whether what is live fits; goes on in another directory if it does not fit where compaction writes now. */
  async #hasSpaceFor(use: LogUse): Promise<boolean> {
    const { storage, logger } = this.#options;
    const { compacted } = storage.entryLogs;
    if (compacted !== undefined && (await this.#fits(use, compacted.directory))) return true;
    const directory = await storage.emptiestDirectory();
    if (directory === compacted?.directory || !(await this.#fits(use, directory))) {
      logger.warn({ directory, liveBytes: use.liveBytes }, 'no entry log is compacted: there is too little space to copy what is live');
      return false;
    }
    if (compacted !== undefined) await storage.publishLogs(() => storage.entryLogs.seal(true));
    return true;
  }

  async #fits(use: LogUse, directory: string): Promise<boolean> {
    const { disk, keepFreeBytes } = this.#options;
    const { freeBytes, totalBytes } = await disk.usage(directory);
    return freeBytes >= use.liveBytes + use.liveEntries * indexBytesPerEntry + Math.min(keepFreeBytes, totalBytes / 50);
  }
}
