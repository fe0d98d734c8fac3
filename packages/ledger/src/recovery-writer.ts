import type { BookieRegistry } from '@daybook/metadata';
import {
  type BookieId,
  type EntryId,
  encodeAppendBatchOfEntries,
  entryEntryId,
  entryLength,
  type LedgerId,
  type LedgerMetadata,
  masterKey,
} from '@daybook/proto';
import { type Clock, type DaybookError, invariant, type Logger } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment, storesEntry, withEnsembleFrom } from './distribution.js';
import { ledgerErrors } from './errors.js';
import { lagMsMax } from './ledger-client-options.js';

import { MemberConnections } from './member-connections.js';
import { PatienceTimer } from './patience-timer.js';
import type { Placement } from './placement.js';
import type { TurnBatch } from './turn-batch.js';
import {
  failedIndexes,
  hasAckQuorum,
  type MemberIdentity,
  newWriterState,
  step,
  type WriterEffect,
  type WriterEvent,
  type WriterState,
} from './writer-state.js';

export interface RecoveryWriterDependencies {
  clock: Clock;
  registry: BookieRegistry;
  placement: Placement;
  bookies: BookiePool;
  logger: Logger;
  addEntryTimeoutMs: number;
  addEntryQuorumTimeoutMs: number;
}

const judgeMs = 250;
const windowBytes = 8 * 1024 * 1024;

/**
 * Writes a recovered tail to its write sets again until Qa of each hold it, with the same state machine as a ledger's writer. Differences: entries go out
 * unchanged (their last-add-confirmed is what the first writer had truly confirmed, never what this recovery only hopes to close at) and pass on
 * fenced bookies; an ensemble change stays in memory (R8); a failed member without a spare is left out.
 */
export class RecoveryWriter {
  readonly #d: RecoveryWriterDependencies;
  readonly #ledgerId: LedgerId;
  readonly #masterKey: Buffer;
  readonly #state: WriterState<TurnBatch>;
  readonly #connections: MemberConnections;
  readonly #patience: PatienceTimer;
  #metadata: LedgerMetadata;
  #error: DaybookError | undefined;
  #waiters: (() => void)[] = [];

