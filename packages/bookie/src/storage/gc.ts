import { type Clock, DaybookError, type Logger, TaskSet, type Timer } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LogExtent } from './checkpoint-format.js';
import type { CompactionOutcome, Compactor } from './compaction.js';
import type { DeletedLedgers } from './deleted-ledgers.js';
import type { OpenLog } from './entry-log.js';
import { type CompactionKind, type GarbageLog, type GarbageStatus, GarbageTally, garbageLogs } from './garbage-status.js';
import type { LedgerStorage } from './ledger-storage.js';

export interface GarbageSettings {
  waitMs: number;
  foreignWaitMs: number;
  rollIdleMs: number;
  minor: CompactionSettings;
  major: CompactionSettings;
}

/** Off when threshold or interval is 0. */
export interface CompactionSettings {
  threshold: number;
  intervalMs: number;
  durationMsMax: number;
}

export interface GarbageCollectorOptions {
  storage: LedgerStorage;
  compactor: Compactor;
  clock: Clock;
  settings: GarbageSettings;
  /** Undefined without a metadata store: then no ledger is ever deleted. */
  deletedLedgers: DeletedLedgers | undefined;
  /** Writes out and publishes what there is, so that no replay brings a deleted ledger back. */
  flush(): Promise<void>;
  onRun?(run: { kind: 'periodic' | 'forced'; durationMs: number; isComplete: boolean }): void;
  onFatal(error: unknown): void;
  logger: Logger;
}

/** Who holds compaction up: an operator, or a disk that is filling up. Each lets it go on for himself alone. */
export type Suspender = 'operator' | 'disk';

/** A major compaction does what a minor one does, and more. */
const kinds = ['major', 'minor'] as const;
/** How long the fence of a deleted ledger is remembered. */
const deletedFenceAgeMs = 7 * 24 * 3_600_000;
const hurryIntervalMs = 60_000;
/** An open log that is written now and then is sealed after so many times `rollIdleMs`. */
const rollAgeFactor = 6;

