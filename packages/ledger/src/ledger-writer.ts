import type { BookieRegistry, LedgerRecords, VersionedLedger } from '@daybook/metadata';
import { type BookieId, createDigest, type EntryId, type LedgerId, type LedgerMetadata, masterKey } from '@daybook/proto';
import { type Clock, invariant, type Logger } from '@daybook/runtime';
import { AppendQueue } from './append-queue.js';
import { AppendWaiters } from './append-waiters.js';
import type { BookiePool } from './bookie-pool.js';
import { closeLedger, type LedgerEnd } from './close-ledger.js';
import { EnsembleMender, type Mendable } from './ensemble-mender.js';
import { ledgerErrors } from './errors.js';
import { ExplicitLac, type LacSource } from './explicit-lac.js';
import { forceMembers, haveAllAnswered } from './force-op.js';
import type { AppendListener, LedgerWriter } from './ledger-api.js';
import { type LedgerClientOptions, lagMsMax } from './ledger-client-options.js';
import { MemberConnections } from './member-connections.js';
import { PatienceTimer } from './patience-timer.js';
import type { Placement } from './placement.js';
import { type TurnBatch, TurnBatcher } from './turn-batch.js';
import { writerError } from './writer-error.js';
import {
  failedIndexes,
  type MemberIdentity,
  newWriterState,
  step,
  type WriterEffect,
  type WriterEvent,
  type WriterLimits,
  type WriterState,
} from './writer-state.js';

export interface WriterDependencies {
  clock: Clock;
  records: LedgerRecords;
  registry: BookieRegistry;
  placement: Placement;
  bookies: BookiePool;
  logger: Logger;
  options: LedgerClientOptions;
  /** Of `options`; see {@link writerLimits}. */
  limits: WriterLimits;
  /** Whoever keeps the writers tells them of changes of the registry, and is told when one has ended. */
  writerEnded(writer: EnsembleWriter): void;
}

export function writerLimits(options: LedgerClientOptions, placement: Placement): WriterLimits {
  const domainsMin = options.minNumRacksPerWriteQuorum;
  const domainOf = (bookieId: BookieId) => placement.locationOf(bookieId).rack;
  return {
    appendTimeoutMs: options.addEntryTimeoutMs,
    quorumTimeoutMs: options.addEntryQuorumTimeoutMs,
    lagBytesMax: options.lagBytesMax,
    lagMsMax,
    faultDomains: options.enforceMinNumFaultDomainsForWrite ? { domainsMin, domainOf } : undefined,
  };
}

export interface NewLedger {
  readonly ledgerId: LedgerId;
  readonly stored: VersionedLedger;
  readonly members: readonly MemberIdentity[];
  readonly isDeferredSync: boolean;
}

/** How far a ledger with deferred sync is durable. */
interface Forced {
  readonly lastEntryId: EntryId;
  readonly length: number;
}

const nothingForced: Forced = { lastEntryId: -1 as EntryId, length: 0 };

/** How often time-outs are looked at while something is pending. */
const judgeMs = 250;

/**
 * The doing half of a ledger writer: builds the batches of each turn of the event loop, sends them, keeps the time, tells who waits. All decisions
 * are `step`'s (writer-state.ts); repairs of the ensemble are the mender's.
 */
export class EnsembleWriter implements LedgerWriter, Mendable, LacSource {
  readonly ledgerId: LedgerId;
  readonly state: WriterState<TurnBatch>;
  stored: VersionedLedger;
  readonly #d: WriterDependencies;
  readonly #batcher: TurnBatcher;
  readonly #mender: EnsembleMender;
  readonly #connections: MemberConnections;
  readonly #patience: PatienceTimer;
  readonly #explicitLac: ExplicitLac | undefined;
  #waiters: AppendWaiters | undefined;
  #queue: AppendQueue | undefined;
  #listener: AppendListener | undefined;
  #drainTasks: (() => void)[] = [];
  /** Looked at after each event. */
  #stateTasks: (() => void)[] = [];
  #forced: Forced | undefined;
  carriedLac = -1;
  #lastPushed = -1;
  #lengthPushed = 0;
  #isFlushDue = false;
  #error: Error | undefined;
  #closing: Promise<LedgerEnd> | undefined;

