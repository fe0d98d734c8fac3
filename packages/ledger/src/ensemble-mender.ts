import { type BookieRegistry, type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type EntryId, isNegative, type LedgerId } from '@daybook/proto';
import { type Clock, DaybookError, type Logger } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { type EnsembleChangeResult, type Replacement, storeEnsembleChange } from './ensemble-change.js';
import { ledgerErrors } from './errors.js';
import { isEnsembleChangeDisabled, type LedgerClientOptions } from './ledger-client-options.js';
import { planMending } from './mend-plan.js';
import type { Placement } from './placement.js';
import type { TurnBatch } from './turn-batch.js';
import { hasAckQuorum, type MemberIdentity, type MemberState, type WriterEvent, type WriterState } from './writer-state.js';

/** The writer as its mender sees it; the writer alone owns the state. */
export interface Mendable {
  readonly ledgerId: LedgerId;
  readonly state: WriterState<TurnBatch>;
  stored: VersionedLedger;
  /** The connection that sends to this index from now on. */
  connect(index: number, member: MemberIdentity): void;
  apply(event: WriterEvent<TurnBatch>): void;
}

export interface MenderDependencies {
  clock: Clock;
  records: LedgerRecords;
  registry: BookieRegistry;
  placement: Placement;
  bookies: BookiePool;
  logger: Logger;
  options: Pick<
    LedgerClientOptions,
    'addEntryTimeoutMs' | 'addEntryQuorumTimeoutMs' | 'delayEnsembleChange' | 'disableEnsembleChange' | 'maxAllowedEnsembleChanges'
  >;
}

interface Tries {
  notBeforeMs: number;
  backOffMs: number;
  /** Of the failure that these belong to; -1 for none. */
  failedAtMs: number;
}

/** Before the first try to let a member in again, and then doubling. */
const backOffMsMin = 100;
const backOffMsMax = 5_000;
/** A member that took entries for this long and then fails begins with the shortest wait again. */
const healthyMs = 10_000;
const storeAwayMs = 1_000;

/**
 * Looks after failed members for as long as there are any: changes the ensemble when there is a spare, lets a bookie in again when it is back. One run at a
 * time, hence at most one ensemble change. A member is tried again after a wait that grows; a failure or a change of the registry ends the waiting.
 */
export class EnsembleMender {
  readonly #d: MenderDependencies;
  readonly #writer: Mendable;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Ends the present sleep. */
  #wake: AbortController | undefined;
  /** By index, once its member has failed: when it may be tried again, and how long the next wait is. */
  readonly #tries: (Tries | undefined)[] = [];
  #changesCount = 0;

  constructor(dependencies: MenderDependencies, writer: Mendable) {
    this.#d = dependencies;
    this.#writer = writer;
  }

  /** Bookies came or went. */
  registryChanged(): void {
    for (const one of this.#tries) if (one !== undefined) one.notBeforeMs = 0;
    this.wake();
  }

  /** A member failed, or the writer has ended. */
  wake(): void {
    this.#wake?.abort();
    if (this.#running !== undefined || !this.#hasWork() || this.#stop.signal.aborted) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.wake();
    });
  }

  /** Resolves when no metadata write of this mender is under way any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake?.abort();
    await this.#running;
  }

  #hasWork(): boolean {
    const { state } = this.#writer;
    return state.phase.at === 'open' && state.members.some((member) => member.isFailed);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted && this.#hasWork()) {
      const wake = new AbortController();
      this.#wake = wake;
      let waitMs = storeAwayMs;
      try {
        waitMs = await this.#mend();
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        // While the metadata store is away nothing can change; appends go on with who is left.
        if (!metadataErrors.UNAVAILABLE.is(error)) this.#writer.apply({ kind: 'stop', error });
      }
      if (waitMs > 0) await this.#d.clock.sleep(waitMs, wake.signal);
    }
  }

  /** Does what can be done now; returns how long to wait before looking again. */
  async #mend(): Promise<number> {
    const { registry, placement, clock, options } = this.#d;
    const { state } = this.#writer;
    const { members } = state;
    const ensemble = members.map((member) => member.identity.bookieId);
    const plan = planMending({
      members,
      nowMs: clock.monoMs(),
      busyGraceMs: options.addEntryTimeoutMs,
      registered: (bookieId) => registry.get(bookieId),
      pickSpares: (failed) => placement.pickReplacements(state.sizes, ensemble, failed),
      mayReplace: (member) => this.#mayReplace(member),
    });
    if (plan.replacements.length > 0) {
      await this.#change(plan.replacements);
      return 0;
    }
    let waitMs = backOffMsMax;
    for (const index of plan.readmissions) {
      if (this.#waitMs(index) <= 0) await this.#readmit(index);
      if (members[index]?.isFailed === true) waitMs = Math.min(waitMs, this.#waitMs(index));
    }
    return waitMs;
  }

  #mayReplace(member: MemberState): boolean {
    const { options } = this.#d;
    if (isEnsembleChangeDisabled(options)) return false;
    return !options.delayEnsembleChange || member.failedWith === 'READ_ONLY' || !hasAckQuorum(this.#writer.state);
  }

  /** How long the member at `index` must still wait for its next try. */
  #waitMs(index: number): number {
    const nowMs = this.#d.clock.monoMs();
    const { failedAtMs, admittedAtMs } = this.#writer.state.members[index] as MemberState;
    const one = this.#triesOf(index);
    if (one.failedAtMs !== failedAtMs) {
      if (failedAtMs - admittedAtMs >= healthyMs || one.failedAtMs === -1) one.backOffMs = backOffMsMin;
      one.failedAtMs = failedAtMs;
      one.notBeforeMs = Math.max(one.notBeforeMs, failedAtMs + backOffMsMin);
    }
    return one.notBeforeMs - nowMs;
  }