/**
 * Gives space back: deletes ledgers that are gone from metadata, removes entry logs without anything live, and has sparse ones rewritten. A round runs every
 * `waitMs`, and on demand; compaction goes on beside later rounds, as at its rates it may take long.
 */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;
  readonly #tasks: TaskSet;
  readonly #tally: GarbageTally;
  readonly #suspended = { minor: new Set<Suspender>(), major: new Set<Suspender>() };
  #timer: Timer | undefined;
  #round: Promise<void> | undefined;
  #compaction: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #forcedCount = 0;
  #suspendCalls = 0;
  #lastForeignMs: number;
  #lastHurryMs = Number.NEGATIVE_INFINITY;
  /** When the open logs were last seen to grow. */
  readonly #openSince = new Map<number, { logBytes: number; idleSinceMs: number; knownSinceMs: number }>();

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
    this.#tally = new GarbageTally(options.clock);
    this.#lastForeignMs = options.clock.monoMs();
    this.#tasks = new TaskSet((error) => options.onFatal(error));
  }

  start(): void {
    this.#schedule();
  }

  /** Ends what is under way, between two steps. */
  async close(): Promise<void> {
    this.stop();
    await this.#closing;
  }

  /** Nothing is begun any more, and what is under way is told to end. */
  stop(): void {
    this.#timer?.cancel();
    this.#closing ??= this.#tasks.close();
  }

  /**
   * A round now, with both compactions unless they are suspended or `compactions` says otherwise, whatever the intervals are; resolves when all of it is
   * over. Logs that are being written are sealed if something in them can go, however recently they were written.
   */
  async force(wanted: Partial<Record<CompactionKind, boolean>> = {}): Promise<void> {
    this.#forcedCount++;
    try {
      while (this.#round !== undefined) await this.#round;
      await this.#begin('forced');
      while (this.#compaction !== undefined) await this.#compaction;
      await this.#beginCompaction(this.#forcedCompaction(wanted));
    } finally {
      this.#forcedCount--;
    }
  }

  /** A disk is full: a round and a compaction now rather than at their time, unless that was tried a moment ago. */
  hurry(): void {
    const nowMs = this.#options.clock.monoMs();
    if (nowMs - this.#lastHurryMs < hurryIntervalMs || this.#forcedCount > 0) return;
    this.#lastHurryMs = nowMs;
    this.#tasks.run('garbage collection on a full disk', () => this.force());
  }

  suspend(kinds: readonly CompactionKind[], by: Suspender = 'operator'): void {
    this.#suspendCalls++;
    for (const kind of kinds) this.#suspended[kind].add(by);
  }

  resume(kinds: readonly CompactionKind[], by: Suspender = 'operator'): void {
    for (const kind of kinds) this.#suspended[kind].delete(by);
  }

  status(): GarbageStatus {
    return {
      ...this.#tally.status(),
      isForceGcRunning: this.#forcedCount > 0,
      isRunning: this.#round !== undefined,
      suspended: { minor: this.#isSuspended('minor'), major: this.#isSuspended('major') },
      failedLogs: this.#options.compactor.failures(),
    };
  }

  /** Each entry log with its live share, as of the last round. */
  logs(): GarbageLog[] {
    return garbageLogs(this.#options.storage);
  }

  #schedule(): void {
    const { clock, settings } = this.#options;
    this.#timer = clock.after(settings.waitMs, () => {
      this.#tasks.run('garbage collection', async () => {
        await this.#begin('periodic');
        if (this.#compaction === undefined) void this.#beginCompaction(this.#dueCompaction());
      });
      this.#schedule();
    });
  }

  /** Starts a round unless one runs; resolves when it is over. */
  #begin(kind: 'periodic' | 'forced'): Promise<void> {
    this.#round ??= this.#inTask((stop) => this.#run(kind, stop)).finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Starts a compaction, when there is one to start and none runs; resolves when it is over. */
  #beginCompaction(kind: CompactionKind | undefined): Promise<void> {
    return kind === undefined ? Promise.resolve() : this.#compacting((stop) => this.#compact(kind, stop));
  }

  /** Whoever writes the log for compaction: one at a time; resolves when this one, or the one that runs already, is over. */
  #compacting(task: (stop: AbortSignal) => Promise<void>): Promise<void> {
    this.#compaction ??= this.#inTask(task).finally(() => {
      this.#compaction = undefined;
    });
    return this.#compaction;
  }

  /** Resolves when the task is over, however it ends. */
  #inTask(task: (stop: AbortSignal) => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const guarded = (stop: AbortSignal) => this.#guarded('it stopped half-way', () => task(stop)).then(() => undefined);
      const isRun = this.#tasks.run('garbage collection', (stop) => guarded(stop).finally(resolve));
      if (!isRun) resolve();
    });
  }

  async #run(kind: 'periodic' | 'forced', stop: AbortSignal): Promise<void> {
    const { clock, onRun, logger } = this.#options;
    const startMs = clock.monoMs();
    const isComplete = await this.#guarded('ledgers could not be collected', () => this.#collectLedgers(stop));
    await this.#guarded('space could not be given back', () => this.#collectLogs(kind === 'forced', stop));
    const durationMs = clock.monoMs() - startMs;
    this.#tally.noteRound({ durationMs, isComplete });
    onRun?.({ kind, durationMs, isComplete });
    logger.debug({ kind, durationMs, isComplete }, 'garbage collection: a round is over');
  }

  /** False when the step failed and is tried again in the next round. Rejects when the bookie must stop. */
  async #guarded(text: string, step: () => Promise<void>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      if (!(error instanceof DaybookError) || bookieErrors.FAILED.is(error)) throw error;
      this.#tally.noteError(error);
      this.#options.logger.warn({ error }, `garbage collection: ${text}, the next round tries again`);
      return false;
    }
  }

  async #collectLedgers(stop: AbortSignal): Promise<void> {
    const { deletedLedgers, storage, settings, clock, flush, logger } = this.#options;
    storage.states.forgetDeleted(deletedFenceAgeMs);
    if (deletedLedgers === undefined) return;
    const before = deletedLedgers.deletedCount;
    try {
      await deletedLedgers.collectUnlisted(stop);
      if (settings.foreignWaitMs > 0 && clock.monoMs() - this.#lastForeignMs >= settings.foreignWaitMs) {
        await deletedLedgers.collectForeign(stop);
        this.#lastForeignMs = clock.monoMs();
      }
    } finally {
      const deleted = deletedLedgers.deletedCount - before;
      this.#tally.noteLedgers(deleted);
      if (deleted > 0) {
        logger.info({ deleted }, 'garbage collection: ledgers deleted');
        await flush();
      }
    }
  }

  /** Removes logs without anything live; seals those that would otherwise never be looked at. */
  async #collectLogs(isForced: boolean, stop: AbortSignal): Promise<void> {
    const { storage, compactor, logger } = this.#options;
    const { entryLogs: logs, usage } = storage;
    if (logs.current !== undefined && this.#isWorthSealing(logs.current, isForced)) await this.#seal(logs.current);
    // Nobody may be writing that one: in the place of a compaction.
    if (this.#compaction === undefined && logs.compacted !== undefined && this.#isWorthSealing(logs.compacted, isForced)) {
      const { compacted } = logs;
      await this.#compacting(() => this.#seal(compacted));
    }
    await usage.refresh({
      stop,
      skip: (logId) => compactor.hasGivenUp(logId),
      onError: (logId, error) => compactor.noteFailure(logId, error),
    });
    let removed = 0;
    for (const log of logs.sealed()) if (await this.#retireIfDead(log)) removed++;
    if (removed > 0) {
      await storage.publishLogs();
      logger.info({ removed }, 'garbage collection: entry logs without anything live removed');
    }
    await storage.map.tidy(() => logs.sealed(), stop);
  }

  #seal(log: OpenLog): Promise<void> {
    const { storage } = this.#options;
    return storage.publishLogs(async () => {
      if (storage.entryLogs.openLogs().includes(log)) await storage.entryLogs.seal(log.isCompacted);
    });
  }

  async #retireIfDead({ logId, logBytes }: LogExtent): Promise<boolean> {
    const { storage, compactor } = this.#options;
    const { entryLogs: logs, usage } = storage;
    if (usage.known(logId)?.liveBytes !== 0 || logs.hasHoles(logId)) return false;
    let isRetired = false;
    try {
      // Measured once more, so that it is true in the very turn in which the log goes (a ledger may have come back).
      await usage.measure(logId, ({ liveBytes }) => {
        isRetired = liveBytes === 0 && logs.isSealed(logId) && !logs.hasHoles(logId);
        if (isRetired) logs.retire(logId);
      });
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (logs.has(logId)) compactor.noteFailure(logId, error);
    }
    if (isRetired) this.#tally.noteRemovedLog(logBytes);
    return isRetired;
  }

  /** An open log whose dead share would be compacted if it were sealed, when nothing was written to it for a while, or it is written too slowly to fill up. */
  #isWorthSealing(log: OpenLog, isForced: boolean): boolean {
    const { storage, settings, clock } = this.#options;
    const nowMs = clock.monoMs();
    let seen = this.#openSince.get(log.logId);
    if (seen === undefined || seen.logBytes !== log.logBytes) {
      seen = { logBytes: log.logBytes, idleSinceMs: nowMs, knownSinceMs: seen?.knownSinceMs ?? nowMs };
      this.#openSince.set(log.logId, seen);
    }
    for (const logId of this.#openSince.keys()) if (!storage.entryLogs.openLogs().some((open) => open.logId === logId)) this.#openSince.delete(logId);
    const isDue = nowMs - seen.idleSinceMs >= settings.rollIdleMs || nowMs - seen.knownSinceMs >= settings.rollIdleMs * rollAgeFactor;
    const { bytes, liveBytes } = storage.usage.measureOpen(log);
    return (isForced || isDue) && bytes > 0 && (liveBytes === 0 || liveBytes < bytes * settings.major.threshold);
  }

  #dueCompaction(): CompactionKind | undefined {
    return kinds.find((kind) => {
      const { threshold, intervalMs } = this.#options.settings[kind];
      if (threshold <= 0 || intervalMs <= 0 || this.#isSuspended(kind)) return false;
      return this.#tally.sinceCompactionMs(kind) >= intervalMs;
    });
  }

  #forcedCompaction(wanted: Partial<Record<CompactionKind, boolean>>): CompactionKind | undefined {
    return kinds.find((kind) => this.#options.settings[kind].threshold > 0 && (wanted[kind] ?? !this.#isSuspended(kind)));
  }

  #isSuspended(kind: CompactionKind): boolean {
    return this.#suspended[kind].size > 0;
  }

  async #compact(kind: CompactionKind, stop: AbortSignal): Promise<void> {
    const { compactor, settings, logger } = this.#options;
    const { threshold, durationMsMax } = settings[kind];
    const callsBefore = this.#suspendCalls;
    this.#tally.beginCompaction(kind);
    let outcome: CompactionOutcome | undefined;
    // Asked for by name although suspended: only a suspension that comes later ends it.
    const isSuspended = (): boolean => this.#isSuspended(kind) && this.#suspendCalls !== callsBefore;
    await this.#guarded(`${kind} compaction stopped half-way`, async () => {
      outcome = await compactor.run({ threshold, durationMsMax, stop, isSuspended });
    });
    this.#tally.endCompaction(kind, outcome);
    if (outcome !== undefined && (outcome.logs > 0 || outcome.is !== 'done')) logger.info({ kind, ...outcome }, 'compaction is over');
  }
}
