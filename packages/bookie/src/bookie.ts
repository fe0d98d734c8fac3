import type { RegisteredBookie } from '@daybook/metadata';
import { type BookieId, type BookieService, bookieId as parseBookieId } from '@daybook/proto';
import type { Clock, Disk, DiskLock, Logger, Metrics, Random } from '@daybook/runtime';
import { AppendPath } from './append-path.js';
import { BookieMetrics } from './bookie-metrics.js';
import { type BookieState, StoredBookie } from './bookie-service.js';
import type { BookieConfig } from './config.js';
import { type CookieRecords, checkIdentity, type Identity } from './cookie.js';
import { bookieErrors } from './errors.js';
import { Fences } from './fences.js';
import { JournalDirectory } from './journal/journal-directory.js';
import { fileHeaderBytes } from './journal/journal-format.js';
import type { JournalMark } from './journal/journal-mark.js';
import { Journals } from './journal/journals.js';
import { replayJournal } from './journal/replay.js';
import { Lacs } from './lacs.js';
import { type BookieLimits, bookieLimits, checkLimits } from './limits.js';
import { replayInto } from './replay-into.js';
import { FlushLoop } from './storage/flush-loop.js';
import { LedgerStorage } from './storage/ledger-storage.js';

/** Presence in the cluster, as made by {@link BookieMetadata.register}. */
export interface Registration {
  setWritable(isWritable: boolean): Promise<void>;
  close(): Promise<void>;
}

/** What a bookie needs of the metadata store. */
export interface BookieMetadata {
  /** The cluster's id. */
  instanceId(): Promise<string>;
  cookies: CookieRecords;
  register(bookie: RegisteredBookie): Promise<Registration>;
}

export interface BookieOptions {
  config: BookieConfig;
  /** Instead of what the configuration says; for tests. */
  limits?: Partial<BookieLimits>;
  clock: Clock;
  random: Random;
  disk: Disk;
  logger: Logger;
  metrics?: Metrics;
  /** Without one the cookie is only compared between the directories. */
  metadata?: BookieMetadata;
  /** Directories below it may move together: see the cookie. */
  dataDirectory?: string;
  /** The bookie cannot go on (a failed write or sync); it answers only errors from now on. The process must exit with an error. Called at most once. */
  onFatal(error: unknown): void;
}

/** A storage node that runs. */
export interface Bookie extends AsyncDisposable {
  readonly service: BookieService;
  readonly identity: Identity;
  readonly state: BookieState;
  /** Tells the cluster where it is; after the servers listen. */
  register(at: { address: string; httpAddress: string }): Promise<void>;
  /** Writes everything to entry logs now, and publishes a checkpoint. */
  flush(): Promise<void>;
  /** Stops taking requests, answers what is under way, flushes. May be called more than once. */
  close(): Promise<void>;
}

/**
 * Opens the directories, proves the identity, replays the journal and flushes all of it (rule R18). When it resolves, the service answers; nobody is told
 * before {@link Bookie.register}. Rejects with an error that says what to do, and leaves nothing open.
 */
export async function openBookie(options: BookieOptions): Promise<Bookie> {
  const limits = { ...bookieLimits(options.config), ...options.limits };
  checkLimits(limits);
  const locks = await lockDirectories(options);
  try {
    const identity = await identify(options);
    const bookie = new RunningBookie(options, limits, identity, locks);
    await bookie.start();
    return bookie;
  } catch (error) {
    for (const lock of locks) await lock.release();
    throw error;
  }
}

async function lockDirectories({ disk, config }: BookieOptions): Promise<DiskLock[]> {
  const locks: DiskLock[] = [];
  try {
    for (const directory of new Set([...config.journalDirectories, ...config.ledgerDirectories])) {
      await disk.makeDirectory(directory);
      locks.push(await disk.lock(`${directory}/lock`));
    }
    return locks;
  } catch (error) {
    for (const lock of locks) await lock.release();
    throw error;
  }
}

async function identify({ config, disk, random, metadata, dataDirectory }: BookieOptions): Promise<Identity> {
  return checkIdentity({
    disk,
    random,
    journalDirectories: config.journalDirectories,
    ledgerDirectories: config.ledgerDirectories,
    bookieId: config.bookieId === undefined ? undefined : parseBookieId(config.bookieId),
    instanceId: await metadata?.instanceId(),
    records: metadata?.cookies,
    allowStorageExpansion: config.allowStorageExpansion,
    dataDirectory,
  });
}

