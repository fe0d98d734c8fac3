import { type BookieId, type LedgerId, type LedgerMetadata, masterKey } from '@daybook/proto';
import { type Clock, DaybookError, errorCode, type Logger, TaskSet } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { Fences } from '../fences.js';
import type { LedgerListing } from '../storage/deleted-ledgers.js';
import type { LedgerStorage } from '../storage/ledger-storage.js';
import { RateLimit } from '../storage/rate-limit.js';
import type { UndurableEntries } from '../undurable-entries.js';
import type { Limbo } from './limbo.js';
import { lacksOwnEntries } from './own-entries.js';

export interface LimboExitOptions {
  limbo: Limbo;
  bookieId: BookieId;
  storage: LedgerStorage;
  undurable: UndurableEntries;
  fences: Pick<Fences, 'fence'>;
  ledgers: LedgerListing;
  /** The id of the cluster this bookie belongs to, and that of the one whose metadata this is, now. */
  clusterId: string | undefined;
  instanceId(): Promise<string>;
  clock: Clock;
  /** A metadata server may be behind by less, and not know yet what this bookie has acknowledged. */
  settleMs: number;
  /** Reads of metadata in a second; 0: no limit. */
  metadataOpsPerSecond: number;
  /** After the extent became smaller. */
  onNarrowed(): void;
  /** Makes it last that nothing is in limbo any more. */
  forget(): Promise<void>;
  onFatal(error: unknown): void;
  logger: Logger;
}

/** Others copy to this bookie meanwhile (autorecovery), and writers close what they have open. */
const lookAgainMs = 5_000;
const concurrentReads = 16;

/**
 * The way out of limbo. First, which ledgers could be concerned at all: those whose records name this bookie; it takes entries of all others again at once. Then each
 * of them, as soon as it is certain: this bookie has every entry that its record gives it, nobody writes that part any more, and it is fenced again.
 */
export class LimboExit {
  readonly #options: LimboExitOptions;
  readonly #tasks: TaskSet;
  readonly #rate: RateLimit;

  constructor(options: LimboExitOptions) {
    this.#options = options;
    this.#tasks = new TaskSet((error) => options.onFatal(error));
    this.#rate = new RateLimit(options.clock, options.metadataOpsPerSecond);
  }

  start(): void {
    if (this.#options.limbo.extent !== 'nothing') this.#tasks.run('limbo', (stop) => this.#run(stop));
  }

  close(): Promise<void> {
    return this.#tasks.close();
  }

  async #run(stop: AbortSignal): Promise<void> {
    const { clock, logger, settleMs } = this.#options;
    await clock.sleep(settleMs, stop);
    for (let isOver = false; !isOver && !stop.aborted; ) {
      try {
        isOver = await this.#step(stop);
      } catch (error) {
        if (!(error instanceof DaybookError) || bookieErrors.FAILED.is(error)) throw error;
        if (!stop.aborted) logger.warn({ error }, 'it cannot be found out now which ledgers this bookie may have forgotten; it is tried again');
      }
      if (!isOver) await clock.sleep(lookAgainMs, stop);
    }
  }

  /** True when no ledger is left. */
  async #step(stop: AbortSignal): Promise<boolean> {
    const { limbo, logger, onNarrowed, forget } = this.#options;
    const before = limbo.extent;
    const left = new Set<number>();
    if (before === 'everything') await this.#checkCluster();
    const ids = before === 'everything' ? this.#options.ledgers.list() : limbo.ledgerIds;
    await this.#each(ids, stop, async (ledgerId) => {
      if (!(await this.#isCertain(ledgerId))) left.add(ledgerId);
    });
    // A listing that is short or of another cluster proves nothing; an error has ended this before.
    if (before === 'everything') await this.#checkCluster();
    if (stop.aborted) return false;
    limbo.narrow(left);
    if (before === 'everything')
      logger.warn({ ledgers: left.size }, 'it is known which ledgers this bookie may have forgotten: all others are served as ever');
    if (left.size === 0) {
      await forget();
      limbo.end();
      logger.info({}, 'all ledgers of this bookie are whole again: it is in limbo no more');
    }
    onNarrowed();
    return left.size === 0;
  }

  /** Some at a time; the first error ends it. */
  async #each(ids: Iterable<number> | AsyncIterable<number>, stop: AbortSignal, task: (ledgerId: LedgerId) => Promise<void>): Promise<void> {
    let some: number[] = [];
    const work = async () => {
      const results = await Promise.allSettled(some.map((id) => task(id as LedgerId)));
      some = [];
      const failed = results.find((result) => result.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    };
    for await (const id of ids) {
      await this.#rate.take(1, stop);
      if (stop.aborted) return;
      some.push(id);
      if (some.length === concurrentReads) await work();
    }
    await work();
  }

  /** Whether what this bookie lacks of a ledger may be said to be not here. */
  async #isCertain(ledgerId: LedgerId): Promise<boolean> {
    const metadata = await this.#read(ledgerId);
    if (metadata === 'unreadable') return false;
    // Deleted: nobody asks for it. Named no more: whoever recovers it does not ask this bookie, and its writer, should it still believe in it, is refused for other disks.
    if (metadata === undefined) return true;
    const { bookieId, storage, undurable } = this.#options;
    if (!metadata.segments.some(({ ensemble }) => ensemble.includes(bookieId))) return true;
    const isOpenHere = metadata.state !== 'CLOSED' && metadata.segments.at(-1)?.ensemble.includes(bookieId) === true;
    if (isOpenHere) return false;
    const runs = storage.states.has(ledgerId) ? undurable.without(ledgerId, await storage.listEntries(ledgerId)) : [];
    if (lacksOwnEntries(metadata, bookieId, runs)) return false;
    return metadata.state !== 'CLOSED' || this.#isFenced(ledgerId, metadata);
  }

  /** Whoever closed it has fenced it here, and that may be forgotten, too. */
  async #isFenced(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<boolean> {
    // A record of old that does not tell its key: its writer is as old.
    if (metadata.namesNoDigest === true) return true;
    const code = await this.#options.fences.fence(ledgerId, masterKey(metadata.password));
    if (code !== 'OK') this.#options.logger.warn({ ledgerId, code }, 'a ledger cannot be fenced here again, and stays in limbo');
    return code === 'OK';
  }

  async #read(ledgerId: LedgerId): Promise<LedgerMetadata | 'unreadable' | undefined> {
    try {
      return (await this.#options.ledgers.read(ledgerId))?.metadata;
    } catch (error) {
      if (errorCode(error) === 'METADATA_CORRUPT') return 'unreadable';
      throw error;
    }
  }

  async #checkCluster(): Promise<void> {
    const { clusterId } = this.#options;
    const instanceId = await this.#options.instanceId();
    if (instanceId !== clusterId) throw bookieErrors.LISTING_REFUSED(`the metadata is of cluster ${instanceId}, this bookie belongs to ${clusterId}`);
  }
}
