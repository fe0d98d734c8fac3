import { type LedgerWriter, ledgerErrors } from '@daybook/ledger';
import { type EntryId, entryPayloadBytesMax, type LedgerId } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import type { RoomWaiter } from './append-budget.js';
import { AppendQueue } from './append-queue.js';
import type { LogContext } from './context.js';
import { CurrentLedger, type CurrentLedgerOwner } from './current-ledger.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerChain } from './ledger-chain.js';
import { withEnd } from './ledger-infos.js';
import type { LedgerList } from './ledger-list.js';
import { LedgerMaker } from './ledger-maker.js';
import { deleteLedgers, finishLedger, type LedgerEnd } from './ledger-switch.js';
import type { ManagedAppendListener, ManagedLedgerOptions, ManagedLedgerStats } from './managed-ledger-api.js';
import { canGrow, type RollReason, rollReason } from './rollover.js';
import type { TailCache } from './tail-cache.js';

/** `rolling`: nothing is pushed; the ledger is being ended and replaced, appends wait. `fenced` and `closed` are for good. */
type State =
  | { kind: 'open'; current: CurrentLedger }
  | { kind: 'rolling'; current: CurrentLedger }
  | { kind: 'closing'; current: CurrentLedger }
  | { kind: 'closed'; current: CurrentLedger }
  | { kind: 'fenced'; current: CurrentLedger; error: Error };

export interface AppenderOwner {
  readonly name: string;
  readonly options: ManagedLedgerOptions;
  readonly chain: LedgerChain;
  readonly list: LedgerList;
  readonly tail: TailCache;
  /** The chain has grown. */
  confirmed(): void;
  /** The chain's last ledger was replaced. */
  switched(): void;
  fenced(error: Error): void;
}

type AppenderStats = Pick<
  ManagedLedgerStats,
  'entriesAddedCounter' | 'lastLedgerCreatedMs' | 'lastLedgerCreationFailureMs' | 'pendingAppendsCount' | 'state' | 'ensemble'
>;

/** The writing half of a log: one ledger at a time takes the appends; when it ends or fails, the next one takes over what was not acknowledged. */
export class Appender implements CurrentLedgerOwner, RoomWaiter {
  readonly #context: LogContext;
  readonly #owner: AppenderOwner;
  readonly #queue = new AppendQueue();
  readonly #stop = new AbortController();
  readonly #maker: LedgerMaker;
  #state: State;
  #listener: ManagedAppendListener | undefined;
  #switching: Promise<void> | undefined;
  #drainTasks: (() => void)[] = [];
  #canGrowSinceMs: number | undefined;
  #addedCount = 0;

  constructor(context: LogContext, owner: AppenderOwner, writer: LedgerWriter) {
    this.#context = context;
    this.#owner = owner;
    this.#maker = new LedgerMaker(context, owner, this.#stop);
    this.#state = { kind: 'open', current: new CurrentLedger(writer, context.clock, this) };
  }

