import type { LedgerWriter } from '@daybook/ledger';
import { type EntryId, type LedgerId, noEntry, type Position } from '@daybook/proto';
import { AppendWaiters } from './append-waiters.js';
import { Appender } from './appender.js';
import type { LogContext } from './context.js';
import type { LogCursor } from './cursor.js';
import { Cursors } from './cursors.js';
import { deleteLog } from './delete-log.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerChain } from './ledger-chain.js';
import { propertiesOf, without, withProperties } from './ledger-infos.js';
import type { LedgerList } from './ledger-list.js';
import { deleteLedgers } from './ledger-switch.js';
import { LogReads } from './log-reads.js';
import type { Cursor, ManagedAppendListener, ManagedLedger, ManagedLedgerOptions, ManagedLedgerStats, StoredEntry } from './managed-ledger-api.js';
import { TailCache } from './tail-cache.js';
import { trimmableCount } from './trim.js';

/** Whoever holds the logs. */
export interface LogKeeper {
  /** Called once, when the log can no longer be used here. */
  logEnded(log: OpenLog): void;
}

/** A log that this broker holds open; see {@link ManagedLedger}. Puts together the parts: appender, reads, cursors, trimming. */
export class OpenLog implements ManagedLedger {
  readonly name: string;
  readonly options: ManagedLedgerOptions;
  readonly chain: LedgerChain;
  readonly list: LedgerList;
  readonly tail = new TailCache();
  readonly #context: LogContext;
  readonly #appender: Appender;
  readonly #reads: LogReads;
  readonly #cursors: Cursors;
  readonly #waiters = new AppendWaiters();
  readonly #stop = new AbortController();
  readonly #keeper: LogKeeper;
  #lastConfirmed: Position;
  #trimming: Promise<void> | undefined;
  #trimNotBeforeMs: number | undefined;
  #ending: Promise<void> | undefined;

  constructor(
    context: LogContext,
    log: { name: string; options: ManagedLedgerOptions; chain: LedgerChain; list: LedgerList; writer: LedgerWriter; keeper: LogKeeper },
  ) {
    this.#context = context;
    this.name = log.name;
    this.options = log.options;
    this.chain = log.chain;
    this.list = log.list;
    this.#keeper = log.keeper;
    this.#lastConfirmed = log.chain.newest();
    this.#reads = new LogReads({ chain: this.chain, tail: this.tail, readers: context.readers });
    this.#cursors = new Cursors(context, this);
    this.#appender = new Appender(context, this, log.writer);
    this.cursorMoved();
  }

  /** Before anything else: brings back the cursors. */
  recoverCursors(): Promise<void> {
    return this.#cursors.recover();
  }

  /** Gives up a log that could not be opened wholly. */
  async abandon(error: Error): Promise<void> {
    await this.#appender.close();
    this.#cursors.abandon(error);
    this.#stop.abort();
    this.#ending ??= Promise.resolve();
    this.#keeper.logEnded(this);
  }

  get lastConfirmed(): Position {
    return this.#lastConfirmed;
  }

  get entriesCount(): number {
    return this.chain.entriesCount;
  }

  get totalBytes(): number {
    return this.chain.totalBytes;
  }

  get beforeFirst(): Position {
    return this.chain.beforeFirst;
  }

  get isFull(): boolean {
    return this.#appender.isFull;
  }

  get cursors(): ReadonlyMap<string, LogCursor> {
    return this.#cursors.durable;
  }

  get properties(): ReadonlyMap<string, string> {
    return propertiesOf(this.list.info);
  }

