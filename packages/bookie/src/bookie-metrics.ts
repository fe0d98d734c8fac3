import type { BookieCode } from '@daybook/proto';
import { type Counter, type Histogram, type MetricFamily, type Metrics, sizeBytesBuckets } from '@daybook/runtime';
import type { JournalStatus } from './journal/journals.js';
import type { DirectoryStatus } from './storage/disk-monitor.js';
import type { StorageStats } from './storage/ledger-storage.js';
import type { ScrubStatus } from './storage/scrubber.js';

/** What is asked of the bookie when the metrics page is scraped. */
export interface BookieGauges {
  storage: StorageStats;
  journalQueueBytes: number;
  heldAppendsBytes: number;
  isWritable: boolean;
  isJournalSynced: boolean;
  disks: readonly DirectoryStatus[];
  journals: readonly JournalStatus[];
  isLimbo: boolean;
  takesRecovery: boolean;
  badEntriesListed: number;
  badEntriesFound: number;
  scrub: ScrubStatus | undefined;
}

/** Counters, histograms and gauges of one bookie. */
export class BookieMetrics {
  readonly #appendSeconds: Histogram;
  readonly #appendEntries: Counter;
  readonly #appendBytes: Counter;
  readonly #appendFailures: MetricFamily<Counter, 'code'>;
  readonly #readSeconds: Histogram;
  readonly #readEntries: Counter;
  readonly #readBytes: Counter;
  readonly #readFailures: MetricFamily<Counter, 'code'>;
  readonly #journalSeconds: Histogram;
  readonly #journalBytes: Histogram;
  readonly #flushSeconds: Histogram;
  readonly #flushedBytes: Counter;
  readonly #metrics: Metrics;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    const counter = (name: string, help: string): Counter => metrics.counter({ name: `daybook_bookie_${name}`, help }).with({});
    const seconds = (name: string, help: string): Histogram => metrics.histogram({ name: `daybook_bookie_${name}`, help }).with({});
    this.#appendSeconds = seconds('append_seconds', 'From a batch of entries handed over to its acknowledgement');
    this.#appendEntries = counter('append_entries_total', 'Entries acknowledged');
    this.#appendBytes = counter('append_bytes_total', 'Bytes of acknowledged batches');
    this.#appendFailures = metrics.counter({ name: 'daybook_bookie_append_failures_total', help: 'Batches refused or failed', labels: ['code'] });
    this.#readSeconds = seconds('read_seconds', 'Time to answer a read');
    this.#readEntries = counter('read_entries_total', 'Entries read');
    this.#readBytes = counter('read_bytes_total', 'Bytes of entries read');
    this.#readFailures = metrics.counter({ name: 'daybook_bookie_read_failures_total', help: 'Reads without an entry', labels: ['code'] });
    this.#journalSeconds = seconds('journal_commit_seconds', 'One durable write of the journal');
    this.#journalBytes = metrics
      .histogram({ name: 'daybook_bookie_journal_commit_bytes', help: 'Bytes of one write of the journal', buckets: sizeBytesBuckets })
      .with({});
    this.#flushSeconds = seconds('flush_seconds', 'One flush of the write cache, its checkpoint included');
    this.#flushedBytes = counter('flushed_bytes_total', 'Bytes of the write cache written to entry logs');
  }

  /** Sets up what is computed at each scrape. */
  observe(gauges: () => BookieGauges): void {
    const gauge = (name: string, help: string, value: (now: BookieGauges) => number): void => {
      this.#metrics.computedGauge({ name: `daybook_bookie_${name}`, help, collect: (set) => set(value(gauges()), {}) });
    };
    gauge('journal_queue_bytes', 'Bytes waiting for the journal', (now) => now.journalQueueBytes);
    gauge('journal_sync', '1 when entries are synced before they are acknowledged', (now) => (now.isJournalSynced ? 1 : 0));
    gauge('held_appends_bytes', 'Bytes of batches that wait for room', (now) => now.heldAppendsBytes);
    gauge('writable', '1 when the bookie takes entries', (now) => (now.isWritable ? 1 : 0));
    gauge('ledgers', 'Ledgers with something on this bookie', (now) => now.storage.ledgers);
    gauge('write_cache_bytes', 'Bytes in the write cache', (now) => now.storage.writeCacheBytes);
    gauge('write_cache_entries', 'Entries in the write cache', (now) => now.storage.writeCacheEntries);
    gauge('read_cache_bytes', 'Bytes in the read cache', (now) => now.storage.readCacheBytes);
    gauge('read_cache_hits', 'Entries found in the read cache since the start', (now) => now.storage.readCacheHits);
    gauge('read_cache_misses', 'Entries not found in the read cache since the start', (now) => now.storage.readCacheMisses);
    gauge('ledger_cache_bytes', 'Bytes in the ledger cache', (now) => now.storage.ledgerCacheBytes);
    gauge('ledger_cache_hits', 'Index blocks found in the ledger cache since the start', (now) => now.storage.ledgerCacheHits);
    gauge('ledger_cache_misses', 'Index blocks read since the start', (now) => now.storage.ledgerCacheMisses);
    gauge('bad_entries', 'Entries that are damaged on this disk and were not written again yet (at most 1000)', (now) => now.badEntriesListed);
    gauge('bad_entries_found', 'Damaged entries found since the start', (now) => now.badEntriesFound);
    gauge('scrub_running', '1 while the entry logs are checked', (now) => (now.scrub?.isRunning ? 1 : 0));
    gauge('scrub_bytes_done', 'Checked by the pass that runs, or ran last', (now) => now.scrub?.bytesDone ?? 0);
    gauge('scrub_last_seconds', 'How long the last complete check of the entry logs took', (now) => (now.scrub?.last?.durationMs ?? 0) / 1000);
    gauge('limbo', '1 when its journal was repaired or its disks are new: nothing it lacks counts as absent', (now) => (now.isLimbo ? 1 : 0));
    gauge('takes_recovery', '1 when entries are taken that a recovery copies here', (now) => (now.takesRecovery ? 1 : 0));
    const perDirectory = (name: string, help: string, values: () => Iterable<readonly [directory: string, value: number]>): void => {
      this.#metrics.computedGauge({
        name: `daybook_bookie_${name}`,
        help,
        labels: ['directory'],
        collect: (set) => {
          for (const [directory, value] of values()) set(value, { directory });
        },
      });
    };
    const perJournal = (name: string, help: string, value: (journal: JournalStatus) => number): void =>
      perDirectory(`journal_${name}`, help, () => gauges().journals.map((journal) => [journal.directory, value(journal)]));
    perJournal('files', 'Journal files that a start would replay, or part of', ({ filesCount }) => filesCount);
    perJournal('spare_files', 'Used-up journal files that wait to be written over', ({ sparesCount }) => sparesCount);
    const perDisk = (name: string, help: string, value: (disk: DirectoryStatus) => number): void =>
      perDirectory(`disk_${name}`, help, () => gauges().disks.map((disk) => [disk.path, value(disk)]));
    perDisk('free_bytes', 'Free, as of the last check', ({ freeBytes }) => freeBytes);
    perDisk('total_bytes', 'Size of the disk', ({ totalBytes }) => totalBytes);
    perDisk('reserve_bytes', 'Kept back for fences, checkpoints and garbage collection', ({ reserveBytes }) => reserveBytes);
    perDisk('full', '1 when nothing new is taken in because of this disk', ({ level }) => (level === 'full' ? 1 : 0));
    perDisk('failed', '1 when the directory was taken out because of I/O errors', ({ level }) => (level === 'failed' ? 1 : 0));
    gauge('entry_logs', 'Entry logs', (now) => now.storage.entryLogs);
    gauge('entry_log_bytes', 'Bytes of entry logs', (now) => now.storage.entryLogBytes);
  }

  noteAppend(append: { code: BookieCode; durationMs: number; entries: number; bytes: number }): void {
    if (append.code !== 'OK') {
      this.#appendFailures.with({ code: append.code }).add();
      return;
    }
    this.#appendSeconds.observe(append.durationMs / 1000);
    this.#appendEntries.add(append.entries);
    this.#appendBytes.add(append.bytes);
  }

  noteRead(read: { code: BookieCode; durationMs: number; entries: readonly Buffer[] }): void {
    if (read.code !== 'OK') {
      this.#readFailures.with({ code: read.code }).add();
      return;
    }
    this.#readSeconds.observe(read.durationMs / 1000);
    this.#readEntries.add(read.entries.length);
    let bytes = 0;
    for (const entry of read.entries) bytes += entry.length;
    this.#readBytes.add(bytes);
  }

  noteCommit(commit: { bytes: number; durationMs: number }): void {
    this.#journalSeconds.observe(commit.durationMs / 1000);
    this.#journalBytes.observe(commit.bytes);
  }

  noteFlush(flush: { bytes: number; durationMs: number }): void {
    this.#flushSeconds.observe(flush.durationMs / 1000);
    this.#flushedBytes.add(flush.bytes);
  }
}
