import type { LedgerId } from '@daybook/proto';
import { DaybookError, TaskSet } from '@daybook/runtime';
import { RepairTask, type RepairTaskDependencies, toldOneByOneMax } from './repair-task.js';
import { type TroubledLedger, TroubledLedgers } from './troubled-ledgers.js';
import type { RepairWork } from './under-replication.js';
import { WakeUp } from './wake-up.js';

export interface ReplicationWorkerOptions {
  /** How long an open ledger with a lost bookie is left to its writer before it is fenced and closed. Default 30,000. */
  openLedgerRereplicationGracePeriodMs: number;
  /** The longest wait after a failed repair. Default 300,000. */
  lockReleaseOfFailedLedgerGracePeriodMs: number;
  /** A ledger that could not be repaired is not tried sooner again, even when bookies come and go. Default 5,000. */
  rwRereplicateBackoffMs: number;
  /** Failed repairs of one ledger after which it is given up: said loudly, and tried again only when bookies come or go, or after an hour. Default 10. */
  repairRoundsMax: number;
  /** Ledgers repaired at a time. Default 4. */
  concurrentLedgersMax: number;
}

export const defaultReplicationWorkerOptions: ReplicationWorkerOptions = {
  openLedgerRereplicationGracePeriodMs: 30_000,
  lockReleaseOfFailedLedgerGracePeriodMs: 300_000,
  rwRereplicateBackoffMs: 5_000,
  repairRoundsMax: 10,
  concurrentLedgersMax: 4,
};

/** Ledgers whose locks are held, most of them only waiting for something. */
const workingLedgersMax = 1_000;
const givenUpRetryMs = 3_600_000;
const storeAwayMs = 1_000;
/** Between looks at the list while nothing calls. */
const idleLookMs = 5_000;
const busyLookMs = 1_000;
const tellAgainMs = 300_000;

/**
 * Takes marked ledgers in random order, several at a time, and repairs them. Looks again before it copies anything: whatever the mark says, only what is
 * missing *now* is copied, and a ledger that is whole just loses its mark (P14).
 */
export class ReplicationWorker {
  readonly #d: RepairTaskDependencies;
  readonly #options: ReplicationWorkerOptions;
  readonly #tasks: TaskSet;
  readonly #wakeUp: WakeUp;
  readonly #troubled: TroubledLedgers;
  readonly #watches: { stop(): void }[] = [];
  /** Ledgers that are repaired now, or waited for. */
  readonly #working = new Set<LedgerId>();
  #repairingCount = 0;
  #bookiesChange = new AbortController();
  #tellAgainAtMs = 0;

