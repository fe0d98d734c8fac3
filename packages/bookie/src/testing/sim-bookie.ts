import type { BookieCode, BookieService, EntryId, LedgerId } from '@daybook/proto';
import { type Metrics, silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk, SimRandom } from '@daybook/runtime/sim';
import { openBookie } from '../bookie.js';
import type { Bookie, BookieMetadata } from '../bookie-api.js';
import { type BookieConfig, type BookieConfigInput, bookieConfigSchema } from '../config.js';
import type { BookieLimits } from '../limits.js';
import type { BadEntry } from '../storage/bad-entries.js';
import { type BatchOptions, makeBatch } from './batches.js';
import { type DirectoryFault, FaultyDisk } from './faulty-disk.js';

/** Small bounds, so that a short test rolls files, fills caches and seals logs. */
export const smallLimits: Partial<BookieLimits> = {
  batchBytesMax: 8192,
  journalFileBytesMax: 32 * 1024,
  journalPrefillBytes: 4096,
  journalCommitBytesMax: 8192,
  journalQueueBytesMax: 64 * 1024,
  journalSparesMax: 2,
  writeCacheBytesMax: 32 * 1024,
  heldAppendsBytesMax: 32 * 1024,
  readCacheBytesMax: 16 * 1024,
  readAheadBytes: 2048,
  ledgerCacheBytesMax: 16 * 1024,
  logBytesMax: 24 * 1024,
  logSyncStepBytes: 6 * 1024,
  openIndexBytesMax: 8192,
  openFilesMax: 4,
  flushIntervalMs: 500,
  ledgerMapBytesMax: 1 << 20,
  gcLedgerAgeMsMin: 10,
  gcRecoveryQuietMs: 10_000,
  limboSettleMs: 10,
  compactionKeepFreeBytes: 4096,
  diskReserveBytes: 8192,
};

export interface SimBookieOptions {
  seed?: number | string;
  limits?: Partial<BookieLimits>;
  config?: Partial<BookieConfigInput>;
  /** Asked at each start. */
  metadata?: (sim: SimBookie) => BookieMetadata;
  metrics?: Metrics;
  onBadEntry?: (bad: BadEntry) => void;
}

/** One bookie on a simulated disk, over any number of runs. */
export class SimBookie {
  readonly queue: EventQueue;
  disk: SimDisk;
  clock: SimClock;
  bookie: Bookie | undefined;
  fatal: unknown;
  /** Troubles of single directories, over all runs. */
  readonly faults = new Map<string, DirectoryFault>();
  /** Those of the next start. */
  limits: Partial<BookieLimits>;
  #runs = 0;
  readonly #options: SimBookieOptions;
  readonly #config: BookieConfig;

  constructor(options: SimBookieOptions = {}) {
    this.#options = options;
    this.#config = bookieConfigSchema.parse({ journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'], ...options.config });
    this.limits = options.limits ?? {};
    this.queue = new EventQueue({ seed: options.seed ?? 1 });
    this.clock = new SimClock(this.queue, { name: 'bookie' });
    this.disk = new SimDisk({ clock: this.clock });
  }

  get service(): BookieService {
    return (this.bookie as Bookie).service;
  }

  /** Begins a start; the promise never ends when the disk dies meanwhile. */
  begin(): Promise<Bookie> {
    this.#runs++;
    this.clock = new SimClock(this.queue, { name: `bookie run ${this.#runs}` });
    this.disk = this.disk.boot(this.clock);
    const { clock, disk } = this;
    disk.onCrash = () => clock.stop();
    this.fatal = undefined;
    const { metadata, metrics, onBadEntry } = this.#options;
    return openBookie({
      config: this.#config,
      limits: { ...smallLimits, ...this.limits },
      clock,
      disk: new FaultyDisk(disk, this.faults),
      random: new SimRandom(`${this.queue.seed} ${this.#runs}`),
      logger: silentLogger,
      dataDirectory: '/data',
      ...(metadata && { metadata: metadata(this) }),
      ...(metrics && { metrics }),
      ...(onBadEntry && { onBadEntry }),
      onFatal: (error) => {
        this.fatal = error;
      },
    });
  }

  /** The disk of the stopped bookie, for those who look at it or damage it. */
  stoppedDisk(): SimDisk {
    this.disk = this.disk.boot(new SimClock(this.queue, { name: 'workshop' }));
    return this.disk;
  }

  async start(): Promise<Bookie> {
    this.bookie = await this.queue.complete(this.begin());
    return this.bookie;
  }

  /** Power cut, then a new start. */
  async restart(keep: 'random' | 'all' | 'none' = 'random'): Promise<Bookie> {
    if (!this.disk.isDead) this.disk.crash({ keep });
    return this.start();
  }

  /** Runs until the promise is settled, or the disk is dead: then undefined. */
  async settle<T>(promise: Promise<T>): Promise<T | undefined> {
    let outcome: { value: T } | { error: unknown } | undefined;
    promise.then(
      (value) => {
        outcome = { value };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    await this.queue.run({ until: () => outcome !== undefined || this.disk.isDead, untilMs: this.queue.nowMs + 3_600_000 });
    if (outcome === undefined) return undefined;
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  async append(options: BatchOptions): Promise<BookieCode> {
    return this.queue.complete(appended(this.service, options));
  }

  async read(ledger: number, entryIds: readonly number[], bytesMax = 1 << 20) {
    return this.queue.complete(this.service.read({ ledgerId: ledger as LedgerId, entryIds: entryIds as EntryId[], bytesMax }));
  }

  async readLac(ledger: number) {
    return this.queue.complete(this.service.readLac(ledger as LedgerId));
  }

  async fence(ledger: number, masterKey: Uint8Array) {
    return this.queue.complete(this.service.fence({ ledgerId: ledger as LedgerId, masterKey }));
  }

  async list(ledger: number) {
    return this.queue.complete(this.service.listEntries(ledger as LedgerId));
  }

  /** A round of garbage collection, and the compaction after it. */
  async collect(wanted: { minor?: boolean; major?: boolean } = {}): Promise<void> {
    await this.queue.complete((this.bookie as Bookie).garbageCollector.force(wanted));
  }

  /** Names of the files in the ledger directory that end so. */
  async ledgerFiles(suffix: string): Promise<string[]> {
    return (await this.queue.complete(this.disk.list('/data/ledgers'))).filter((name) => name.endsWith(suffix));
  }

  async flush(): Promise<void> {
    await this.queue.complete((this.bookie as Bookie).flush());
  }

  async close(): Promise<void> {
    await this.queue.complete((this.bookie as Bookie).close());
    this.disk.kill();
  }
}

export function appended(service: BookieService, options: BatchOptions): Promise<BookieCode> {
  return new Promise((resolve) => service.append(makeBatch(options), resolve));
}
