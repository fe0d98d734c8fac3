import type { CookieRecords } from '@daybook/metadata';
import { asBookieId, type BookieId, type LedgerId } from '@daybook/proto';
import { DaybookError, type Histogram, TaskSet } from '@daybook/runtime';
import { type AuditDependencies, auditBookies, auditPlacement, auditReplicas, type PlacementAudit, type PlacementProblem } from './audits.js';
import { repairErrors } from './errors.js';
import { LostBookies } from './lost-bookies.js';
import { type PeriodicCheck, periodicChecks, type RecoveryDelay, type RepairSettings } from './repair-settings.js';
import { WakeUp } from './wake-up.js';

/** Intervals in milliseconds; 0 switches a check off. */
export interface AuditorOptions {
  /** `lostBookieRecoveryDelay` for a cluster that has none yet; afterwards the one in the metadata counts. Default 0. */
  lostBookieRecoveryDelaySeconds: number;
  /** Audit of the bookies that all ledgers name. Default one day. */
  auditorPeriodicBookieCheckIntervalMs: number;
  /** Check that reads entries of all ledgers from all their bookies. Default one week. */
  auditorPeriodicCheckIntervalMs: number;
  /** Entries that it reads, besides the first and the last of each fragment; 100: all. Default 0. */
  auditorLedgerVerificationPercentage: number;
  /** Comparison of what bookies list with what they should have. Default one hour. */
  auditorReplicasCheckIntervalMs: number;
  /** Default 0. */
  auditorPeriodicPlacementPolicyCheckIntervalMs: number;
  /** Ledgers that this check finds are marked, and workers move copies of them. Default true (BookKeeper: false). */
  repairedPlacementPolicyNotAdheringBookieEnable: boolean;
  /** Without one there is no such check. */
  placementProblem?: PlacementProblem | undefined;
  /** Whether moving copies would make it better; without one nothing is marked. */
  placementImprovable?: PlacementAudit['isImprovable'];
}

export const defaultAuditorOptions: AuditorOptions = {
  lostBookieRecoveryDelaySeconds: 0,
  auditorPeriodicBookieCheckIntervalMs: 86_400_000,
  auditorPeriodicCheckIntervalMs: 604_800_000,
  auditorLedgerVerificationPercentage: 0,
  auditorReplicasCheckIntervalMs: 3_600_000,
  auditorPeriodicPlacementPolicyCheckIntervalMs: 0,
  repairedPlacementPolicyNotAdheringBookieEnable: true,
};

export interface AuditorDependencies extends AuditDependencies {
  settings: RepairSettings;
  cookies: Pick<CookieRecords, 'list'>;
}

const storeAwayMs = 1_000;
const heldBackMs = 60_000;
const lookAgainMs = 60_000;
/** Ledgers of a returned bookie that were still written to; beyond that the periodic check finds what they lack. */
const openLedgersMax = 10_000;

/**
 * One term of the leading auditor. Three loops: bookies that are lost; bookies that came back; periodic checks. What they find they mark, and a mark is looked at
 * again before anything is copied, so that a second auditor, or one that does not know yet that it leads no more, does no harm.
 */
export class AuditorTerm {
  readonly #d: AuditorDependencies;
  readonly #options: AuditorOptions;
  readonly #tasks: TaskSet;
  readonly #watches: { stop(): void }[] = [];
  readonly #bookiesWake: WakeUp;
  readonly #returnedWake: WakeUp;
  readonly #checksWake: WakeUp;
  readonly #lost = new LostBookies();
  readonly #returned = new Set<BookieId>();
  /** Ledgers to look at again once they are closed. */
  readonly #open = new Set<LedgerId>();
  #delay: RecoveryDelay | undefined;
  #isDelayRead = false;
  #isForced = false;
  #isFirstLook = true;
  #bookieCheckDueMs: number;
  #pending: ReadonlySet<BookieId> = new Set();
  readonly #checkTimes: Readonly<Record<PeriodicCheck, Histogram>>;

