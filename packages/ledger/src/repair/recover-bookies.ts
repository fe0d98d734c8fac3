import type { CookieRecords, RepairLocks, VersionedLedger } from '@daybook/metadata';
import { metadataErrors } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { abortAny } from './abort-any.js';
import { ownCount } from './entry-runs.js';
import { repairErrors } from './errors.js';
import { bookiesOf, forEachLedger } from './for-each-ledger.js';
import { fragmentsOf, type Presence } from './ledger-check.js';
import { type LedgerRepairDependencies, repairLedger } from './ledger-repair.js';
import { waitForLock } from './wait-for-lock.js';

export interface RecoverBookiesRequest {
  /** Whose copies are moved to others; they may be up or down, and give what they still have. */
  bookies: readonly BookieId[];
  /** Only this ledger. */
  ledgerId?: LedgerId | undefined;
  /** `recover`: do it. `dry-run`: say for each ledger what would be done. `query`: only say which ledgers name them. Default `recover`. */
  mode?: 'recover' | 'dry-run' | 'query';
  /** Ledgers that are still written to stay as they are; otherwise they are recovered (fencing their writers) and closed first. */
  skipOpenLedgers?: boolean;
  /** Goes on with the others when a ledger cannot be repaired; otherwise the first one that cannot ends it. */
  skipUnrecoverableLedgers?: boolean;
  /** In the end, when nothing names them any more. They have to be down. */
  deleteCookie?: boolean;
  /** How long to wait for a ledger that a worker is busy with. Default 60,000. */
  lockWaitMs?: number;
  /** Ledgers at a time. Default 2. */
  concurrentLedgersMax?: number;
  stop?: AbortSignal;
  /** Told of each ledger as it is done with. */
  onLedger?: (report: LedgerReport) => void;
  onProgress?: (progress: RecoverProgress) => void;
}

export interface LedgerReport {
  ledgerId: LedgerId;
  /** `named`: of `query` and `dry-run`. */
  outcome: 'named' | 'repaired' | 'whole' | 'deleted' | 'skipped' | 'failed';
  isOpen: boolean;
  /** Runs of entries for which the bookies are named. */
  fragmentsCount: number;
  /** Entries that they should have; of a segment that is still written to, none are counted. */
  entriesCount: number;
  /** Why it was skipped, failed, or would fail. */
  reason?: string;
}

export interface RecoverProgress {
  ledgersDone: number;
  ledgersTotal: number;
  entriesCopied: number;
  bytesCopied: number;
  elapsedMs: number;
  /** Until the end, from the speed so far; undefined at first. */
  remainingMs: number | undefined;
}

export interface RecoverResult {
  reports: Readonly<Record<LedgerReport['outcome'], number>>;
  entriesCopied: number;
  bytesCopied: number;
  cookiesDeleted: readonly BookieId[];
}

export interface RecoverDependencies extends LedgerRepairDependencies {
  locks: RepairLocks;
  cookies: CookieRecords;
}

/**
 * Moves the copies of bookies to others, by hand and right now: ledger by ledger under the same lock that workers take (P12). Rejects with the first ledger's
 * error, unless unrecoverable ones are skipped; what is done by then stays done, and doing it again goes on from there.
 */
export function recoverBookies(dependencies: RecoverDependencies, request: RecoverBookiesRequest): Promise<RecoverResult> {
  return new Recovery(dependencies, request).run();
}

class Recovery {
  readonly #d: RecoverDependencies;
  readonly #request: RecoverBookiesRequest;
  readonly #sources: ReadonlySet<BookieId>;
  readonly #counts: Record<LedgerReport['outcome'], number> = { named: 0, repaired: 0, whole: 0, deleted: 0, skipped: 0, failed: 0 };
  readonly #startMs: number;
  readonly #stop: AbortSignal;
  #total = 0;
  #done = 0;
  #entriesCopied = 0;
  #bytesCopied = 0;

