import { DaybookError } from '@daybook/runtime';
import type { OpenLog } from './entry-log.js';
import { logHeaderBytes } from './entry-log-format.js';
import type { EntryLogs } from './entry-logs.js';
import { forEachLedgerRow } from './index-table.js';
import type { LedgerCache } from './ledger-cache.js';
import { ledgerRowOf } from './open-index.js';

/** How much of an entry log is of ledgers that exist. */
export interface LogUse {
  logId: number;
  /** Of its records, all together. */
  bytes: number;
  liveBytes: number;
  liveEntries: number;
}

export interface LogUsageOptions {
  logs: EntryLogs;
  cache: LedgerCache;
  hasLedger(ledgerId: number): boolean;
}

/** The share of a log that is still needed, 0 to 1. */
export function liveShare({ bytes, liveBytes }: LogUse): number {
  return bytes === 0 ? 0 : liveBytes / bytes;
}

/**
 * How much of each sealed log is live, from its ledger table. Remembered until a ledger that is in it is deleted; whoever acts on it measures again in the
 * same turn, as a ledger can come back (repair copies it to this bookie again), and what the log holds of it counts again then.
 */
export class LogUsage {
  readonly #options: LogUsageOptions;
  readonly #known = new Map<number, LogUse>();
  readonly #open = new Map<number, LogUse>();

  constructor(options: LogUsageOptions) {
    this.#options = options;
  }

  /** A ledger in the log was deleted. */
  noteChange(logId: number): void {
    this.#known.delete(logId);
  }

  /** As measured last; undefined when that was not yet, or is not true any more. */
  known(logId: number): LogUse | undefined {
    return this.#known.get(logId) ?? this.#open.get(logId);
  }

  /** Measures the logs that need it, and forgets those that are gone. One whose index cannot be read is left out; `onError` is told. */
  async refresh(options: { stop: AbortSignal; skip(logId: number): boolean; onError(logId: number, error: DaybookError): void }): Promise<void> {
    const { logs } = this.#options;
    for (const logId of this.#known.keys()) if (!logs.has(logId)) this.#known.delete(logId);
    for (const logId of this.#open.keys()) if (!logs.openLogs().some((log) => log.logId === logId)) this.#open.delete(logId);
    for (const { logId } of logs.sealed()) {
      if (options.stop.aborted) return;
      if (this.#known.has(logId) || options.skip(logId) || !logs.has(logId)) continue;
      try {
        await this.measure(logId);
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        if (logs.has(logId)) options.onError(logId, error);
      }
    }
  }

  /** Reads the ledger table. `use` is called in the turn in which the result is true; later a ledger may have come or gone. */
  async measure(logId: number, use?: (result: LogUse) => void): Promise<LogUse> {
    const { logs, cache, hasLedger } = this.#options;
    const log = logs.sealedIndex(logId);
    const table = await cache.ledgerTable(log);
    const result: LogUse = { logId, bytes: Math.max(0, log.logBytes - logHeaderBytes), liveBytes: 0, liveEntries: 0 };
    forEachLedgerRow(table, (ledgerId, _first, _last, logBytes, entriesCount) => {
      if (!hasLedger(ledgerId)) return;
      result.liveBytes += logBytes;
      result.liveEntries += entriesCount;
    });
    this.#known.set(logId, result);
    use?.(result);
    return result;
  }

  /** Of a log that is still written. */
  measureOpen(log: OpenLog): LogUse {
    const use: LogUse = { logId: log.logId, bytes: Math.max(0, log.logBytes - logHeaderBytes), liveBytes: 0, liveEntries: 0 };
    for (const ledgerId of log.index.ledgerIds()) {
      if (!this.#options.hasLedger(ledgerId)) continue;
      const { logBytes, entriesCount } = ledgerRowOf(ledgerId, log.index.runsOf(ledgerId));
      use.liveBytes += logBytes;
      use.liveEntries += entriesCount;
    }
    this.#open.set(log.logId, use);
    return use;
  }
}