  constructor(dependencies: AuditorDependencies, options: AuditorOptions) {
    this.#d = dependencies;
    this.#options = options;
    this.#tasks = new TaskSet((error) => {
      throw error;
    });
    const { clock, metrics } = dependencies;
    this.#bookiesWake = new WakeUp(clock, this.#tasks.stop);
    this.#returnedWake = new WakeUp(clock, this.#tasks.stop);
    this.#checksWake = new WakeUp(clock, this.#tasks.stop);
    this.#bookieCheckDueMs = clock.monoMs();
    this.#checkTimes = { 'all-ledgers': metrics.checkAllLedgersTime, placement: metrics.placementCheckTime, replicas: metrics.replicasCheckTime };
  }

  start(): void {
    const { registry, settings } = this.#d;
    const wakeAll = () => {
      this.#bookiesWake.call();
      this.#returnedWake.call();
      this.#checksWake.call();
    };
    const wakeBookies = () => this.#bookiesWake.call();
    this.#watches.push(registry.onChange(wakeBookies), settings.watchDelay(wakeBookies));
    this.#watches.push(
      settings.watchEnabled(wakeAll),
      settings.watchCheckTimes(() => this.#checksWake.call()),
    );
    this.#loop('lost bookies', this.#bookiesWake, () => this.#lookForLost());
    this.#loop('returned bookies', this.#returnedWake, () => this.#lookAtReturned());
    this.#loop('periodic checks', this.#checksWake, () => this.#runChecks());
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    await this.#tasks.close();
  }

  /** `round` returns how long to wait for the next one, unless it is woken before. */
  #loop(name: string, wakeUp: WakeUp, round: () => Promise<number>): void {
    this.#tasks.run(name, async (stop) => {
      while (!stop.aborted) {
        const waitMs = await this.#round(name, round);
        if (!stop.aborted) await wakeUp.sleep(waitMs);
      }
    });
  }

  async #round(name: string, round: () => Promise<number>): Promise<number> {
    const { settings, logger } = this.#d;
    try {
      return (await settings.isEnabled()) ? await round() : lookAgainMs;
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      const isHeldBack = repairErrors.TOO_MANY_LOST.is(error);
      const text = isHeldBack ? 'an audit is held back' : 'an audit was broken off and begins again';
      if (!this.#tasks.stop.aborted) logger.warn({ error, task: name }, text);
      return isHeldBack ? heldBackMs : storeAwayMs;
    }
  }

  async #lookForLost(): Promise<number> {
    const { registry, clock, metrics, cookies } = this.#d;
    await this.#readDelay();
    const names = await cookies.list();
    const up = new Map(registry.list().map((bookie) => [bookie.bookieId, bookie]));
    // Nothing can be concluded from seeing nobody.
    if (up.size === 0) return lookAgainMs;
    const isForced = this.#isForced;
    const delayMs = (this.#delay?.seconds ?? this.#options.lostBookieRecoveryDelaySeconds) * 1_000;
    const nowMs = clock.monoMs();
    const verdict = this.#lost.observe({ up, known: names.flatMap((name) => asBookieId(name) ?? []), nowMs, delayMs, isForced });
    this.#notePending(verdict.pending);
    metrics.delayedAuditsCancelled.add(verdict.cancelledCount);
    this.#noteReturned([...verdict.returned, ...this.#firstLook()]);
    const { auditorPeriodicBookieCheckIntervalMs: intervalMs } = this.#options;
    const isPeriodic = intervalMs > 0 && nowMs >= this.#bookieCheckDueMs;
    if (verdict.due.length > 0 || isForced || isPeriodic) {
      await auditBookies(this.#d, { pending: this.#pending, isForced, stop: this.#tasks.stop });
      this.#lost.audited(verdict.due);
      if (isForced) this.#isForced = false;
      this.#bookieCheckDueMs = clock.monoMs() + intervalMs;
      await this.#count();
    }
    const checkWaitMs = intervalMs > 0 ? this.#bookieCheckDueMs - clock.monoMs() : lookAgainMs;
    return Math.max(1, Math.min(lookAgainMs, verdict.waitMs ?? lookAgainMs, checkWaitMs));
  }

  /** Those that take no entries when a term begins may be in limbo, and wait for copies: whoever saw them come back leads no more. */
  #firstLook(): BookieId[] {
    if (!this.#isFirstLook) return [];
    this.#isFirstLook = false;
    return this.#d.registry.list().flatMap(({ bookieId, isWritable }) => (isWritable ? [] : [bookieId]));
  }

  #noteReturned(bookies: readonly BookieId[]): void {
    for (const id of bookies) this.#returned.add(id);
    if (bookies.length > 0) this.#returnedWake.call();
  }

  #notePending(pending: readonly BookieId[]): void {
    const isNew = pending.some((id) => !this.#pending.has(id));
    this.#pending = new Set(pending);
    if (!isNew) return;
    this.#d.metrics.auditsDelayed.add();
    this.#d.logger.info({ bookies: pending, delaySeconds: this.#delay?.seconds }, 'a bookie is away: it is given time to come back');
  }

  /** The same delay written again, or 0, asks for an audit at once. */
  async #readDelay(): Promise<void> {
    const before = this.#delay;
    const isFirst = !this.#isDelayRead;
    const now = await this.#d.settings.readDelay();
    this.#delay = now;
    this.#isDelayRead = true;
    if (isFirst || now === undefined || before?.version === now.version) return;
    if (now.seconds === 0 || now.seconds === (before?.seconds ?? this.#options.lostBookieRecoveryDelaySeconds)) {
      this.#isForced = true;
      this.#d.logger.info({}, 'an audit was asked for');
    }
  }

  async #lookAtReturned(): Promise<number> {
    const { stop } = this.#tasks;
    const returned = [...this.#returned];
    if (returned.length > 0) {
      const findings = await auditReplicas(this.#d, { only: new Set(returned), stop });
      for (const id of returned) this.#returned.delete(id);
      for (const ledgerId of findings.open) if (this.#open.size < openLedgersMax) this.#open.add(ledgerId);
    }
    if (this.#open.size > 0) {
      const open = [...this.#open];
      for (const ledgerId of open) if (await this.#isClosedOrGone(ledgerId)) this.#open.delete(ledgerId);
      const closed = open.filter((ledgerId) => !this.#open.has(ledgerId));
      await auditReplicas(this.#d, { ledgerIds: closed, stop });
    }
    return lookAgainMs;
  }

  async #isClosedOrGone(ledgerId: LedgerId): Promise<boolean> {
    const stored = await this.#d.records.read(ledgerId);
    return stored === undefined || stored.metadata.state === 'CLOSED';
  }

  async #runChecks(): Promise<number> {
    const { settings, clock } = this.#d;
    let waitMs = lookAgainMs;
    for (const check of periodicChecks) {
      const intervalMs = this.#intervalOf(check);
      if (intervalMs <= 0 || this.#tasks.stop.aborted) continue;
      const lastMs = await settings.readCheckTime(check);
      const elapsedMs = lastMs === undefined ? intervalMs : clock.wallMs() - lastMs;
      // A time in the future comes from a clock that was wrong.
      if (elapsedMs >= 0 && elapsedMs < intervalMs) {
        waitMs = Math.min(waitMs, intervalMs - elapsedMs);
        continue;
      }
      const startMs = clock.monoMs();
      await this.#run(check);
      this.#checkTimes[check].observe((clock.monoMs() - startMs) / 1_000);
      await settings.writeCheckTime(check, clock.wallMs());
      waitMs = Math.min(waitMs, intervalMs);
    }
    await this.#count();
    return Math.max(1, waitMs);
  }

  #intervalOf(check: PeriodicCheck): number {
    switch (check) {
      case 'all-ledgers':
        return this.#options.auditorPeriodicCheckIntervalMs;
      case 'placement':
        return this.#options.placementProblem === undefined ? 0 : this.#options.auditorPeriodicPlacementPolicyCheckIntervalMs;
      case 'replicas':
        return this.#options.auditorReplicasCheckIntervalMs;
    }
  }

  async #run(check: PeriodicCheck): Promise<void> {
    const { auditorLedgerVerificationPercentage: readPercent, placementProblem } = this.#options;
    const { stop } = this.#tasks;
    switch (check) {
      case 'all-ledgers':
        await auditReplicas(this.#d, { readPercent, stop });
        break;
      case 'replicas':
        await auditReplicas(this.#d, { stop });
        break;
      case 'placement':
        if (placementProblem === undefined) break;
        await auditPlacement(this.#d, { problemOf: placementProblem, isImprovable: this.#improvable(), stop });
        break;
    }
  }

  #improvable(): PlacementAudit['isImprovable'] {
    const { repairedPlacementPolicyNotAdheringBookieEnable: isRepaired, placementImprovable } = this.#options;
    return isRepaired ? placementImprovable : undefined;
  }

  async #count(): Promise<void> {
    this.#d.metrics.underReplicatedLedgers.set(await this.#d.underReplication.count());
  }
}