  async setProperties(change: (properties: Map<string, string>) => void): Promise<void> {
    this.#assertOpen();
    await this.list.update((info) => withProperties(info, change), this.#stop.signal);
  }

  /** Set once closing has begun: resolves at its end. */
  get ending(): Promise<void> | undefined {
    return this.#ending;
  }

  listen(listener: ManagedAppendListener): void {
    this.#appender.listen(listener);
  }

  onDrain(task: () => void): void {
    this.#appender.onDrain(task);
  }

  append(payload: Uint8Array): void {
    this.#appender.append(payload);
  }

  async read(after: Position, limits: { entriesMax: number; bytesMax: number }): Promise<StoredEntry[]> {
    this.#assertOpen();
    return this.#reads.read(after, limits);
  }

  async readOne(position: Position): Promise<StoredEntry | undefined> {
    this.#assertOpen();
    return this.#reads.readOne(position);
  }

  onAppended(after: Position, task: () => void): { stop(): void } {
    const waiter = this.#waiters.add(after, task);
    // At once, but never from inside this call.
    if (this.chain.countBetween(after, this.#lastConfirmed) > 0) this.#context.clock.endOfTurn(() => this.#wake());
    return waiter;
  }

  previous(position: Position): Position {
    return this.chain.previous(position);
  }

  next(position: Position): Position {
    return this.chain.next(position);
  }

  countBetween(after: Position, upTo: Position): number {
    return this.chain.countBetween(after, upTo);
  }

  async openCursor(name: string, initial: Position): Promise<Cursor> {
    this.#assertOpen();
    return this.#cursors.open(name, initial);
  }

  openTransientCursor(name: string, initial: Position): Cursor {
    return this.#cursors.openTransient(name, initial);
  }

  async deleteCursor(name: string): Promise<void> {
    this.#assertOpen();
    await this.#cursors.delete(name);
  }

  async roll(): Promise<void> {
    this.#assertOpen();
    await this.#appender.roll();
  }

  async trim(): Promise<void> {
    this.#assertOpen();
    await this.#trimming;
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined;
    });
    await this.#trimming;
  }

  internalStats(): ManagedLedgerStats {
    const { entries, bytes } = this.chain.last;
    const appender = this.#appender.stats();
    const isUnderReplicated = (ledgerId: LedgerId) => ledgerId === this.chain.last.ledgerId && appender.ensemble.size < appender.ensemble.configured;
    return {
      ...appender,
      numberOfEntries: this.chain.entriesCount,
      totalBytes: this.chain.totalBytes,
      currentLedgerEntries: entries,
      currentLedgerBytes: bytes,
      waitingCursorsCount: this.#waiters.count,
      lastConfirmed: this.#lastConfirmed,
      ledgers: this.chain.ledgers().map((ledger) => ({
        ledgerId: ledger.ledgerId,
        entries: ledger.entries,
        bytes: ledger.bytes,
        isUnderReplicated: isUnderReplicated(ledger.ledgerId),
      })),
      cursors: new Map([...this.cursors].map(([name, cursor]) => [name, cursor.stats()])),
    };
  }

  close(): Promise<void> {
    this.#ending ??= this.#close();
    return this.#ending;
  }

  async delete(): Promise<void> {
    if (this.#ending !== undefined) throw managedLedgerErrors.CLOSED(this.name);
    this.#ending = this.#delete();
    await this.#ending;
  }

  /** Now and then, from the broker's one timer. */
  tick(nowMs: number): void {
    if (this.#ending !== undefined) return;
    this.#appender.tick(nowMs);
    if (this.#trimNotBeforeMs !== undefined && nowMs >= this.#trimNotBeforeMs && this.#trimming === undefined) {
      this.#context.background(this.trim().catch((error: Error) => this.#trimFailed(error)));
    }
  }

  confirmed(): void {
    const { ledgerId, entries } = this.chain.last;
    this.#lastConfirmed = { ledgerId, entryId: (entries - 1) as EntryId };
    this.#wake();
  }

  switched(): void {
    if (this.#lastConfirmed.entryId === noEntry) this.#lastConfirmed = this.chain.newest();
    this.cursorMoved();
  }

  cursorMoved(): void {
    if (this.chain.length > 1) this.#trimNotBeforeMs ??= this.#context.clock.monoMs() + this.#context.settings.trimDelayMs;
  }

  /** Somebody else owns the log. */
  fenced(error: Error): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#appender.fence(error);
    this.#cursors.abandon(error);
    this.#release();
    this.#ending ??= Promise.resolve();
    this.#keeper.logEnded(this);
  }

  async #close(): Promise<void> {
    await this.#appender.close();
    await this.#trimming?.catch(() => undefined);
    // Fenced meanwhile: the cursors are somebody else's.
    if (this.#stop.signal.aborted) return;
    await this.#cursors.close();
    this.#stop.abort();
    this.#release();
    this.#keeper.logEnded(this);
  }

  async #delete(): Promise<void> {
    await this.#appender.close();
    await this.#trimming?.catch(() => undefined);
    this.#cursors.abandon(managedLedgerErrors.CLOSED(this.name));
    this.#stop.abort();
    this.#release();
    try {
      await deleteLog(this.#context, this.name, this.list);
    } finally {
      this.#keeper.logEnded(this);
    }
  }

  async #trim(): Promise<void> {
    this.#trimNotBeforeMs = undefined;
    const ledgers = this.chain.ledgers();
    const marks = [...this.cursors.values()].map((cursor) => cursor.markDelete);
    const gone = ledgers.slice(0, trimmableCount(ledgers, marks)).map((ledger) => ledger.ledgerId);
    if (gone.length === 0) return;
    const ids = new Set(gone);
    // First nobody finds them any more, then they go: a crash between wastes space and nothing else.
    await this.list.update((info) => without(info, ids), this.#stop.signal);
    this.chain.dropFirst(gone.length);
    this.tail.dropBefore(this.chain.first.ledgerId);
    if (this.#lastConfirmed.entryId === noEntry) this.#lastConfirmed = this.chain.newest();
    for (const ledgerId of gone) this.#context.readers.drop(ledgerId);
    this.#context.logger.info({ log: this.name, ledgersCount: gone.length, first: this.chain.first.ledgerId }, 'trimmed ledgers that nobody needs');
    this.#context.background(deleteLedgers(this.#context, this.name, gone));
  }

  #trimFailed(error: Error): void {
    if (managedLedgerErrors.FENCED.is(error)) this.fenced(error);
    else if (this.#ending === undefined) {
      this.#context.logger.warn({ log: this.name, error }, 'ledgers that nobody needs could not be trimmed yet');
      this.cursorMoved();
    }
  }

  #wake(): void {
    this.#waiters.wake((after) => this.chain.countBetween(after, this.#lastConfirmed) > 0);
  }

  #release(): void {
    this.tail.clear();
    for (const { ledgerId } of this.chain.ledgers()) this.#context.readers.drop(ledgerId);
  }

  #assertOpen(): void {
    if (this.#ending !== undefined) throw managedLedgerErrors.CLOSED(this.name);
  }
}
