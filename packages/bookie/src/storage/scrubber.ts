import { type Clock, DaybookError, type Disk, type Logger, TaskSet, type Timer } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { BadEntries, BadEntry } from './bad-entries.js';
import { encodeLogHeader } from './entry-log-format.js';
import { type RebuiltIndex, rebuildIndex } from './index-rebuild.js';
import { checkLog, type LogFindings } from './log-check.js';
import type { LogStatus } from './log-status.js';
import { RateLimit } from './rate-limit.js';
import { syncOrFail } from './sync-or-fail.js';

/** What the scrubber needs of the storage. */
export interface ScrubbedStorage {
  /** All logs now, oldest first. */
  logs(): readonly LogStatus[];
  hasLedger(ledgerId: number): boolean;
  /** Whether an entry can be read, from wherever its newest good copy is. */
  isServed(ledgerId: number, entryId: number): Promise<boolean>;
  /** Looks at a log in state `damaged` once more; true when it can be used again. */
  retryLog(logId: number): Promise<boolean>;
  /** False for a directory that was taken out. */
  isWritable(directory: string): boolean;
  /** The index of a log was written anew; false when the log is gone. */
  replaceIndex(logId: number, rebuilt: RebuiltIndex): boolean;
}

export interface ScrubberOptions {
  disk: Disk;
  clock: Clock;
  storage: ScrubbedStorage;
  badEntries: BadEntries;
  /** From the end of one pass to the next; 0: only when asked. */
  intervalMs: number;
  bytesPerSecond: number;
  /** An index was rebuilt: the next checkpoint should name it. */
  onRebuilt(): void;
  /** A sync failed: what was written there is not trusted, and nothing may be written there any more. */
  onFailedSync(directory: string, error: unknown): void;
  logger: Logger;
}

export interface ScrubReport {
  startedAtMs: number;
  durationMs: number;
  logsCount: number;
  bytes: number;
  /** Entries that cannot be read any more; they are in the list of bad entries. */
  badEntriesCount: number;
  /** Damaged copies of entries that are served from a newer one, or whose ledger is gone. */
  harmlessCount: number;
  rebuiltIndexes: readonly number[];
  /** Logs that could not be checked, or not be put in order, and why. */
  failedLogs: readonly { logId: number; why: string }[];
}

export interface ScrubStatus {
  isRunning: boolean;
  /** Of the pass that runs. */
  bytesDone: number;
  last: ScrubReport | undefined;
}

/** A log that cannot be used is looked at again after this, then after twice as long, and so on. */
const retryMsMin = 10_000;
const retryMsMax = 3_600_000;

/**
 * Reads all entry logs and indexes again and again, slowly, and checks every byte, so that damage is found while other replicas still have what was lost. A
 * damaged entry is listed and told (repair fetches it from a replica); a damaged index is rebuilt from its log, one that was found by a read or at start at
 * once. One pass at a time.
 */
export class Scrubber {
  readonly #options: ScrubberOptions;
  readonly #tasks: TaskSet;
  readonly #rate: RateLimit;
  #running: Promise<ScrubReport> | undefined;
  #timer: Timer | undefined;
  #bytesDone = 0;
  #last: ScrubReport | undefined;
  readonly #rebuilding = new Map<number, Promise<boolean>>();
  readonly #mending = new Set<number>();
  #retryTimer: Timer | undefined;
  #retryMs = retryMsMin;
  #closing: Promise<void> | undefined;

  constructor(options: ScrubberOptions) {
    this.#options = options;
    this.#rate = new RateLimit(options.clock, options.bytesPerSecond);
    this.#tasks = new TaskSet((error, name) => options.logger.error({ error, task: name }, 'a check of the entry logs failed'));
  }