  constructor(dependencies: WriterDependencies, ledger: NewLedger) {
    const { clock, limits, options } = dependencies;
    const { metadata } = ledger.stored;
    this.#d = dependencies;
    this.ledgerId = ledger.ledgerId;
    this.stored = ledger.stored;
    if (ledger.isDeferredSync) this.#forced = nothingForced;
    this.#batcher = new TurnBatcher({
      sizes: metadata,
      ledgerId: ledger.ledgerId,
      masterKey: masterKey(metadata.password),
      digest: createDigest(metadata.digestType, metadata.password),
      isRecovery: false,
      isDeferredSync: ledger.isDeferredSync,
    });
    this.state = newWriterState({
      sizes: metadata,
      limits,
      isDeferredSync: ledger.isDeferredSync,
      members: ledger.members,
      lastConfirmed: -1,
      lengthConfirmed: 0,
      nowMs: clock.monoMs(),
    });
    this.#connections = new MemberConnections(dependencies, this, ledger.members);
    this.#patience = new PatienceTimer(clock, judgeMs, this);
    this.#mender = new EnsembleMender(dependencies, this);
    const intervalMs = options.explicitLacInterval;
    if (intervalMs > 0) this.#explicitLac = new ExplicitLac({ clock, intervalMs, source: this, connections: this.#connections });
  }

  get metadata(): LedgerMetadata {
    return this.stored.metadata;
  }

  get lastAddConfirmed(): EntryId {
    return this.#forced === undefined ? (this.state.lastConfirmed as EntryId) : this.#forced.lastEntryId;
  }

  get lastAddPushed(): EntryId {
    return this.#lastPushed as EntryId;
  }

  get length(): number {
    return this.#lengthPushed;
  }

  get pendingBytes(): number {
    return this.state.retainedBytes + this.#batcher.bytes;
  }

  get isFull(): boolean {
    return this.pendingBytes >= this.#d.options.windowBytes;
  }

  get isDegraded(): boolean {
    return this.state.members.some((member) => member.isFailed);
  }

  get failedBookies(): readonly BookieId[] {
    return failedIndexes(this.state).map((index) => this.#identityAt(index).bookieId);
  }

  listen(listener: AppendListener): void {
    invariant(this.#listener === undefined && this.#lastPushed === -1, 'one listener, set before the first push');
    this.#listener = listener;
  }

  onDrain(task: () => void): void {
    this.#drainTasks.push(task);
    this.#drain();
  }

  push(payload: Uint8Array): EntryId {
    if (this.#error !== undefined) throw this.#error;
    invariant(!this.isFull, 'wait for onDrain while the writer is full');
    const entryId = (this.#lastPushed + 1) as EntryId;
    const { lastAddConfirmed } = this;
    this.#batcher.add(entryId, lastAddConfirmed, this.#lengthPushed + payload.length, payload, this.#d.clock);
    this.carriedLac = lastAddConfirmed;
    this.#lastPushed = entryId;
    this.#lengthPushed += payload.length;
    if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      this.#d.clock.endOfTurn(() => this.#flushTurn());
    }
    return entryId;
  }

  async append(payload: Uint8Array): Promise<EntryId> {
    invariant(this.#listener === undefined, 'append is for writers without a listener');
    const isWaiting = this.#queue?.isEmpty === false;
    if ((!isWaiting && !this.isFull) || this.#error !== undefined) return this.#appendNow(payload);
    const { waitingAppendBytesMax } = this.#d.options;
    this.#queue ??= new AppendQueue();
    if (isWaiting && this.#queue.bytes + payload.length > waitingAppendBytesMax) throw ledgerErrors.OVERLOADED(this.ledgerId, waitingAppendBytesMax);
    const appended = this.#queue.add(payload);
    if (!isWaiting) this.onDrain(() => this.#drainQueue());
    return appended;
  }

  async force(): Promise<EntryId> {
    if (this.#error !== undefined) throw this.#error;
    const { lastConfirmed, lengthConfirmed } = this.state;
    if (this.#forced === undefined || lastConfirmed <= this.#forced.lastEntryId) return this.lastAddConfirmed;
    await this.#until(() => haveAllAnswered(this.state, lastConfirmed));
    await forceMembers(this.#connections, { ledgerId: this.ledgerId, state: this.state, upTo: lastConfirmed });
    if (this.#error !== undefined) throw this.#error;
    if (lastConfirmed > this.#forced.lastEntryId) this.#forced = { lastEntryId: lastConfirmed as EntryId, length: lengthConfirmed };
    this.#explicitLac?.moved();
    return this.lastAddConfirmed;
  }

  close(): Promise<LedgerEnd> {
    if (this.#closing === undefined) {
      const closing = this.#close();
      this.#closing = closing;
      // After a failure (the metadata store was away) it may be tried again.
      closing.catch(() => {
        this.#closing = undefined;
      });
    }
    return this.#closing;
  }

  /** Ends it without a word to the metadata: the process ends, or the test does as if. */
  abandon(error: Error): void {
    this.apply({ kind: 'stop', error });
  }

  /** @internal For the mender. */
  connect(index: number, member: MemberIdentity): void {
    this.#connections.connect(index, member);
  }

  /** @internal For the timer. */
  get isWaiting(): boolean {
    return this.state.batches.count > 0;
  }

  /** @internal For the timer. */
  judge(nowMs: number): void {
    this.apply({ kind: 'tick', nowMs });
  }

  /** @internal The only way to the state machine; for the mender too. */
  apply(event: WriterEvent<TurnBatch>): void {
    const effects: WriterEffect<TurnBatch>[] = [];
    step(this.state, event, effects);
    for (const effect of effects) this.#perform(effect);
    if (this.#drainTasks.length > 0) this.#drain();
    if (this.#stateTasks.length > 0) this.#runStateTasks();
  }

  #appendNow(payload: Uint8Array): Promise<EntryId> {
    const entryId = this.push(payload);
    this.#waiters ??= new AppendWaiters();
    return this.#waiters.add(entryId);
  }

  /** Those who found the window full, in their order. */
  #drainQueue(): void {
    const queue = this.#queue as AppendQueue;
    while (!queue.isEmpty && !this.isFull) queue.takeFirst((payload) => this.#appendNow(payload));
    if (!queue.isEmpty) this.onDrain(() => this.#drainQueue());
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (this.#error === undefined && !isSo()) await new Promise<void>((resolve) => this.#stateTasks.push(resolve));
    if (this.#error !== undefined) throw this.#error;
  }

  #runStateTasks(): void {
    const tasks = this.#stateTasks;
    this.#stateTasks = [];
    for (const task of tasks) task();
  }

  #perform(effect: WriterEffect<TurnBatch>): void {
    switch (effect.kind) {
      case 'send':
        this.#connections.send(effect);
        break;
      case 'confirmed':
        this.#waiters?.confirmed(effect.upTo as EntryId);
        this.#listener?.confirmed(effect.upTo as EntryId);
        this.#explicitLac?.moved();
        break;
      case 'member-failed': {
        const { bookieId } = this.#identityAt(effect.index);
        this.#d.logger.warn({ ledgerId: this.ledgerId, bookieId, code: effect.code }, 'bookie of the ensemble failed');
        this.#mender.wake();
        break;
      }
      case 'failed':
        this.#end(writerError(effect.failure, { ledgerId: this.ledgerId, state: this.state, placement: this.#d.placement }));
        break;
    }
  }

  #flushTurn(): void {
    this.#isFlushDue = false;
    if (this.#error !== undefined) return;
    for (const batch of this.#batcher.take()) this.apply({ kind: 'append', batch });
    this.#patience.start();
  }

  /** Bookies came or went. */
  registryChanged(): void {
    const nowMs = this.#d.clock.monoMs();
    for (const [index, { identity }] of this.state.members.entries()) {
      const registered = this.#d.registry.get(identity.bookieId);
      if (registered !== undefined && registered.incarnation !== identity.incarnation) this.apply({ kind: 'member-lost', index, nowMs });
    }
    this.#mender.registryChanged();
  }

  /** One after the other, as each may fill the window again. */
  #drain(): void {
    while (this.#drainTasks.length > 0 && (!this.isFull || this.#error !== undefined)) this.#drainTasks.shift()?.();
  }

  /** Nothing is taken any more: everybody who waits hears why. */
  #end(error: Error): void {
    this.#error = error;
    const isShort = this.state.lastConfirmed < this.#lastPushed;
    this.#batcher.take();
    this.#patience.stop();
    this.#explicitLac?.stop();
    this.#mender.wake(); // So that it ends.
    this.#waiters?.failed(error);
    this.#queue?.failed(error);
    if (this.state.phase.at === 'failed') this.#d.logger.warn({ ledgerId: this.ledgerId, error }, 'ledger writer failed');
    if (isShort || this.state.phase.at === 'failed') this.#listener?.failed(error, this.lastAddConfirmed);
    this.#drain();
    this.#d.writerEnded(this);
  }

  async #close(): Promise<LedgerEnd> {
    const isFenced = ledgerErrors.FENCED.is(this.#error);
    if (this.#error === undefined) {
      this.apply({ kind: 'close' });
      this.#end(ledgerErrors.CLOSED(this.ledgerId));
    }
    await this.#mender.close();
    const end = { lastEntryId: this.lastAddConfirmed, length: this.#forced?.length ?? this.state.lengthConfirmed };
    this.#lengthPushed = end.length;
    this.stored = await closeLedger(this.#d.records, { ledgerId: this.ledgerId, stored: this.stored, isFenced, ...end });
    return end;
  }

  #identityAt(index: number): MemberIdentity {
    const member = this.state.members[index];
    invariant(member !== undefined, `index ${index} of the ensemble`);
    return member.identity;
  }
}
