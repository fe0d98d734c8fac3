import { metadataErrors } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { abortAny } from './abort-any.js';
import type { Presence } from './ledger-check.js';
import { type LedgerRepairDependencies, type RepairOutcome, repairLedger } from './ledger-repair.js';
import type { RepairMetrics } from './repair-metrics.js';
import type { RepairSettings } from './repair-settings.js';
import type { TroubledLedger, TroubledLedgers } from './troubled-ledgers.js';
import type { MarkedLedger, RepairWork, UnderReplication } from './under-replication.js';

export interface RepairTaskDependencies extends LedgerRepairDependencies {
  underReplication: UnderReplication;
  settings: RepairSettings;
  metrics: RepairMetrics;
}

export interface RepairTaskOptions {
  dependencies: RepairTaskDependencies;
  work: RepairWork;
  troubled: TroubledLedgers;
  graceMs: number;
  /** The worker ends. */
  stop: AbortSignal;
  /** Told when it only waits for something, and takes nobody's place. */
  onWaiting: () => void;
  /** Aborts at the next change of the bookies that are up. */
  bookiesChange: () => AbortSignal;
}

/** Troubled ledgers of which each has its own lines in the log. */
export const toldOneByOneMax = 10;

/** The repair of one ledger under its lock: look, copy, give an open ledger's writer its time, and draw the conclusion. */
export class RepairTask {
  readonly #d: RepairTaskDependencies;
  readonly #options: RepairTaskOptions;
  readonly #work: RepairWork;
  /** Where copies went; survives a failure. */
  readonly #targets: Map<string, BookieId>;

  constructor(options: RepairTaskOptions) {
    this.#d = options.dependencies;
    this.#options = options;
    this.#work = options.work;
    this.#targets = options.troubled.get(options.work.ledgerId)?.targets ?? new Map();
  }

  async run(): Promise<void> {
    const { ledgerId } = this.#work;
    const outcome = await this.#attempt(this.#work, false);
    if (outcome.outcome !== 'open' || !outcome.hasSpare) return this.#conclude(this.#work, outcome);
    // Its writer is given time to replace the bookie itself.
    this.#options.onWaiting();
    await this.#sleep(this.#options.graceMs);
    if (this.#isOver) return;
    const marked = await this.#d.underReplication.read(ledgerId);
    if (marked !== undefined) await this.#conclude(marked, await this.#attempt(marked, true));
  }

  get #isOver(): boolean {
    return this.#work.lock.lost.aborted || this.#options.stop.aborted;
  }

  async #attempt({ ledgerId, mark }: MarkedLedger, closesOpen: boolean): Promise<RepairOutcome> {
    const { clock, metrics, settings } = this.#d;
    const { lost } = this.#work.lock;
    const startMs = clock.monoMs();
    const end = abortAny([lost, this.#options.stop]);
    try {
      const draining = await settings.drainingBookies();
      return await repairLedger(this.#d, {
        ledgerId,
        presence: (bookieId) => this.#presence(bookieId, mark.replicas, draining),
        isAvoided: (bookieId) => draining.has(bookieId),
        closesOpen,
        readPercent: mark.isDamaged ? 100 : undefined,
        movesMisplaced: mark.isMisplaced === true,
        stop: end.signal,
        targets: this.#targets,
        onCopied: ({ entries, bytes }) => {
          metrics.entriesReplicated.add(entries);
          metrics.bytesReplicated.add(bytes);
        },
      });
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      // Says nothing about the ledger.
      if (lost.aborted || metadataErrors.UNAVAILABLE.is(error)) throw error;
      return { outcome: 'failed', problems: [error] };
    } finally {
      end.stop();
      metrics.repairTime.observe((clock.monoMs() - startMs) / 1_000);
    }
  }

  /**
   * A bookie that is away is lost only if somebody said so: the auditor may be waiting for it (`lostBookieRecoveryDelay`). Draining counts as long as it takes
   * no entries.
   */
  #presence(bookieId: BookieId, replicas: readonly string[] | undefined, draining: ReadonlySet<BookieId>): Presence {
    const registered = this.#d.registry.get(bookieId);
    if (draining.has(bookieId) && registered?.isWritable !== true) return 'gone';
    if (registered !== undefined) return 'up';
    return replicas === undefined || replicas.includes(bookieId) ? 'gone' : 'away';
  }

  async #conclude(marked: MarkedLedger, outcome: RepairOutcome): Promise<void> {
    const { ledgerId } = marked;
    switch (outcome.outcome) {
      case 'whole':
      case 'deleted':
        if (outcome.outcome === 'whole' && outcome.isChanged) {
          this.#d.metrics.ledgersReplicated.add();
          this.#d.logger.info({ ledgerId }, 'ledger has all its copies again');
        }
        this.#options.troubled.forget(ledgerId);
        await this.#done(marked);
        break;
      case 'open':
        await this.#failed([outcome.problem], true);
        break;
      case 'failed':
        await this.#failed(outcome.problems);
        break;
    }
  }

  async #done(marked: MarkedLedger): Promise<void> {
    try {
      await this.#d.underReplication.done(marked);
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      // It is looked at once more, and found whole.
      this.#d.logger.warn({ ledgerId: marked.ledgerId, error }, 'the mark of a repaired ledger could not be removed now');
    }
  }

  /** Others would fail as well: the lock is held on until there was time for things to change. */
  async #failed(problems: readonly DaybookError[], isOpen = false): Promise<void> {
    if (this.#isOver) return;
    const { ledgerId } = this.#work;
    const { logger, metrics, clock } = this.#d;
    const { troubled } = this.#options;
    const nowMs = clock.monoMs();
    const reason = [...new Set(problems.map((problem) => problem.message))].join('; ');
    const { rounds, isGivenUp, dueMs } = troubled.failed(ledgerId, { reason, nowMs, targets: this.#targets, isOpen });
    metrics.repairsFailed.add();
    metrics.ledgersGivenUp.set(troubled.givenUpCount);
    // Of many troubled ledgers the worker tells in one line.
    const isOneOfMany = troubled.count > toldOneByOneMax;
    if (isGivenUp) {
      const text = 'a ledger cannot be repaired: given up until bookies come or go, or an hour is over';
      logger[isOneOfMany ? 'debug' : 'error']({ ledgerId, rounds, reason }, text);
      return;
    }
    const againInMs = Math.round(dueMs - nowMs);
    logger[isOneOfMany ? 'debug' : 'warn']({ ledgerId, rounds, reason, againInMs }, 'a ledger could not be repaired now');
    this.#options.onWaiting();
    await this.#holdUntilDue();
  }

  async #holdUntilDue(): Promise<void> {
    for (;;) {
      const known: TroubledLedger | undefined = this.#options.troubled.get(this.#work.ledgerId);
      const leftMs = (known?.dueMs ?? 0) - this.#d.clock.monoMs();
      if (leftMs <= 0 || this.#isOver) return;
      await this.#sleep(leftMs, this.#options.bookiesChange());
    }
  }

  async #sleep(ms: number, wake?: AbortSignal): Promise<void> {
    const end = abortAny([this.#work.lock.lost, this.#options.stop, wake]);
    await this.#d.clock.sleep(ms, end.signal);
    end.stop();
  }
}
