import { type BookieRegistry, type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type EntryId, isNegative, type LedgerId } from '@daybook/proto';
import { type Clock, DaybookError, type Logger } from '@daybook/runtime';
import type { BookiePool, PooledBookie } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { type EnsembleChangeResult, type Replacement, storeEnsembleChange } from './ensemble-change.js';
import { ledgerErrors } from './errors.js';

import { planMending } from './mend-plan.js';
import type { Placement } from './placement.js';
import type { TurnBatch } from './turn-batch.js';
import type { WriterEvent, WriterState } from './writer-state.js';

/** The writer as its mender sees it; the writer alone owns the state. */
export interface Mendable {
  readonly ledgerId: LedgerId;
  readonly state: WriterState<TurnBatch>;
  stored: VersionedLedger;
  /** The connection that sends to this index from now on. */
  connect(index: number, bookie: PooledBookie | undefined): void;
  apply(event: WriterEvent<TurnBatch>): void;
}

export interface MenderDependencies {
  clock: Clock;
  records: LedgerRecords;
  registry: BookieRegistry;
  placement: Placement;
  bookies: BookiePool;
  logger: Logger;
  busyGraceMs: number;
  storeTimeoutMs: number;
}

const backOffMsMin = 100;
const backOffMsMax = 5_000;

/**
 * Looks after failed members for as long as there are any: changes the ensemble when there is a spare, lets a bookie in again when it is back. One run at a
 * time, hence at most one ensemble change. Sleeps between attempts, longer each time, and wakes when a member fails or the registry changes.
 */
export class EnsembleMender {
  readonly #d: MenderDependencies;
  readonly #writer: Mendable;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #wake = new AbortController();

  constructor(dependencies: MenderDependencies, writer: Mendable) {
    this.#d = dependencies;
    this.#writer = writer;
  }

  /** Something changed: a member failed, or bookies came or went. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    this.#wake.abort();
    if (this.#running !== undefined || !this.#hasWork()) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.wake();
    });
  }

  /** Resolves when no metadata write of this mender is under way any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    await this.#running;
  }

  #hasWork(): boolean {
    const { state } = this.#writer;
    return state.phase.at === 'open' && state.members.some((member) => member.isFailed);
  }

  async #run(): Promise<void> {
    let backOffMs = backOffMsMin;
    while (!this.#stop.signal.aborted && this.#hasWork()) {
      this.#wake = new AbortController();
      let isProgress = false;
      try {
        isProgress = await this.#mend();
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        // While the metadata store is away nothing can change; appends go on with who is left.
        if (!metadataErrors.UNAVAILABLE.is(error)) return this.#writer.apply({ kind: 'stop', error });
      }
      if (isProgress) backOffMs = backOffMsMin;
      else {
        await this.#d.clock.sleep(backOffMs, this.#wake.signal);
        backOffMs = this.#wake.signal.aborted ? backOffMsMin : Math.min(backOffMsMax, backOffMs * 2);
      }
    }
  }

  async #mend(): Promise<boolean> {
    const { registry, placement, clock, busyGraceMs } = this.#d;
    const plan = planMending({
      members: this.#writer.state.members,
      nowMs: clock.monoMs(),
      busyGraceMs,
      registered: (bookieId) => registry.get(bookieId),
      pickSpares: (count, excluded) => placement.pickSpares(count, excluded),
    });
    if (plan.replacements.length > 0) {
      await this.#change(plan.replacements);
      return true;
    }
    let isProgress = false;
    for (const index of plan.readmissions) isProgress = (await this.#readmit(index)) || isProgress;
    return isProgress;
  }

  async #change(replacements: readonly Replacement[]): Promise<void> {
    const { clock, records, logger, storeTimeoutMs } = this.#d;
    const writer = this.#writer;
    writer.apply({ kind: 'change-began' });
    const result = await storeEnsembleChange(
      { clock, records },
      {
        ledgerId: writer.ledgerId,
        stored: writer.stored,
        firstEntryId: (writer.state.lastConfirmed + 1) as EntryId,
        replacements,
        deadlineMs: clock.monoMs() + storeTimeoutMs,
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
      members[index] = { bookieId: to, incarnation };
      const bookie = this.#d.bookies.get(to);
      writer.connect(index, bookie?.incarnation === incarnation ? bookie : undefined);
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
  async #readmit(index: number): Promise<boolean> {
    const { bookies, records, clock, logger } = this.#d;
    const writer = this.#writer;
    const { identity } = writer.state.members[index] as (typeof writer.state.members)[number];
    const bookie = bookies.get(identity.bookieId);
    if (bookie === undefined || bookie.incarnation !== identity.incarnation) return false;
    const { code } = await bookie.service.readLac(writer.ledgerId);
    bookies.report(identity.bookieId, code);
    if (code !== 'OK' && !isNegative(code)) return false;
    const ledger = await records.read(writer.ledgerId);
    const { state } = writer;
    const member = state.members[index] as (typeof state.members)[number];
    if (state.phase.at !== 'open' || !member.isFailed || member.identity !== identity) return false;
    if (ledger === undefined) this.#lost({ outcome: 'deleted' });
    else if (ledger.metadata.state !== 'OPEN') this.#lost({ outcome: 'fenced' });
    else if (lastSegment(ledger.metadata).ensemble[index] === identity.bookieId) {
      logger.info({ ledgerId: writer.ledgerId, bookieId: identity.bookieId, fromEntryId: state.lastConfirmed + 1 }, 'bookie takes entries again');
      writer.stored = ledger;
      writer.connect(index, bookie);
      writer.apply({ kind: 'readmit', index, nowMs: clock.monoMs() });
    }
    return state.phase.at === 'open';
  }
}