  #triesOf(index: number): Tries {
    let one = this.#tries[index];
    if (one === undefined) {
      one = { notBeforeMs: 0, backOffMs: backOffMsMin, failedAtMs: -1 };
      this.#tries[index] = one;
    }
    return one;
  }

  #tried(index: number): void {
    const one = this.#triesOf(index);
    one.notBeforeMs = this.#d.clock.monoMs() + one.backOffMs;
    one.backOffMs = Math.min(backOffMsMax, one.backOffMs * 2);
  }

  async #change(replacements: readonly Replacement[]): Promise<void> {
    const { clock, records, logger, options } = this.#d;
    const writer = this.#writer;
    if (this.#changesCount >= options.maxAllowedEnsembleChanges) {
      const why = `its ensemble was changed ${this.#changesCount} times, and maxAllowedEnsembleChanges allows no more`;
      writer.apply({ kind: 'stop', error: ledgerErrors.APPEND_FAILED(writer.ledgerId, why) });
      return;
    }
    this.#changesCount++;
    writer.apply({ kind: 'change-began' });
    const result = await storeEnsembleChange(
      { clock, records },
      {
        ledgerId: writer.ledgerId,
        stored: writer.stored,
        firstEntryId: (writer.state.lastConfirmed + 1) as EntryId,
        replacements,
        deadlineMs: clock.monoMs() + options.addEntryQuorumTimeoutMs,
        stop: this.#stop.signal,
      },
    );
    if (writer.state.phase.at !== 'changing') return; // Closed or failed meanwhile.
    if (result.outcome === 'stored') {
      logger.info({ ledgerId: writer.ledgerId, replacements, firstEntryId: writer.state.lastConfirmed + 1 }, 'ensemble changed');
      this.#install(result.ledger, replacements);
    } else this.#lost(result);
  }

  /** The store names `ledger`'s last ensemble: whoever is new there gets what is not confirmed. */
  #install(ledger: VersionedLedger, replacements: readonly Replacement[]): void {
    const writer = this.#writer;
    writer.stored = ledger;
    const { ensemble } = lastSegment(ledger.metadata);
    const members = writer.state.members.map((member) => member.identity);
    for (const { index, to, incarnation } of replacements) {
      if (ensemble[index] !== to) continue;
      const member = { bookieId: to, incarnation };
      members[index] = member;
      writer.connect(index, member);
    }
    writer.apply({ kind: 'change-ended', members, nowMs: this.#d.clock.monoMs() });
  }

  #lost(result: Exclude<EnsembleChangeResult, { outcome: 'stored' }>): void {
    if (result.outcome !== 'stopped') this.#writer.apply({ kind: 'stop', error: this.#errorOf(result) });
  }

  #errorOf(result: Exclude<EnsembleChangeResult, { outcome: 'stored' | 'stopped' }>): DaybookError {
    const { ledgerId } = this.#writer;
    switch (result.outcome) {
      case 'fenced':
      case 'closed':
        return ledgerErrors.FENCED(ledgerId);
      case 'deleted':
        return ledgerErrors.NOT_FOUND(ledgerId);
      case 'unavailable':
        return ledgerErrors.APPEND_FAILED(ledgerId, 'an ensemble change could not be stored', { cause: result.cause });
    }
  }

  /** The bookie answers and the ledger is still ours: its place is given back. The order matters (P6): first the connection, then the metadata. */
  async #readmit(index: number): Promise<void> {
    const { bookies, records, clock, logger } = this.#d;
    const writer = this.#writer;
    const { state, ledgerId } = writer;
    const member = state.members[index] as MemberState;
    const { identity } = member;
    this.#tried(index);
    const bookie = bookies.get(identity.bookieId);
    if (bookie === undefined || bookie.incarnation !== identity.incarnation) return;
    const { code } = await bookie.service.readLac(ledgerId);
    bookies.report(identity.bookieId, code);
    if (code !== 'OK' && !isNegative(code)) return;
    const ledger = await records.read(ledgerId);
    if (state.phase.at !== 'open' || !member.isFailed || member.identity !== identity) return;
    if (ledger === undefined) this.#lost({ outcome: 'deleted' });
    else if (ledger.metadata.state !== 'OPEN') this.#lost({ outcome: 'fenced' });
    else if (lastSegment(ledger.metadata).ensemble[index] === identity.bookieId) {
      logger.info({ ledgerId, bookieId: identity.bookieId, fromEntryId: state.lastConfirmed + 1 }, 'bookie takes entries again');
      writer.stored = ledger;
      writer.connect(index, identity);
      writer.apply({ kind: 'readmit', index, nowMs: clock.monoMs() });
    }
  }
}
