import type { BookieId, BookieService } from '@daybook/proto';
import { diskErrors, type Logger } from '@daybook/runtime';
import { AppendPath } from './append-path.js';
import type { Bookie, BookieOptions, BookieStatus } from './bookie-api.js';
import { BookieMetrics } from './bookie-metrics.js';
import { createMonitor, createReadOnlyMode, journalOptions, openStorage, type Parts, type PartsContext } from './bookie-parts.js';
import { type BookieState, StoredBookie } from './bookie-service.js';
import type { Identity } from './cookie.js';
import { bookieErrors } from './errors.js';
import { Fences } from './fences.js';
import { GarbageMetrics } from './garbage-metrics.js';
import { makeGarbageCollector } from './garbage-parts.js';
import { JournalDirectory } from './journal/journal-directory.js';
import { Journals } from './journal/journals.js';
import { Lacs } from './lacs.js';
import { createLimbo, makeLimboExit } from './limbo/limbo-parts.js';
import { type BookieLimits, bookieLimits, checkLimits } from './limits.js';
import { markerNames, switchMarker } from './marker-files.js';
import { Presence } from './presence.js';
import { type OpenedDirectories, openDirectories, replayJournals } from './start-up.js';
import { BadEntries } from './storage/bad-entries.js';
import type { DiskMonitor } from './storage/disk-monitor.js';
import { ExplicitLacs } from './storage/explicit-lacs.js';
import { FlushLoop } from './storage/flush-loop.js';
import type { GarbageCollector } from './storage/gc.js';
import type { LedgerStorage } from './storage/ledger-storage.js';
import { Scrubber, type ScrubReport } from './storage/scrubber.js';

/**
 * Opens the directories, proves the identity, replays the journal and flushes all of it (rule R18). When it resolves, the service answers; nobody is told
 * before {@link Bookie.register}. Rejects with an error that says what to do, and leaves nothing open.
 */
export async function openBookie(options: BookieOptions): Promise<Bookie> {
  const limits = { ...bookieLimits(options.config), ...options.limits };
  checkLimits(limits);
  const opened = await openDirectories(options, options.logger.child({ component: 'bookie' }));
  try {
    const bookie = new RunningBookie(options, limits, opened);
    await bookie.start();
    return bookie;
  } catch (error) {
    for (const lock of opened.locks) await lock.release();
    throw error;
  }
}