  constructor(dependencies: RepairTaskDependencies, options: Partial<ReplicationWorkerOptions> = {}) {
    this.#d = dependencies;
    this.#options = { ...defaultReplicationWorkerOptions, ...options };
    this.#tasks = new TaskSet((error) => {
      throw error;
    });
    this.#wakeUp = new WakeUp(dependencies.clock, this.#tasks.stop);
    const { lockReleaseOfFailedLedgerGracePeriodMs, rwRereplicateBackoffMs, repairRoundsMax } = this.#options;
    this.#troubled = new TroubledLedgers({
      backOffMsMax: lockReleaseOfFailedLedgerGracePeriodMs,
      retryMsMin: rwRereplicateBackoffMs,
      roundsMax: repairRoundsMax,
      givenUpRetryMs,
    });
  }

  /** Ledgers that could not be repaired, and why. */
  get troubled(): readonly TroubledLedger[] {
    return this.#troubled.list;
  }

  /** Ledgers it is busy with. */
  get workingCount(): number {
    return this.#working.size;
  }

  start(): void {
    const { underReplication, settings, registry } = this.#d;
    const call = () => this.#wakeUp.call();
    this.#watches.push(
      underReplication.watch(call),
      settings.watchEnabled(call),
      registry.onChange(() => this.#bookiesChanged()),
    );
    this.#tasks.run('taking work', (stop) => this.#takeWork(stop));
  }

  /** Breaks off what is under way: no record is half changed, what was copied stays, the marks stay. */
  async close(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    await this.#tasks.close();
  }

  #bookiesChanged(): void {
    this.#troubled.bookiesChanged(this.#d.clock.monoMs());
    const changed = this.#bookiesChange;
    this.#bookiesChange = new AbortController();
    changed.abort();
    this.#wakeUp.call();
  }

  async #takeWork(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      let waitMs = idleLookMs;
      try {
        if (await this.#d.settings.isEnabled()) waitMs = await this.#takeSome(stop);
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        if (!stop.aborted) this.#d.logger.warn({ error }, 'the list of under-replicated ledgers cannot be read now');
        waitMs = storeAwayMs;
      }
      await this.#wakeUp.sleep(waitMs);
    }
  }

  /** Begins as many repairs as there is room for; returns how long to wait before looking again. */
  async #takeSome(stop: AbortSignal): Promise<number> {
    const { clock, underReplication } = this.#d;
    while (!stop.aborted && this.#repairingCount < this.#options.concurrentLedgersMax && this.#working.size < workingLedgersMax) {
      const nowMs = clock.monoMs();
      const work = await underReplication.take((id) => this.#working.has(id) || !this.#troubled.isDue(id, nowMs));
      if (work === undefined) {
        await this.#forgetUnmarked(nowMs);
        break;
      }
      const isBegun = this.#tasks.run(`ledger ${work.ledgerId}`, () => this.#serve(work));
      if (!isBegun) await work.lock.release();
    }
    const dueMs = this.#troubled.nextDueMs() ?? Number.POSITIVE_INFINITY;
    this.#tellOfMany();
    // The first mark after none calls; more of them do not.
    const lookMs = (await underReplication.isEmpty()) ? idleLookMs : busyLookMs;
    return Math.max(1, Math.min(lookMs, dueMs - clock.monoMs()));
  }

  #tellOfMany(): void {
    const { count, givenUpCount, list } = this.#troubled;
    const nowMs = this.#d.clock.monoMs();
    if (count <= toldOneByOneMax || nowMs < this.#tellAgainAtMs) return;
    this.#tellAgainAtMs = nowMs + tellAgainMs;
    const [example] = list;
    const fields = { count, givenUpCount, ledgerId: example?.ledgerId, reason: example?.reason };
    this.#d.logger[givenUpCount > 0 ? 'error' : 'warn'](fields, 'many ledgers cannot be repaired now; one of them:');
  }

  /** Others may have repaired what was too much for this worker. */
  async #forgetUnmarked(nowMs: number): Promise<void> {
    for (const { ledgerId, dueMs } of this.#troubled.list) {
      if (dueMs > nowMs || this.#working.has(ledgerId)) continue;
      if ((await this.#d.underReplication.read(ledgerId)) === undefined) this.#troubled.forget(ledgerId);
    }
    this.#d.metrics.ledgersGivenUp.set(this.#troubled.givenUpCount);
  }

  /** One ledger, from its lock to its release. */
  async #serve(work: RepairWork): Promise<void> {
    this.#working.add(work.ledgerId);
    this.#repairingCount++;
    let isRepairing = true;
    const rest = () => {
      if (isRepairing) this.#repairingCount--;
      isRepairing = false;
      this.#wakeUp.call();
    };
    const task = new RepairTask({
      dependencies: this.#d,
      work,
      troubled: this.#troubled,
      graceMs: this.#options.openLedgerRereplicationGracePeriodMs,
      stop: this.#tasks.stop,
      onWaiting: rest,
      bookiesChange: () => this.#bookiesChange.signal,
    });
    try {
      await task.run();
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      if (!this.#tasks.stop.aborted)
        this.#d.logger.warn({ ledgerId: work.ledgerId, error }, 'the repair of a ledger was broken off and begins again');
      await this.#d.clock.sleep(storeAwayMs, this.#tasks.stop);
    } finally {
      await work.lock.release();
      this.#working.delete(work.ledgerId);
      rest();
    }
  }
}