  constructor(dependencies: RecoverDependencies, request: RecoverBookiesRequest) {
    this.#d = dependencies;
    this.#request = request;
    this.#sources = new Set(request.bookies);
    this.#startMs = dependencies.clock.monoMs();
    this.#stop = request.stop ?? new AbortController().signal;
  }

  async run(): Promise<RecoverResult> {
    const { deleteCookie = false, mode = 'recover', bookies, concurrentLedgersMax = 2 } = this.#request;
    if (deleteCookie) for (const bookieId of bookies) this.#checkDown(bookieId);
    const ledgerIds = await this.#ledgersNaming();
    this.#total = ledgerIds.length;
    this.#tell();
    const { records, logger } = this.#d;
    await forEachLedger({ records, logger, ledgerIds, stop: this.#stop, concurrentMax: concurrentLedgersMax }, async (ledgerId, stored) => {
      this.#report(await this.#ledger(ledgerId, stored));
    });
    const cookiesDeleted: BookieId[] = [];
    if (deleteCookie && mode === 'recover') {
      for (const bookieId of bookies) {
        await deleteCookieOf(this.#d, bookieId, this.#stop);
        cookiesDeleted.push(bookieId);
      }
    }
    return { reports: { ...this.#counts }, entriesCopied: this.#entriesCopied, bytesCopied: this.#bytesCopied, cookiesDeleted };
  }

  async #ledgersNaming(): Promise<LedgerId[]> {
    const { ledgerId } = this.#request;
    return ledgerId === undefined ? await ledgersNaming(this.#d, this.#sources, this.#stop) : [ledgerId];
  }

  async #ledger(ledgerId: LedgerId, stored: VersionedLedger): Promise<LedgerReport> {
    const report = this.#reportOf(ledgerId, stored);
    const { mode = 'recover', skipOpenLedgers = false } = this.#request;
    if (mode === 'query') return report;
    if (report.isOpen && skipOpenLedgers) return { ...report, outcome: 'skipped', reason: 'it is still open' };
    if (mode === 'dry-run') return this.#planned(report, stored);
    try {
      return { ...report, outcome: await this.#repair(ledgerId) };
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (this.#request.skipUnrecoverableLedgers !== true || this.#stop.aborted) throw error;
      return { ...report, outcome: 'failed', reason: error.message };
    }
  }

  #reportOf(ledgerId: LedgerId, { metadata }: VersionedLedger): LedgerReport {
    let fragmentsCount = 0;
    let entriesCount = 0;
    for (const { ensemble, firstEntryId, lastEntryId } of fragmentsOf(metadata)) {
      const indexes = ensemble.flatMap((bookieId, index) => (this.#sources.has(bookieId) ? [index] : []));
      if (indexes.length > 0) fragmentsCount++;
      for (const index of indexes) entriesCount += ownCount(metadata, index, { first: firstEntryId, last: lastEntryId });
    }
    return { ledgerId, outcome: 'named', isOpen: metadata.state !== 'CLOSED', fragmentsCount, entriesCount };
  }

  #planned(report: LedgerReport, { metadata }: VersionedLedger): LedgerReport {
    for (const { ensemble } of metadata.segments) {
      for (const [index, bookieId] of ensemble.entries()) {
        if (!this.#sources.has(bookieId)) continue;
        const spares = this.#d.placement.spares({ sizes: metadata, ensemble, index, avoided: [...this.#sources] });
        if (spares.length === 0)
          return { ...report, reason: repairErrors.NO_TARGET(report.ledgerId, bookieId, this.#d.placement.describeWritable()).message };
      }
    }
    return report;
  }

  async #repair(ledgerId: LedgerId): Promise<LedgerReport['outcome']> {
    const { lockWaitMs = 60_000 } = this.#request;
    const lock = await waitForLock(ledgerId, { ...this.#d, waitMs: lockWaitMs, stop: this.#stop });
    const end = abortAny([lock.lost, this.#stop]);
    try {
      const outcome = await repairLedger(this.#d, {
        ledgerId,
        presence: (bookieId) => this.#presence(bookieId),
        isAvoided: (bookieId) => this.#sources.has(bookieId),
        closesOpen: true,
        stop: end.signal,
        onCopied: ({ entries, bytes }) => {
          this.#entriesCopied += entries;
          this.#bytesCopied += bytes;
          this.#tell();
        },
      });
      switch (outcome.outcome) {
        case 'whole':
          return outcome.isChanged ? 'repaired' : 'whole';
        case 'deleted':
          return 'deleted';
        case 'open':
          throw outcome.problem;
        case 'failed':
          throw outcome.problems[0] ?? repairErrors.STOPPED();
      }
    } catch (error) {
      throw lock.lost.aborted ? repairErrors.LOCK_LOST(ledgerId, { cause: error }) : error;
    } finally {
      end.stop();
      await lock.release();
    }
  }

  /** Others that are away are not this tool's business. */
  #presence(bookieId: BookieId): Presence {
    if (this.#sources.has(bookieId)) return 'gone';
    return this.#d.registry.get(bookieId) === undefined ? 'away' : 'up';
  }

  #checkDown(bookieId: BookieId): void {
    if (this.#d.registry.get(bookieId) !== undefined) throw repairErrors.BOOKIE_UP(bookieId);
  }

  #report(report: LedgerReport): void {
    this.#counts[report.outcome]++;
    this.#done++;
    this.#request.onLedger?.(report);
    this.#tell();
  }

  #tell(): void {
    const elapsedMs = this.#d.clock.monoMs() - this.#startMs;
    this.#request.onProgress?.({
      ledgersDone: this.#done,
      ledgersTotal: this.#total,
      entriesCopied: this.#entriesCopied,
      bytesCopied: this.#bytesCopied,
      elapsedMs,
      remainingMs: this.#done === 0 ? undefined : Math.round((elapsedMs / this.#done) * (this.#total - this.#done)),
    });
  }
}

/** Ids of all ledgers that name one of these bookies, ascending. */
export async function ledgersNaming(
  { records, logger }: Pick<LedgerRepairDependencies, 'records' | 'logger'>,
  bookies: ReadonlySet<BookieId>,
  stop?: AbortSignal,
): Promise<LedgerId[]> {
  const found: LedgerId[] = [];
  await forEachLedger({ records, logger, stop }, (ledgerId, stored) => {
    if ([...bookiesOf(stored)].some((bookieId) => bookies.has(bookieId))) found.push(ledgerId);
  });
  return found.sort((a, b) => a - b);
}

/**
 * Ends a bookie's membership. A bookie that starts meanwhile notices, or is noticed: it looks for its cookie after it has registered, and here the registration is
 * looked for after the cookie was deleted. Rejects with `REPAIR_BOOKIE_UP`, `REPAIR_STILL_NAMED`; a cookie that is gone already is fine.
 */
export async function deleteCookieOf(
  { records, logger, registry, cookies }: Pick<RecoverDependencies, 'records' | 'logger' | 'registry' | 'cookies'>,
  bookieId: BookieId,
  stop?: AbortSignal,
): Promise<void> {
  const cookie = await cookies.read(bookieId);
  const [example, ...others] = await ledgersNaming({ records, logger }, new Set([bookieId]), stop);
  if (example !== undefined) throw repairErrors.STILL_NAMED(bookieId, others.length + 1, example);
  const isUp = async () => registry.get(bookieId) !== undefined || (await registry.isRegistered?.(bookieId)) === true;
  if (await isUp()) throw repairErrors.BOOKIE_UP(bookieId);
  if (cookie === undefined) return;
  try {
    // The one that was read: a bookie that joined anew meanwhile keeps its own.
    await cookies.delete(bookieId, cookie.version);
  } catch (error) {
    if (!metadataErrors.NOT_FOUND.is(error)) throw error;
    return;
  }
  if (!(await isUp())) return;
  await cookies.write(bookieId, cookie.bytes, 'absent');
  throw repairErrors.BOOKIE_UP(bookieId);
}
