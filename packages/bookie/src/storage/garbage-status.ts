import type { Clock } from '@daybook/runtime';
import type { CompactionFailure, CompactionOutcome } from './compaction.js';
import type { LedgerStorage } from './ledger-storage.js';
import { liveShare } from './log-usage.js';

export type CompactionKind = 'minor' | 'major';

/** What garbage collection is at and did, since the start of the process; times are milliseconds since the epoch, 0 for never. */
export interface GarbageStatus {
  isForceGcRunning: boolean;
  isRunning: boolean;
  lastRunTimeMs: number;
  lastRunDurationMs: number;
  /** False when the last round could not find out which ledgers are gone. */
  isLastRunComplete: boolean;
  lastError: string | undefined;
  runs: number;
  deletedLedgers: number;
  removedLogs: number;
  reclaimedBytes: { deletion: number; compaction: number };
  compacting: CompactionKind | undefined;
  compactions: Record<CompactionKind, CompactionTally>;
  suspended: Record<CompactionKind, boolean>;
  /** Logs that cannot be compacted, and stay as they are. */
  failedLogs: CompactionFailure[];
}

export interface CompactionTally {
  count: number;
  lastTimeMs: number;
  lastOutcome: CompactionOutcome | undefined;
  logs: number;
  entries: number;
  copiedBytes: number;
}

/** An entry log and how much of it is needed. */
export interface GarbageLog {
  logId: number;
  state: 'open' | 'sealed' | 'damaged';
  isCompacted: boolean;
  bytes: number;
  /** With parts of which nobody can say what they were: it stays, whatever else is in it. */
  hasHoles: boolean;
  /** Undefined until it was measured. */
  liveBytes: number | undefined;
  liveEntries: number | undefined;
  liveShare: number | undefined;
}

type Counted = Omit<GarbageStatus, 'isForceGcRunning' | 'isRunning' | 'suspended' | 'failedLogs'>;

/** Counts what garbage collection does. */
export class GarbageTally {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #lastCompactionMs: Record<CompactionKind, number>;
  readonly #counted: Counted;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monoMs();
    this.#lastCompactionMs = { minor: this.#startMs, major: this.#startMs };
    const none = (): CompactionTally => ({ count: 0, lastTimeMs: 0, lastOutcome: undefined, logs: 0, entries: 0, copiedBytes: 0 });
    this.#counted = {
      lastRunTimeMs: 0,
      lastRunDurationMs: 0,
      isLastRunComplete: true,
      lastError: undefined,
      runs: 0,
      deletedLedgers: 0,
      removedLogs: 0,
      reclaimedBytes: { deletion: 0, compaction: 0 },
      compacting: undefined,
      compactions: { minor: none(), major: none() },
    };
  }

  status(): Counted {
    return structuredClone(this.#counted);
  }

  noteLedgers(deleted: number): void {
    this.#counted.deletedLedgers += deleted;
  }

  noteRemovedLog(bytes: number): void {
    this.#counted.removedLogs++;
    this.#counted.reclaimedBytes.deletion += bytes;
  }

  noteError(error: Error): void {
    this.#counted.lastError = error.message;
  }

  noteRound({ durationMs, isComplete }: { durationMs: number; isComplete: boolean }): void {
    this.#counted.runs++;
    this.#counted.lastRunTimeMs = this.#clock.wallMs();
    this.#counted.lastRunDurationMs = durationMs;
    this.#counted.isLastRunComplete = isComplete;
  }

  sinceCompactionMs(kind: CompactionKind): number {
    return this.#clock.monoMs() - this.#lastCompactionMs[kind];
  }

  beginCompaction(kind: CompactionKind): void {
    this.#counted.compacting = kind;
  }

  /** A major one does the work of a minor one as well. One that could not do its work is tried again in the next round. */
  endCompaction(kind: CompactionKind, outcome: CompactionOutcome | undefined): void {
    const tally = this.#counted.compactions[kind];
    this.#counted.compacting = undefined;
    if (outcome?.is === 'done' || outcome?.is === 'out of time') {
      this.#lastCompactionMs[kind] = this.#clock.monoMs();
      if (kind === 'major') this.#lastCompactionMs.minor = this.#lastCompactionMs.major;
    }
    tally.count++;
    tally.lastTimeMs = this.#clock.wallMs();
    tally.lastOutcome = outcome;
    if (outcome === undefined) return;
    tally.logs += outcome.logs;
    tally.entries += outcome.entries;
    tally.copiedBytes += outcome.copiedBytes;
    this.#counted.reclaimedBytes.compaction += outcome.reclaimedBytes;
  }
}

export function garbageLogs({ entryLogs: logs, usage }: LedgerStorage): GarbageLog[] {
  const open = new Set(logs.openLogs().map(({ logId }) => logId));
  return logs.extents().map(({ logId, isCompacted, logBytes }) => {
    const use = usage.known(logId);
    const state = open.has(logId) ? 'open' : logs.isSealed(logId) ? 'sealed' : 'damaged';
    return {
      logId,
      state,
      isCompacted,
      hasHoles: logs.hasHoles(logId),
      bytes: logBytes,
      liveBytes: use?.liveBytes,
      liveEntries: use?.liveEntries,
      liveShare: use && use.bytes > 0 ? liveShare(use) : undefined,
    };
  });
}