  get status(): ScrubStatus {
    return { isRunning: this.#running !== undefined, bytesDone: this.#bytesDone, last: this.#last };
  }

  /** Mends what could not be used at start, and begins to count the time to the first pass: a tenth of the interval. */
  start(): void {
    this.#mendDamaged();
    this.#schedule(this.#options.intervalMs / 10);
  }

  /** A pass now, at the bounded rate; whoever asks while one runs gets its outcome. Rejects with `BOOKIE_CLOSED` when the bookie ends meanwhile. */
  scrub(): Promise<ScrubReport> {
    this.#running ??= new Promise<ScrubReport>((resolve, reject) => {
      const isTaken = this.#tasks.run('scrub', async (stop) => {
        await this.#pass(stop).then(resolve, reject);
      });
      if (!isTaken) reject(bookieErrors.CLOSED());
    }).finally(() => {
      this.#running = undefined;
      this.#schedule(this.#options.intervalMs);
    });
    return this.#running;
  }

  /**
   * A log cannot be used, or a read met a damaged index: soon it is looked at once more, as a disk may fail for a moment only, and rebuilt if it is no better.
   * One that cannot be used even then is tried again and again, ever more rarely.
   */
  noteDamagedIndex(logId: number): void {
    if (this.#mending.has(logId)) return;
    this.#mending.add(logId);
    const isBegun = this.#tasks.run(`mend log ${logId}`, (stop) => this.#mend(logId, stop).finally(() => this.#mending.delete(logId)));
    if (!isBegun) this.#mending.delete(logId);
  }

  async #mend(logId: number, stop: AbortSignal): Promise<void> {
    const { storage, disk, logger } = this.#options;
    const log = storage.logs().find((candidate) => candidate.logId === logId);
    if (log === undefined) return;
    if (log.state === 'damaged' && (await storage.retryLog(logId))) {
      logger.warn({ logId }, 'an entry log can be used again');
      this.#retryMs = retryMsMin;
      return;
    }
    const readable = await checkLog(disk, log, async () => undefined).catch((error: unknown) => {
      if (!(error instanceof DaybookError)) throw error;
      return undefined;
    });
    // What cannot be read now is not known to be damaged: only a log that is no use at all is made again from what can be.
    const isDamaged = readable === undefined ? log.state === 'damaged' : readable.indexDamage !== undefined || log.state === 'damaged';
    if (!isDamaged || (await this.#rebuild(log, readable, stop)) || log.state !== 'damaged') return;
    this.#retryLater();
  }

  #mendDamaged(): void {
    for (const { logId, state } of this.#options.storage.logs()) if (state === 'damaged') this.noteDamagedIndex(logId);
  }

  #retryLater(): void {
    if (this.#retryTimer !== undefined || this.#tasks.stop.aborted) return;
    this.#retryTimer = this.#options.clock.after(this.#retryMs, () => {
      this.#retryTimer = undefined;
      this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax);
      this.#mendDamaged();
    });
  }

  /** Joins what runs. */
  async close(): Promise<void> {
    this.stop();
    await this.#closing;
  }

  /** Nothing is begun any more, and what is under way is told to end. */
  stop(): void {
    this.#closing ??= this.#tasks.close();
    this.#timer?.cancel();
    this.#retryTimer?.cancel();
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#options.intervalMs === 0 || this.#tasks.stop.aborted) return;
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.scrub().catch((error: unknown) => this.#options.logger.error({ error }, 'the entry logs could not be checked'));
    });
  }

  async #pass(stop: AbortSignal): Promise<ScrubReport> {
    const { clock, storage, logger, badEntries } = this.#options;
    const startMs = clock.monoMs();
    const pass = new Pass(clock.wallMs());
    this.#bytesDone = 0;
    for (const { logId } of storage.logs()) {
      if (stop.aborted) throw bookieErrors.CLOSED();
      // As it is by now: it may have been sealed or removed meanwhile.
      const log = storage.logs().find((candidate) => candidate.logId === logId);
      if (log !== undefined) await this.#checkOne(log, pass, stop);
    }
    await badEntries.review((bad) => this.#isStillBad(bad));
    this.#last = pass.report(clock.monoMs() - startMs);
    const { badEntriesCount, rebuiltIndexes, failedLogs } = this.#last;
    const isClean = badEntriesCount + rebuiltIndexes.length + failedLogs.length === 0;
    logger[isClean ? 'info' : 'warn']({ ...this.#last }, 'all entry logs and indexes were checked');
    return this.#last;
  }

  async #checkOne(log: LogStatus, pass: Pass, stop: AbortSignal): Promise<void> {
    pass.logsCount++;
    let findings: LogFindings | undefined;
    try {
      findings = await checkLog(this.#options.disk, log, async (bytes) => {
        this.#bytesDone += bytes;
        await this.#rate.take(bytes, stop);
      });
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (!this.#isThere(log.logId)) return;
      pass.failed(log.logId, error.message);
    }
    pass.bytes += findings?.bytes ?? 0;
    if (!this.#isThere(log.logId)) return;
    if (findings?.isHeaderBad) await this.#mendHeader(log, pass);
    for (const bad of findings?.badRecords ?? []) await this.#judge({ ...bad, logId: log.logId }, pass);
    if (findings !== undefined && findings.indexDamage === undefined && log.state !== 'damaged') return;
    if (findings !== undefined)
      this.#options.logger.error({ logId: log.logId, damage: findings.indexDamage }, 'the index of an entry log is damaged');
    if (await this.#rebuild(log, findings, stop)) pass.rebuiltIndexes.push(log.logId);
    else if (findings !== undefined) pass.failed(log.logId, findings.indexDamage ?? 'it could not be used at start');
  }

  async #judge(bad: Omit<BadEntry, 'foundAtMs'>, pass: Pass): Promise<void> {
    if (await this.#isStillBad(bad)) {
      this.#options.badEntries.note(bad);
      pass.badEntriesCount++;
    } else {
      pass.harmlessCount++;
    }
  }

  async #isStillBad({ ledgerId, entryId }: Pick<BadEntry, 'ledgerId' | 'entryId'>): Promise<boolean> {
    const { storage } = this.#options;
    return storage.hasLedger(ledgerId) && !(await storage.isServed(ledgerId, entryId));
  }

  #isThere(logId: number): boolean {
    return this.#options.storage.logs().some((log) => log.logId === logId);
  }

  /** Its content is known: nothing is lost. */
  async #mendHeader({ logId, logPath, directory }: LogStatus, pass: Pass): Promise<void> {
    if (!this.#options.storage.isWritable(directory)) return;
    try {
      const file = await this.#options.disk.open(logPath);
      try {
        await file.writeAt(0, encodeLogHeader(logId));
        await syncOrFail(() => file.sync());
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (bookieErrors.FAILED.is(error)) this.#options.onFailedSync(directory, error);
      pass.failed(logId, error.message);
    }
  }

  /** False when it could not be rebuilt now: the log is still written, its directory fails, there is no room. */
  #rebuild(log: LogStatus, readable: LogFindings | undefined, stop: AbortSignal): Promise<boolean> {
    const { logId } = log;
    const running = this.#rebuilding.get(logId);
    if (running !== undefined) return running;
    const rebuilt = this.#rebuildNow(log, readable, stop).finally(() => this.#rebuilding.delete(logId));
    this.#rebuilding.set(logId, rebuilt);
    return rebuilt;
  }

  async #rebuildNow(log: LogStatus, readable: LogFindings | undefined, stop: AbortSignal): Promise<boolean> {
    const { disk, storage, logger } = this.#options;
    const { logId, directory, logBytes, state } = log;
    // What is written right now has its index in memory; it is sealed in time, and the damage found again.
    if (state === 'open' || state === 'abandoned' || !storage.isWritable(directory)) return false;
    try {
      const rebuilt = await rebuildIndex({
        disk,
        directory,
        logId,
        logBytes,
        known: readable?.runs ?? [],
        isKnownLedger: (ledgerId) => storage.hasLedger(ledgerId),
        afterRead: async () => {
          if (stop.aborted) throw bookieErrors.CLOSED();
        },
      });
      const { entriesCount, holeBytes } = rebuilt;
      if (!storage.replaceIndex(logId, rebuilt)) return false;
      logger.warn({ logId, entriesCount, holeBytes }, 'the index of an entry log was rebuilt from the log');
      this.#options.onRebuilt();
      return true;
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (bookieErrors.FAILED.is(error)) this.#options.onFailedSync(directory, error);
      if (!stop.aborted) logger.error({ logId, error }, 'the index of an entry log cannot be rebuilt now');
      return false;
    }
  }
}

/** What one pass has found so far. */
class Pass {
  readonly #startedAtMs: number;
  logsCount = 0;
  bytes = 0;
  badEntriesCount = 0;
  harmlessCount = 0;
  readonly rebuiltIndexes: number[] = [];
  readonly #failedLogs: { logId: number; why: string }[] = [];

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  failed(logId: number, why: string): void {
    this.#failedLogs.push({ logId, why });
  }

  report(durationMs: number): ScrubReport {
    const { logsCount, bytes, badEntriesCount, harmlessCount, rebuiltIndexes } = this;
    const found = { badEntriesCount, harmlessCount, rebuiltIndexes, failedLogs: this.#failedLogs };
    return { startedAtMs: this.#startedAtMs, durationMs, logsCount, bytes, ...found };
  }
}