class RunningBookie implements Bookie {
  readonly identity: Identity;
  readonly #options: BookieOptions;
  readonly #limits: BookieLimits;
  readonly #locks: readonly DiskLock[];
  readonly #logger: Logger;
  readonly #metrics: BookieMetrics | undefined;
  readonly #lacs = new Lacs();
  #state: BookieState = 'starting';
  #parts: Parts | undefined;
  #service: StoredBookie | undefined;
  #registration: Registration | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BookieOptions, limits: BookieLimits, identity: Identity, locks: readonly DiskLock[]) {
    this.#options = options;
    this.#limits = limits;
    this.#locks = locks;
    this.identity = identity;
    this.#logger = options.logger.child({ component: 'bookie', bookieId: identity.bookieId });
    this.#metrics = options.metrics === undefined ? undefined : new BookieMetrics(options.metrics);
  }

  get service(): BookieService {
    return this.#service as StoredBookie;
  }

  get state(): BookieState {
    return this.#state;
  }

  async start(): Promise<void> {
    const { disk, clock, config } = this.#options;
    const startMs = clock.monoMs();
    const storage = await this.#openStorage();
    try {
      const directories = config.journalDirectories.map((path) => new JournalDirectory(disk, path, this.#limits.journalSparesMax));
      const journals = await this.#recover(storage, directories);
      this.#parts = this.#makeParts(storage, journals);
    } catch (error) {
      await storage.close();
      throw error;
    }
    this.#service = this.#makeService(this.#parts);
    this.#observe(this.#parts);
    this.#state = 'running';
    const { ledgers, entryLogs } = storage.stats();
    this.#logger.info({ ledgers, entryLogs, durationMs: Math.round(clock.monoMs() - startMs) }, 'bookie is ready');
    if (!config.journalSyncData) this.#logger.warn({}, 'journalSyncData is off: acknowledged entries are lost when the power fails');
  }

  async register(at: { address: string; httpAddress: string }): Promise<void> {
    const { bookieId, incarnation } = this.identity;
    this.#registration = await this.#options.metadata?.register({ bookieId, incarnation, isWritable: true, ...at });
  }

  async flush(): Promise<void> {
    await this.#parts?.flushLoop.flush();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #openStorage(): Promise<LedgerStorage> {
    const { disk, config } = this.#options;
    return LedgerStorage.open({ disk, directories: config.ledgerDirectories, logger: this.#logger, ...this.#limits });
  }

  /** Replays the journals, flushes everything, and starts a new file in each; publishes their beginnings as the marks. */
  async #recover(storage: LedgerStorage, directories: readonly JournalDirectory[]): Promise<Journals> {
    const { disk, clock, config } = this.#options;
    const marks = storage.lastCheckpoint?.marks;
    if (marks !== undefined && marks.length !== directories.length) {
      const why = `it has marks for ${marks.length} journals, there are ${directories.length} journalDirectories`;
      throw bookieErrors.CHECKPOINT_CORRUPT(`${config.ledgerDirectories[0]}/lastMark`, why);
    }
    const replay = replayInto(storage, marks ?? directories.map(() => ({ fileId: 1, offset: fileHeaderBytes })), this.#lacs);
    const ends: (JournalMark | undefined)[] = [];
    for (const [i, directory] of directories.entries()) {
      await directory.load();
      ends.push(await replayJournal({ disk, directory, mark: marks?.[i], onRecord: replay.onRecord }));
    }
    await replay.finish();
    const journals = await Journals.open(directories, ends, {
      disk,
      clock,
      fileBytesMax: this.#limits.journalFileBytesMax,
      fileAgeMsMax: this.#limits.journalFileAgeMsMax,
      prefillBytes: this.#limits.journalPrefillBytes,
      commitBytesMax: this.#limits.journalCommitBytesMax,
      groupWaitMs: this.#limits.journalGroupWaitMs,
      syncEachWrite: config.journalSyncData,
      onFatal: (error) => this.#fail(error),
      onFull: async (error) => this.#logger.error({ error }, 'the disk of the journal is full'),
      onCommit: (commit) => {
        this.#metrics?.noteCommit(commit);
        this.#parts?.appends.resume();
      },
    });
    try {
      await storage.publish(journals.marks());
      await journals.releaseBelow(journals.marks());
      await storage.removeLeftovers();
      await this.#noteDisks();
    } catch (error) {
      await journals.close();
      throw error;
    }
    if (replay.records > 0) this.#logger.info({ records: replay.records, bytes: replay.bytes }, 'journal replayed');
    return journals;
  }

  #makeParts(storage: LedgerStorage, journals: Journals): Parts {
    const flushLoop = new FlushLoop({
      clock: this.#options.clock,
      storage,
      intervalMs: this.#limits.flushIntervalMs,
      marks: () => journals.marks(),
      onCheckpoint: async (marks) => {
        await journals.releaseBelow(marks);
        await this.#noteDisks();
      },
      onRoom: () => appends.resume(),
      isRoomNeeded: () => appends.needsRoom,
      onFatal: (error) => this.#fail(error),
      onFlush: (flush) => this.#metrics?.noteFlush(flush),
      logger: this.#logger,
    });
    const onChange = (): void => flushLoop.noteChange();
    const appends = new AppendPath({
      storage,
      lacs: this.#lacs,
      journals,
      batchBytesMax: this.#limits.batchBytesMax,
      journalQueueBytesMax: this.#limits.journalQueueBytesMax,
      heldBytesMax: this.#limits.heldAppendsBytesMax,
      onChange,
      onRoomNeeded: () => flushLoop.startIfNeeded(),
    });
    const fences = new Fences({ states: storage.states, journals, onChange });
    return { storage, journals, flushLoop, appends, fences };
  }

  #makeService({ storage, appends, fences }: Parts): StoredBookie {
    return new StoredBookie({
      bookieId: this.identity.bookieId as BookieId,
      storage,
      appends,
      fences,
      lacs: this.#lacs,
      disk: this.#options.disk,
      clock: this.#options.clock,
      ledgerDirectories: this.#options.config.ledgerDirectories,
      readReplyBytesMax: this.#limits.readReplyBytesMax,
      state: () => this.#state,
      metrics: this.#metrics,
      logger: this.#logger,
    });
  }

  #observe({ storage, journals, appends }: Parts): void {
    this.#metrics?.observe(() => ({
      storage: storage.stats(),
      journalQueueBytes: journals.queuedBytes,
      heldAppendsBytes: appends.heldBytes,
      isWritable: this.#state === 'running',
      isJournalSynced: this.#options.config.journalSyncData,
    }));
  }

  async #noteDisks(): Promise<void> {
    if (this.#metrics === undefined) return;
    const { disk, config } = this.#options;
    for (const directory of new Set([...config.journalDirectories, ...config.ledgerDirectories])) {
      this.#metrics.noteDisk(directory, await disk.usage(directory));
    }
  }

  #fail(error: unknown): void {
    if (this.#state === 'failed' || this.#state === 'closed') return;
    this.#state = 'failed';
    this.#logger.error({ error }, 'the bookie cannot go on: what it wrote last may not be on disk. It must be started again');
    this.#parts?.flushLoop.stop();
    this.#parts?.appends.refuseHeld('IO_ERROR');
    this.#lacs.wakeAll();
    this.#options.onFatal(bookieErrors.FAILED(error instanceof Error ? error.message : String(error), { cause: error }));
  }

  async #close(): Promise<void> {
    const parts = this.#parts;
    await this.#registration?.close();
    if (this.#state === 'running') this.#state = 'closing';
    if (parts !== undefined) {
      parts.appends.refuseHeld('UNAVAILABLE');
      this.#lacs.wakeAll();
      // The journal first, so that the last checkpoint covers all of it.
      await parts.journals.close();
      if (this.#state === 'closing') await parts.flushLoop.close();
      await parts.storage.close();
    }
    for (const lock of this.#locks) await lock.release();
    if (this.#state === 'closing') this.#state = 'closed';
  }
}

interface Parts {
  storage: LedgerStorage;
  journals: Journals;
  flushLoop: FlushLoop;
  appends: AppendPath;
  fences: Fences;
}