  listen(listener: ManagedAppendListener): void {
    invariant(this.#listener === undefined, 'a log has one listener');
    this.#listener = listener;
  }

  get isFull(): boolean {
    return this.#queue.bytes >= this.#context.settings.appendBytesMax || this.#context.budget.isFull;
  }

  onDrain(task: () => void): void {
    this.#drainTasks.push(task);
    if (this.#context.budget.isFull) this.#context.budget.onRoom(this);
    else if (!this.isFull) this.#context.clock.endOfTurn(() => this.#drain());
  }

  append(payload: Uint8Array): void {
    const state = this.#state;
    if (state.kind === 'fenced') throw state.error;
    if (state.kind === 'closing' || state.kind === 'closed') throw managedLedgerErrors.CLOSED(this.#owner.name);
    if (payload.length > entryPayloadBytesMax) throw ledgerErrors.TOO_LARGE(payload.length, entryPayloadBytesMax);
    const slab = this.#context.cache.copy(payload);
    this.#queue.add(slab, this.#context.cache.lastOffset, payload.length);
    this.#context.budget.add(payload.length);
    // Nothing waits before it: the caller's bytes go straight to the ledger.
    if (state.kind === 'open' && this.#queue.waitingCount === 1 && state.current.isWritable) this.#push(state.current, payload);
    else this.#pump();
  }

  /** Rolls for age or size, grows the ensemble, and fails what has waited too long. */
  tick(nowMs: number): void {
    if (this.#state.kind !== 'open' && this.#state.kind !== 'rolling') return;
    const { appendWaitMaxMs } = this.#context.settings;
    const old = this.#queue.failOlder(nowMs, appendWaitMaxMs);
    if (old.bytes > 0) this.#context.budget.remove(old.bytes);
    if (old.count > 0) this.#listener?.failed(old.count, this.#timedOut());
    this.#drain();
    this.#checkRoll(nowMs);
    this.#checkSize(nowMs);
  }

  /** Ends the current ledger; the next append goes to a new one. Rejects when none can be made now. */
  async roll(): Promise<void> {
    await this.#switching;
    const { current, kind } = this.#state;
    if (kind === 'open') await this.#startSwitch(current, 'asked');
    if (this.#state.kind === 'fenced') throw this.#state.error;
    if (this.#state.kind !== 'open') throw managedLedgerErrors.CLOSED(this.#owner.name);
    if (this.#state.current === current && this.#maker.lastFailure !== undefined) throw this.#maker.lastFailure;
  }

  /** Answers what can be answered, fails the rest, ends the ledger. Never rejects; what it cannot end, the next opener recovers. */
  async close(): Promise<void> {
    if (this.#state.kind === 'open' || this.#state.kind === 'rolling') {
      this.#state = { kind: 'closing', current: this.#state.current };
      this.#stop.abort();
    }
    await this.#switching;
    if (this.#state.kind !== 'closing') return;
    const { current } = this.#state;
    await current.drained(this.#context.settings.drainWaitMaxMs);
    try {
      const end = await current.writer.close();
      this.confirm(current, end.lastEntryId);
    } catch (error) {
      this.#context.logger.info({ log: this.#owner.name, ledgerId: current.writer.ledgerId, error }, 'the last ledger is left for recovery');
    }
    this.#state = { kind: 'closed', current };
    const rest = this.#queue.failAll();
    this.#context.budget.remove(rest.bytes);
    if (rest.count > 0) this.#listener?.failed(rest.count, managedLedgerErrors.CLOSED(this.#owner.name));
    this.#context.budget.forget(this);
  }

  /** Somebody else owns the log: from here on nothing is answered. */
  fence(error: Error): void {
    if (this.#state.kind === 'fenced' || this.#state.kind === 'closed') return;
    const { current } = this.#state;
    this.#state = { kind: 'fenced', current, error };
    this.#stop.abort();
    this.#context.budget.remove(this.#queue.failAll().bytes);
    this.#context.budget.forget(this);
    this.#context.background(current.writer.close().catch(() => undefined));
    this.#context.logger.warn({ log: this.#owner.name, error }, 'the log cannot go on here');
    this.#owner.fenced(error);
    this.#listener?.fenced(error);
  }

  stats(): AppenderStats {
    const { current } = this.#state;
    const { metadata, failedBookies } = current.writer;
    return {
      entriesAddedCounter: this.#addedCount,
      lastLedgerCreatedMs: current.createdWallMs,
      lastLedgerCreationFailureMs: this.#maker.lastFailureWallMs,
      pendingAppendsCount: this.#queue.unansweredCount,
      state: this.#stateName(),
      ensemble: { size: metadata.ensembleSize - failedBookies.length, configured: this.#owner.options.ensembleSize },
    };
  }

  get currentLedgerId(): LedgerId {
    return this.#state.current.writer.ledgerId;
  }

  #hasEnded(): boolean {
    return this.#state.kind === 'fenced' || this.#state.kind === 'closed';
  }

  #stateName(): ManagedLedgerStats['state'] {
    switch (this.#state.kind) {
      case 'open':
        return 'LedgerOpened';
      case 'rolling':
        return this.#state.current.failure === undefined ? 'ClosingLedger' : 'CreatingLedger';
      case 'fenced':
        return 'Fenced';
      case 'closing':
      case 'closed':
        return 'Closed';
    }
  }

  #push(current: CurrentLedger, payload: Uint8Array): void {
    try {
      current.writer.push(payload);
    } catch (error) {
      this.writerFailed(current, error as Error);
      return;
    }
    this.#queue.markPushed();
  }

  #pump(): void {
    while (this.#state.kind === 'open' && this.#queue.waitingCount > 0) {
      const { current } = this.#state;
      if (!current.isWritable) {
        current.whenRoom(() => this.#pump());
        return;
      }
      this.#push(current, this.#queue.nextWaiting());
    }
  }

  /** @internal For the budget. */
  roomMade(): void {
    this.#drain();
  }

  /** @internal For the current ledger. */
  confirm(current: CurrentLedger, last: EntryId): void {
    const count = last - current.lastConfirmed;
    if (count <= 0 || this.#state.current !== current || this.#state.kind === 'fenced' || this.#state.kind === 'closed') return;
    const { ledgerId } = current.writer;
    const { tail, chain } = this.#owner;
    const first = current.lastConfirmed + 1;
    let id = first;
    const { bytes, failedBefore } = this.#queue.confirm(count, (slab, offset, length) => tail.add({ ledgerId, entryId: id++, slab, offset, length }));
    current.lastConfirmed = last;
    chain.grow(count, bytes);
    this.#addedCount += count;
    this.#context.budget.remove(bytes);
    this.#owner.confirmed();
    if (count > failedBefore) this.#listener?.appended(ledgerId, (first + failedBefore) as EntryId, count - failedBefore);
    current.progressed();
    this.#drain();
    this.#checkRoll(this.#context.clock.monoMs());
  }

  /** @internal For the current ledger. */
  writerFailed(current: CurrentLedger, error: Error): void {
    if (current.failure !== undefined) return;
    current.failure = error;
    this.#maker.lastFailure = error;
    current.progressed();
    if (this.#state.kind === 'open' && this.#state.current === current) this.#context.background(this.#startSwitch(current, 'failed'));
  }

  #checkRoll(nowMs: number): void {
    if (this.#state.kind !== 'open' || this.#switching !== undefined || nowMs < this.#maker.notBeforeMs) return;
    const { current } = this.#state;
    const { entries, bytes } = this.#owner.chain.last;
    const reason = rollReason({ entries, bytes, ageMs: nowMs - current.createdMonoMs }, this.#owner.options);
    if (reason !== undefined) this.#context.background(this.#startSwitch(current, reason));
  }

  #checkSize(nowMs: number): void {
    if (this.#state.kind !== 'open' || this.#switching !== undefined || nowMs < this.#maker.notBeforeMs) return;
    const { current } = this.#state;
    if (!canGrow(current.writer, this.#owner.options, this.#context.registry)) {
      this.#canGrowSinceMs = undefined;
      return;
    }
    this.#canGrowSinceMs ??= nowMs;
    if (nowMs - this.#canGrowSinceMs < this.#context.settings.fullSizeDelayMs) return;
    this.#canGrowSinceMs = undefined;
    this.#maker.notBeforeMs = nowMs + this.#context.settings.rollRetryDelayMs;
    this.#context.background(this.#startSwitch(current, 'full-size'));
  }

  #startSwitch(current: CurrentLedger, reason: RollReason): Promise<void> {
    this.#switching ??= this.#switch(current, reason)
      .catch((error: Error) => {
        // After a close everything was answered already; anything else means that this log cannot go on here.
        if (!managedLedgerErrors.CLOSED.is(error)) this.fence(error);
      })
      .finally(() => {
        this.#switching = undefined;
        if (this.#state.kind === 'open' && this.#state.current.failure !== undefined) {
          this.#context.background(this.#startSwitch(this.#state.current, 'failed'));
        }
      });
    return this.#switching;
  }

  async #switch(current: CurrentLedger, reason: RollReason): Promise<void> {
    let next: LedgerWriter | undefined;
    try {
      // Unless the ledger is broken, it goes on taking appends until its successor exists.
      if (current.failure === undefined) next = await this.#maker.tryOnce();
      if (current.failure === undefined && next === undefined) return;
      if (this.#state.kind !== 'open') throw managedLedgerErrors.CLOSED(this.#owner.name);
      this.#state = { kind: 'rolling', current };
      await current.drained(this.#context.settings.drainWaitMaxMs);
      const { list, name, chain } = this.#owner;
      this.#settle(current, await finishLedger(this.#context, { writer: current.writer, list, name }, this.#stop.signal));
      next ??= await this.#maker.untilMade();
      await this.#link(next);
      if (this.#hasEnded()) throw managedLedgerErrors.CLOSED(name);
      const dropped = chain.last.entries === 0 ? [chain.last.ledgerId] : [];
      this.#continueWith(next, dropped.length > 0);
      next = undefined;
      if (dropped.length > 0) this.#context.background(deleteLedgers(this.#context, name, dropped));
    } catch (error) {
      if (next !== undefined) this.#maker.discard(next);
      throw error;
    }
    this.#context.logger.info(
      { log: this.#owner.name, ledgerId: this.currentLedgerId, after: current.writer.ledgerId, reason },
      'rolled to a new ledger',
    );
  }

  /** What the ledger holds for good is answered, the rest waits for the next one. */
  #settle(current: CurrentLedger, end: LedgerEnd): void {
    const { name, chain } = this.#owner;
    if (end.lastEntryId < current.lastConfirmed) {
      throw managedLedgerErrors.LOST_ENTRIES(name, current.writer.ledgerId, end.lastEntryId, current.lastConfirmed);
    }
    this.confirm(current, end.lastEntryId);
    this.#context.budget.remove(this.#queue.requeue());
    chain.closeLast({ entries: end.lastEntryId + 1, bytes: end.length, closedAtMs: this.#context.clock.wallMs() });
  }

  async #link(next: LedgerWriter): Promise<void> {
    const end = { ...this.#owner.chain.last };
    await this.#owner.list.update((info) => withEnd(info, end, next.ledgerId), this.#stop.signal);
  }

  #continueWith(next: LedgerWriter, dropEmpty: boolean): void {
    const { chain } = this.#owner;
    if (dropEmpty) chain.removeEmptyLast();
    chain.append({ ledgerId: next.ledgerId, entries: 0, bytes: 0, closedAtMs: 0 });
    const current = new CurrentLedger(next, this.#context.clock, this);
    this.#state = { kind: this.#state.kind === 'rolling' ? 'open' : 'closing', current };
    this.#owner.switched();
    this.#pump();
  }

  #drain(): void {
    if (this.#drainTasks.length === 0 || this.#queue.bytes > this.#context.settings.appendBytesMax / 2) return;
    if (this.#context.budget.isFull) {
      this.#context.budget.onRoom(this);
      return;
    }
    const tasks = this.#drainTasks;
    this.#drainTasks = [];
    for (const task of tasks) task();
  }

  #timedOut(): Error {
    const why = this.#maker.lastFailure?.message ?? 'the bookies did not answer';
    return managedLedgerErrors.APPEND_TIMED_OUT(this.#owner.name, this.#context.settings.appendWaitMaxMs, why);
  }
}
