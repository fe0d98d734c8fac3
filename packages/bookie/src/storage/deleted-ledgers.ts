import type { LedgerRecords, VersionedLedger } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import { type Clock, errorCode } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LedgerStorage } from './ledger-storage.js';
import { RateLimit } from './rate-limit.js';

/** What garbage collection asks the cluster's metadata. */
export type LedgerListing = Pick<LedgerRecords, 'list' | 'read'>;

/** Held while a ledger is looked at and deleted, so that no repair copies it here at the same time. */
export interface ReplicationGuard {
  release(): Promise<void>;
}

export interface DeletedLedgersOptions {
  storage: LedgerStorage;
  clock: Clock;
  bookieId: BookieId;
  ledgers: LedgerListing;
  /** The id of the cluster this bookie belongs to. */
  clusterId: string | undefined;
  /** Resolves to the id of the cluster whose metadata this is, now. */
  instanceId(): Promise<string>;
  /** Undefined when somebody repairs the ledger, or it waits for repair. */
  guardReplication?(ledgerId: LedgerId): Promise<ReplicationGuard | undefined>;
  /** Reads of metadata in a second; 0: no limit. */
  metadataOpsPerSecond: number;
  /** Ledgers this process has known for less are left alone: a metadata server may be behind, and not know them yet. */
  ledgerAgeMsMin: number;
  /** Ledgers that entries were copied to more recently are left alone: repair tells the metadata only when it is done. */
  recoveryQuietMs: number;
  onDeleted?(ledgerId: number): void;
}

/** Ids below one branch of the metadata tree, listed with one request. */
const idsPerBranch = 10_000;

/**
 * Deletes ledgers that metadata does not know (any more). What is kept in doubt: a ledger goes only after a listing that was begun after this bookie's own
 * list was made, and was complete and without an error, and after the store said of this very ledger that there is none. The first error ends the run.
 */
export class DeletedLedgers {
  readonly #options: DeletedLedgersOptions;
  readonly #rate: RateLimit;
  #deletedCount = 0;

  constructor(options: DeletedLedgersOptions) {
    this.#options = options;
    this.#rate = new RateLimit(options.clock, options.metadataOpsPerSecond);
  }

  /** Ledgers deleted so far. */
  get deletedCount(): number {
    return this.#deletedCount;
  }

  /** Deletes ledgers without a record. */
  async collectUnlisted(stop: AbortSignal): Promise<void> {
    const { storage, ledgers } = this.#options;
    const candidates = await this.#unlisted(storage.states.ledgerIds(), stop);
    for (const ledgerId of candidates) {
      if (stop.aborted) return;
      if (!this.#isOld(ledgerId)) continue;
      await this.#rate.take(1, stop);
      if ((await ledgers.read(ledgerId as LedgerId)) !== undefined) continue;
      await this.#delete(ledgerId, () => this.#isOld(ledgerId));
    }
  }

  /** Deletes ledgers that are closed and belong to other bookies alone. */
  async collectForeign(stop: AbortSignal): Promise<void> {
    const { storage, guardReplication } = this.#options;
    await this.#checkCluster();
    for (const ledgerId of storage.states.ledgerIds()) {
      if (stop.aborted) return;
      if (!this.#isQuiet(ledgerId) || !(await this.#isForeign(ledgerId, stop))) continue;
      const guard = guardReplication === undefined ? noGuard : await guardReplication(ledgerId as LedgerId);
      if (guard === undefined) continue;
      try {
        // What was read before the guard was held may be old.
        if (await this.#isForeign(ledgerId, stop)) await this.#delete(ledgerId, () => this.#isQuiet(ledgerId));
      } finally {
        await guard.release();
      }
    }
  }

  /** Those of `local` (ascending, and made before the listing begins) that the listing does not have. */
  async #unlisted(local: Float64Array, stop: AbortSignal): Promise<number[]> {
    await this.#checkCluster();
    const missing: number[] = [];
    let next = 0;
    let previous = -1;
    for await (const ledgerId of this.#options.ledgers.list()) {
      if (stop.aborted) return [];
      if (ledgerId <= previous) throw bookieErrors.LISTING_REFUSED(`ledger ${ledgerId} comes after ledger ${previous}`);
      if (Math.floor(ledgerId / idsPerBranch) !== Math.floor(previous / idsPerBranch)) await this.#rate.take(1, stop);
      previous = ledgerId;
      while (next < local.length && (local[next] as number) < ledgerId) missing.push(local[next++] as number);
      if (local[next] === ledgerId) next++;
    }
    missing.push(...local.subarray(next));
    // The store may have been replaced by another one meanwhile.
    await this.#checkCluster();
    return missing;
  }

  async #checkCluster(): Promise<void> {
    const { clusterId } = this.#options;
    const instanceId = await this.#options.instanceId();
    if (instanceId !== clusterId) throw bookieErrors.LISTING_REFUSED(`the metadata is of cluster ${instanceId}, this bookie belongs to ${clusterId}`);
  }

  #isOld(ledgerId: number): boolean {
    const { states } = this.#options.storage;
    return states.has(ledgerId) && states.quietMs(ledgerId).sinceCreated >= this.#options.ledgerAgeMsMin;
  }

  #isQuiet(ledgerId: number): boolean {
    const { storage, recoveryQuietMs } = this.#options;
    if (!this.#isOld(ledgerId)) return false;
    const { sinceCreated, sinceRecovered } = storage.states.quietMs(ledgerId);
    return Math.min(sinceCreated, sinceRecovered) >= recoveryQuietMs;
  }

  async #isForeign(ledgerId: number, stop: AbortSignal): Promise<boolean> {
    await this.#rate.take(1, stop);
    if (stop.aborted) return false;
    let found: VersionedLedger | undefined;
    try {
      found = await this.#options.ledgers.read(ledgerId as LedgerId);
    } catch (error) {
      // A record that nobody can read says nothing about this ledger, and nothing against the others.
      if (errorCode(error) === 'METADATA_CORRUPT') return false;
      throw error;
    }
    if (found === undefined || found.metadata.state !== 'CLOSED') return false;
    return !found.metadata.segments.some(({ ensemble }) => ensemble.includes(this.#options.bookieId));
  }

  async #delete(ledgerId: number, isStillGone: () => boolean): Promise<void> {
    if (!(await this.#options.storage.deleteLedger(ledgerId, isStillGone))) return;
    this.#deletedCount++;
    this.#options.onDeleted?.(ledgerId);
  }
}

const noGuard: ReplicationGuard = { release: async () => undefined };
