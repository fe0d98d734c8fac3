import type { Counter, Histogram, Metrics } from '@daybook/runtime';
import type { GarbageLog, GarbageStatus } from './storage/garbage-status.js';

interface GarbageSource {
  status(): GarbageStatus;
  logs(): GarbageLog[];
}

/** Counters and gauges of garbage collection and compaction. */
export class GarbageMetrics {
  readonly #metrics: Metrics;
  readonly #roundSeconds: Histogram;
  readonly #failedRounds: Counter;
  readonly #copiedEntries: Counter;
  readonly #copiedBytes: Counter;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#roundSeconds = metrics.histogram({ name: 'daybook_bookie_gc_seconds', help: 'A round of garbage collection, without compaction' }).with({});
    const counter = (name: string, help: string): Counter => metrics.counter({ name: `daybook_bookie_${name}`, help }).with({});
    this.#failedRounds = counter('gc_failed_rounds_total', 'Rounds that could not find out which ledgers are gone');
    this.#copiedEntries = counter('compaction_entries_total', 'Entries copied by compaction');
    this.#copiedBytes = counter('compaction_bytes_total', 'Bytes copied by compaction');
  }

  noteRun({ durationMs, isComplete }: { durationMs: number; isComplete: boolean }): void {
    this.#roundSeconds.observe(durationMs / 1000);
    if (!isComplete) this.#failedRounds.add();
  }

  noteCopied({ entries, bytes }: { entries: number; bytes: number }): void {
    this.#copiedEntries.add(entries);
    this.#copiedBytes.add(bytes);
  }

  /** Sets up what is computed at each scrape. */
  observe(source: GarbageSource): void {
    const gauge = (name: string, help: string, value: (now: GarbageStatus) => number): void => {
      this.#metrics.computedGauge({ name: `daybook_bookie_${name}`, help, collect: (set) => set(value(source.status()), {}) });
    };
    gauge('gc_deleted_ledgers', 'Ledgers deleted since the start', (now) => now.deletedLedgers);
    gauge('gc_removed_entry_logs', 'Entry logs removed since the start as nothing in them was live', (now) => now.removedLogs);
    gauge('gc_forced', '1 while a garbage collection that was asked for runs', (now) => (now.isForceGcRunning ? 1 : 0));
    gauge('compaction_running', '1 while entry logs are compacted', (now) => (now.compacting === undefined ? 0 : 1));
    gauge('compaction_failed_entry_logs', 'Entry logs that cannot be compacted: damaged, or tried too often', (now) => now.failedLogs.length);
    this.#metrics.computedGauge({
      name: 'daybook_bookie_reclaimed_bytes',
      help: 'Bytes of entry logs given back since the start, by removal of dead logs and by compaction',
      labels: ['by'],
      collect: (set) => {
        const { reclaimedBytes } = source.status();
        set(reclaimedBytes.deletion, { by: 'deletion' });
        set(reclaimedBytes.compaction, { by: 'compaction' });
      },
    });
    this.#metrics.computedGauge({
      name: 'daybook_bookie_compactions',
      help: 'Compactions since the start',
      labels: ['kind'],
      collect: (set) => {
        const { compactions } = source.status();
        for (const kind of ['minor', 'major'] as const) set(compactions[kind].count, { kind });
      },
    });
    this.#observeLogs(source);
  }

  /** How full of live data the logs are: their number by tenths, as operators look at it before they choose a threshold. */
  #observeLogs(source: GarbageSource): void {
    this.#metrics.computedGauge({
      name: 'daybook_bookie_entry_log_live_bytes',
      help: 'Bytes of entry logs that are of ledgers that exist, as of the last round of garbage collection',
      collect: (set) =>
        set(
          source.logs().reduce((sum, log) => sum + (log.liveBytes ?? log.bytes), 0),
          {},
        ),
    });
    this.#metrics.computedGauge({
      name: 'daybook_bookie_entry_logs_by_live_share',
      help: 'Entry logs by the share of them that is live: "0.2" counts those from 0.2 to below 0.3',
      labels: ['share'],
      collect: (set) => {
        const counts = new Array<number>(11).fill(0);
        for (const { liveShare = -1 } of source.logs()) {
          const tenth = Math.floor(liveShare * 10);
          if (tenth >= 0) counts[tenth] = (counts[tenth] as number) + 1;
        }
        for (const [tenth, count] of counts.entries()) set(count, { share: (tenth / 10).toFixed(1) });
      },
    });
  }
}