class RunningBookie implements Bookie {
  readonly identity: Identity;
  readonly #options: BookieOptions;
  readonly #limits: BookieLimits;
  readonly #opened: OpenedDirectories;
  readonly #context: PartsContext;
  readonly #logger: Logger;
  readonly #metrics: BookieMetrics | undefined;
  readonly #explicitLacs = new ExplicitLacs();
  readonly #lacs = new Lacs(this.#explicitLacs);
  readonly #presence: Presence;
  readonly #badEntries: BadEntries;
  #state: BookieState = 'starting';
  #parts: Parts | undefined;
  #service: StoredBookie | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BookieOptions, limits: BookieLimits, opened: OpenedDirectories) {
    this.#options = options;
    this.#limits = limits;
    this.#opened = opened;
    this.identity = opened.identity;
    this.#logger = options.logger.child({ component: 'bookie', bookieId: opened.identity.bookieId });
    this.#context = { options, limits, ledgers: opened.ledgers, logger: this.#logger };
    this.#badEntries = new BadEntries(options.clock, (bad) => {
      this.#logger.error({ ...bad }, 'an entry is damaged on this disk: it has to be copied again from another replica');
      options.onBadEntry?.(bad);
    });
    this.#presence = new Presence(options.metadata, this.#logger);
    this.#metrics = options.metrics === undefined ? undefined : new BookieMetrics(options.metrics);
  }

  get service(): BookieService {
    return this.#service as StoredBookie;
  }

  get state(): BookieState {
    return this.#state;
  }

  get garbageCollector(): GarbageCollector {
    return (this.#parts as Parts).garbageCollector;
  }

  async start(): Promise<void> {
    const { disk, clock, config } = this.#options;
    const startMs = clock.monoMs();
    const disks = createMonitor(this.#context, {
      giveBackSpares: async () => this.#parts?.journals.dropSpares(),
      onChecked: () => this.#disksChecked(),
      onFatal: (error) => this.#fail(error),
    });
    const limbo = await createLimbo(this.#context);
    const readOnly = await createReadOnlyMode(this.#context, limbo, () => this.#readOnlyChanged());
    const storage = await this.#openStorage(disks);
    try {
      const directories = config.journalDirectories.map((path) => new JournalDirectory(disk, path, this.#limits.journalSparesMax));
      const { journals, isPublished } = await this.#recover(storage, directories, disks);
      this.#parts = this.#makeParts({ storage, journals, disks, readOnly, limbo });
      if (!isPublished) this.#parts.flushLoop.noteUnpublished();
      // Before anybody is told that this bookie is there: it may have to come up read-only, or be writable again.
      await disks.check();
    } catch (error) {
      await disks.close();
      await storage.close();
      throw error;
    }
    this.#service = this.#makeService(this.#parts);
    this.#observe(this.#parts);
    this.#state = 'running';
    this.#parts.garbageCollector.start();
    this.#parts.scrubber.start();
    this.#parts.limboExit?.start();
    const { ledgers, entryLogs } = storage.stats();
    this.#logger.info({ ledgers, entryLogs, durationMs: Math.round(clock.monoMs() - startMs) }, 'bookie is ready');
    if (!config.journalSyncData) this.#logger.warn({}, 'journalSyncData is off: acknowledged entries are lost when the power fails');
  }

  get isReadOnly(): boolean {
    return this.#parts?.readOnly.isReadOnly ?? true;
  }

  status(): BookieStatus {
    const { readOnly, limbo, disks, journals, scrubber } = this.#parts as Parts;
    return {
      state: this.#state,
      isReadOnly: readOnly.isReadOnly,
      readOnlyReasons: readOnly.reasons,
      takesRecovery: readOnly.takesRecovery,
      isLimbo: limbo.extent !== 'nothing',
      limboLedgersCount: limbo.ledgersCount,
      isJournalSynced: this.#options.config.journalSyncData,
      directories: disks.directories,
      journals: journals.status(),
      badEntries: this.#badEntries.list,
      badEntriesCount: this.#badEntries.foundCount,
      scrub: scrubber.status,
    };
  }

  async setReadOnly(isReadOnly: boolean): Promise<void> {
    if (this.#state !== 'running') throw bookieErrors.CLOSED();
    const text = isReadOnly ? 'an operator made this bookie read-only\n' : undefined;
    await switchMarker(this.#options.disk, this.#opened.ledgers, markerNames.readOnly, text).catch((error: unknown) => {
      if (bookieErrors.FAILED.is(error)) this.#fail(error);
      throw error;
    });
    this.#parts?.readOnly.setManual(isReadOnly);
  }

  scrub(): Promise<ScrubReport> {
    if (this.#parts === undefined || this.#state !== 'running') return Promise.reject(bookieErrors.CLOSED());
    return this.#parts.scrubber.scrub();
  }

  ledgerIds(): Float64Array {
    return (this.#parts as Parts).storage.states.ledgerIds();
  }

  async checkDisks(): Promise<void> {
    await this.#parts?.disks.check();
  }

  async register(at: { address: string; httpAddress: string }): Promise<void> {
    const { bookieId, incarnation } = this.identity;
    await this.#presence.register({ bookieId, incarnation, isWritable: !this.isReadOnly, ...at });
    // It may have changed meanwhile.
    this.#presence.tell(!this.isReadOnly);
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

  #openStorage(disks: DiskMonitor): Promise<LedgerStorage> {
    return openStorage(this.#context, {
      explicitLacs: this.#explicitLacs,
      onBadEntry: (bad) => this.#badEntries.note(bad),
      onDamagedIndex: (logId) => this.#parts?.scrubber.noteDamagedIndex(logId),
      onNoRoom: (directory) => {
        disks.noteNoRoom(directory).catch((error: unknown) => this.#logger.error({ error }, 'the disks cannot be checked'));
      },
    });
  }

  /** Replays the journals, flushes everything, and starts a new file in each; publishes their beginnings as the marks. On a full disk the last two wait. */
  async #recover(
    storage: LedgerStorage,
    directories: readonly JournalDirectory[],
    disks: DiskMonitor,
  ): Promise<{ journals: Journals; isPublished: boolean }> {
    const { disk } = this.#options;
    const replayed = await replayJournals(disk, storage, directories, this.#lacs);
    if (!replayed.isFlushed) await disks.noteNoRoom();
    const hooks = {
      onFatal: (error: unknown) => this.#fail(error),
      onFull: () => disks.noteNoRoom(),
      onCommit: (commit: { bytes: number; durationMs: number }) => {
        this.#metrics?.noteCommit(commit);
        this.#parts?.appends.resume();
      },
    };
    const journals = await Journals.open(directories, replayed.ends, journalOptions(this.#context, hooks));
    try {
      const isPublished = replayed.isFlushed && (await this.#publishAtStart(storage, journals, disks));
      const { records, bytes } = replayed;
      if (records > 0) this.#logger.info({ records, bytes, isPublished }, 'journal replayed');
      return { journals, isPublished };
    } catch (error) {
      await journals.close();
      throw error;
    }
  }

  async #publishAtStart(storage: LedgerStorage, journals: Journals, disks: DiskMonitor): Promise<boolean> {
    const marks = journals.marks();
    try {
      await storage.publish(marks);
    } catch (error) {
      if (!diskErrors.FULL.is(error)) throw error;
      await disks.noteNoRoom();
      return false;
    }
    await journals.releaseBelow(marks);
    await storage.removeLeftovers();
    return true;
  }

  #disksChecked(): void {
    const parts = this.#parts;
    if (parts === undefined) return;
    const { directories } = parts.disks;
    parts.readOnly.noteDisks(directories);
    if (this.#state === 'running' && directories.some(({ level, isLedgers }) => level === 'full' && isLedgers)) parts.garbageCollector.hurry();
  }

  #readOnlyChanged(): void {
    const parts = this.#parts;
    if (parts === undefined) return;
    const { isReadOnly, reasons } = parts.readOnly;
    this.#logger.warn({ isReadOnly, reasons }, isReadOnly ? 'the bookie takes no entries any more' : 'the bookie takes entries again');
    if (isReadOnly) parts.appends.refuseHeld('READ_ONLY');
    this.#presence.tell(!isReadOnly);
  }

  #makeParts({ storage, journals, disks, readOnly, limbo }: Pick<Parts, 'storage' | 'journals' | 'disks' | 'readOnly' | 'limbo'>): Parts {
    const flushLoop = new FlushLoop({
      clock: this.#options.clock,
      storage,
      intervalMs: this.#limits.flushIntervalMs,
      marks: () => journals.marks(),
      onCheckpoint: async (marks) => {
        await journals.releaseBelow(marks);
        await storage.removeLeftovers();
        await disks.check();
      },
      onRoom: () => appends.resume(),
      isRoomNeeded: () => appends.needsRoom,
      onFatal: (error) => this.#fail(error),
      onFull: () => disks.noteNoRoom(),
      onFlush: (flush) => this.#metrics?.noteFlush(flush),
      logger: this.#logger,
    });
    const onChange = (): void => flushLoop.noteChange();
    const appends = new AppendPath({
      storage,
      lacs: this.#lacs,
      journals,
      readOnly,
      limbo,
      batchBytesMax: this.#limits.batchBytesMax,
      journalQueueBytesMax: this.#limits.journalQueueBytesMax,
      heldBytesMax: this.#limits.heldAppendsBytesMax,
      onChange,
      onRoomNeeded: () => flushLoop.startIfNeeded(),
    });
    const fences = new Fences({ states: storage.states, journals, onChange });
    const scrubber = new Scrubber({
      disk: this.#options.disk,
      clock: this.#options.clock,
      storage,
      badEntries: this.#badEntries,
      intervalMs: this.#limits.scrubIntervalMs,
      bytesPerSecond: this.#limits.scrubBytesPerSecond,
      onRebuilt: () => flushLoop.noteUnpublished(),
      onFailedSync: (directory, error) => this.#failedSync(directory, error),
      logger: this.#logger,
    });
    const garbageCollector = this.#makeGarbageCollector(storage, flushLoop);
    const parts = { storage, journals, flushLoop, appends, fences, disks, readOnly, limbo, scrubber, garbageCollector };
    const limboExit = makeLimboExit(this.#context, parts, { identity: this.identity, onFatal: (error) => this.#fail(error) });
    return { ...parts, limboExit };
  }

  #makeGarbageCollector(storage: LedgerStorage, flushLoop: FlushLoop): GarbageCollector {
    const { metadata, metrics } = this.#options;
    return makeGarbageCollector({
      ...this.#options,
      limits: this.#limits,
      logger: this.#logger,
      storage,
      identity: this.identity,
      metadata,
      metrics: metrics === undefined ? undefined : new GarbageMetrics(metrics),
      flush: () => {
        flushLoop.noteChange();
        return flushLoop.flush();
      },
      onDeleted: (ledgerId) => this.#lacs.forget(ledgerId),
      onFatal: (error) => this.#fail(error),
    });
  }

  #makeService({ storage, appends, fences, disks, readOnly, limbo }: Parts): StoredBookie {
    return new StoredBookie({
      bookieId: this.identity.bookieId as BookieId,
      storage,
      appends,
      fences,
      lacs: this.#lacs,
      clock: this.#options.clock,
      disks,
      readOnly,
      limbo,
      readReplyBytesMax: this.#limits.readReplyBytesMax,
      state: () => this.#state,
      metrics: this.#metrics,
      logger: this.#logger,
    });
  }

  #observe({ storage, journals, appends, disks, readOnly, limbo }: Parts): void {
    this.#metrics?.observe(() => ({
      storage: storage.stats(),
      journalQueueBytes: journals.queuedBytes,
      heldAppendsBytes: appends.heldBytes,
      isWritable: this.#state === 'running' && !readOnly.isReadOnly,
      disks: disks.directories,
      journals: journals.status(),
      isLimbo: limbo.extent !== 'nothing',
      takesRecovery: readOnly.takesRecovery,
      badEntriesListed: this.#badEntries.list.length,
      badEntriesFound: this.#badEntries.foundCount,
      scrub: this.#parts?.scrubber.status,
      isJournalSynced: this.#options.config.journalSyncData,
    }));
  }

  #failedSync(directory: string, error: unknown): void {
    if (!this.#opened.ledgers.takeOut(directory, error)) this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#state === 'failed' || this.#state === 'closed') return;
    this.#state = 'failed';
    this.#logger.error({ error }, 'the bookie cannot go on: what it wrote last may not be on disk. It must be started again');
    this.#opened.ledgers.stop();
    this.#parts?.journals.stop();
    this.#parts?.flushLoop.stop();
    this.#parts?.garbageCollector.stop();
    void this.#parts?.limboExit?.close();
    this.#parts?.scrubber.stop();
    this.#parts?.disks.stop();
    this.#parts?.appends.refuseHeld('IO_ERROR');
    this.#lacs.wakeAll();
    this.#options.onFatal(bookieErrors.FAILED(error instanceof Error ? error.message : String(error), { cause: error }));
  }

  async #close(): Promise<void> {
    const parts = this.#parts;
    await this.#presence.close();
    if (this.#state === 'running') this.#state = 'closing';
    if (parts !== undefined) {
      parts.appends.refuseHeld('UNAVAILABLE');
      await parts.garbageCollector.close();
      await parts.limboExit?.close();
      this.#lacs.wakeAll();
      // The journal first, so that the last checkpoint covers all of it.
      await parts.scrubber.close();
      await parts.disks.close();
      await parts.journals.close();
      if (this.#state === 'closing') await parts.flushLoop.close();
      await parts.storage.close();
    }
    for (const lock of this.#opened.locks) await lock.release();
    if (this.#state === 'closing') this.#state = 'closed';
  }
}