  constructor(dependencies: RecoveryWriterDependencies, from: { ledgerId: LedgerId; metadata: LedgerMetadata; lastConfirmed: EntryId }) {
    const { clock } = dependencies;
    this.#d = dependencies;
    this.#ledgerId = from.ledgerId;
    this.#metadata = from.metadata;
    this.#masterKey = masterKey(from.metadata.password);
    const members = lastSegment(from.metadata).ensemble.map((bookieId) => this.#identityOf(bookieId));
    this.#connections = new MemberConnections(dependencies, this, members);
    this.#patience = new PatienceTimer(clock, judgeMs, this);
    this.#state = newWriterState({
      sizes: from.metadata,
      limits: {
        appendTimeoutMs: dependencies.addEntryTimeoutMs,
        quorumTimeoutMs: dependencies.addEntryQuorumTimeoutMs,
        lagBytesMax: windowBytes / 2,
        lagMsMax,
      },
      members,
      lastConfirmed: from.lastConfirmed,
      lengthConfirmed: 0,
      nowMs: clock.monoMs(),
    });
  }

  /** The record recovery began with, and the ensembles it had to change in memory. */
  get metadata(): LedgerMetadata {
    return this.#metadata;
  }

  /** @internal For the timer. */
  get isWaiting(): boolean {
    return this.#state.batches.count > 0;
  }

  /** @internal For the timer. */
  judge(nowMs: number): void {
    this.apply({ kind: 'tick', nowMs });
  }

  /** The last entry handed over, or where recovery began. */
  get lastEntryId(): EntryId {
    return this.#state.lastAppended as EntryId;
  }

  /** Sends consecutive entries on their way; waits only while the window is full. */
  async rewrite(entries: readonly Buffer[]): Promise<void> {
    this.apply({ kind: 'append', batch: this.#batchOf(entries) });
    this.#patience.start();
    await this.#until(() => this.#state.retainedBytes < windowBytes);
  }

  /** Resolves when Qa of each write set hold everything handed over. */
  settled(): Promise<void> {
    return this.#until(() => this.#state.lastConfirmed === this.#state.lastAppended);
  }

  /** Answers that are still to come are of no interest. */
  close(): void {
    this.#patience.stop();
    this.apply({ kind: 'close' });
  }

  async #until(isDone: () => boolean): Promise<void> {
    while (this.#error === undefined && !isDone()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
    if (this.#error !== undefined) throw this.#error;
  }

  #batchOf(entries: readonly Buffer[]): TurnBatch {
    const { ensembleSize, writeQuorumSize } = this.#metadata;
    const head = { ledgerId: this.#ledgerId, masterKey: this.#masterKey, isRecovery: true };
    const blobOf = (index: number) => {
      const own = entries.filter((entry) => storesEntry(this.#metadata, index, entryEntryId(entry)));
      return own.length === 0 ? undefined : encodeAppendBatchOfEntries(head, own);
    };
    const blobs =
      ensembleSize === writeQuorumSize
        ? [encodeAppendBatchOfEntries(head, entries)]
        : Array.from({ length: ensembleSize }, (_, index) => blobOf(index));
    const last = entries.at(-1);
    invariant(last !== undefined, 'there is something to rewrite');
    return {
      number: this.#state.batches.nextNumber,
      firstEntryId: entryEntryId(entries[0] as Buffer),
      lastEntryId: entryEntryId(last),
      bytes: blobs.reduce((sum, blob) => sum + (blob?.bytes.length ?? 0), 0),
      lengthUpTo: entryLength(last),
      builtAtMs: this.#d.clock.monoMs(),
      blobs,
    };
  }

  /** @internal For connections and timer: the only way to the state machine. */
  apply(event: WriterEvent<TurnBatch>): void {
    const effects: WriterEffect<TurnBatch>[] = [];
    step(this.#state, event, effects);
    for (const effect of effects) this.#perform(effect);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter();
  }

  #perform(effect: WriterEffect<TurnBatch>): void {
    switch (effect.kind) {
      case 'send':
        this.#connections.send(effect);
        break;
      case 'confirmed':
        break;
      case 'member-failed':
        this.#d.logger.warn({ ledgerId: this.#ledgerId, bookieId: this.#bookieAt(effect.index), code: effect.code }, 'bookie failed in recovery');
        this.#d.clock.endOfTurn(() => this.#replaceFailed());
        break;
      case 'failed':
        this.#error = this.#errorOf(effect.failure);
        break;
    }
  }

  /** Spares take the places of failed members, in memory; without spares it goes on as long as Qa of each write set are left. */
  #replaceFailed(): void {
    const failed = failedIndexes(this.#state);
    if (this.#state.phase.at !== 'open' || failed.length === 0) return;
    this.#takeSpares(failed);
    if (hasAckQuorum(this.#state)) return;
    const missing = failedIndexes(this.#state).map((index) => `${this.#bookieAt(index)} (${this.#state.members[index]?.failedWith})`);
    const cause = ledgerErrors.NOT_ENOUGH_BOOKIES(this.#metadata.ackQuorumSize, this.#d.placement.describeWritable(), missing.join(', '));
    this.apply({ kind: 'stop', error: ledgerErrors.RECOVERY_FAILED(this.#ledgerId, cause.message, { cause }) });
  }

  #takeSpares(failed: readonly number[]): void {
    const ensemble = this.#state.members.map((member) => member.identity.bookieId);
    const members = this.#state.members.map((member) => member.identity);
    const spares = this.#d.placement.pickReplacements(this.#metadata, ensemble, failed);
    if (spares.size === 0) return;
    for (const [index, bookieId] of spares) {
      const member = this.#identityOf(bookieId);
      members[index] = member;
      ensemble[index] = bookieId;
      this.#connections.connect(index, member);
    }
    this.apply({ kind: 'change-began' });
    this.#metadata = withEnsembleFrom(this.#metadata, (this.#state.lastConfirmed + 1) as EntryId, ensemble);
    this.apply({ kind: 'change-ended', members, nowMs: this.#d.clock.monoMs() });
  }

  #errorOf(failure: Extract<WriterEffect<TurnBatch>, { kind: 'failed' }>['failure']): DaybookError {
    switch (failure.reason) {
      case 'unauthorized':
        return ledgerErrors.UNAUTHORIZED(this.#ledgerId);
      case 'fenced':
      case 'bad-request':
      case 'stranded':
        return ledgerErrors.RECOVERY_FAILED(this.#ledgerId, `bookie ${failure.bookieId} refused a recovered entry (${failure.reason})`);
      case 'timeout':
        return ledgerErrors.RECOVERY_FAILED(this.#ledgerId, `a recovered entry was not acknowledged for ${this.#d.addEntryQuorumTimeoutMs} ms`);
      case 'stopped':
        return failure.error as DaybookError;
    }
  }

  #identityOf(bookieId: BookieId): MemberIdentity {
    return { bookieId, incarnation: this.#d.bookies.get(bookieId)?.incarnation ?? '' };
  }

  #bookieAt(index: number): BookieId {
    const member = this.#state.members[index];
    invariant(member !== undefined, `index ${index} of the ensemble`);
    return member.identity.bookieId;
  }
}
