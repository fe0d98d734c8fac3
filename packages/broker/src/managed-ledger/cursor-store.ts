import type { LedgerWriter } from '@daybook/ledger';
import { type EntryId, encodeManagedCursorInfo, type LedgerId, type ManagedCursorInfo, noEntry } from '@daybook/proto';
import type { Backoff } from '@daybook/runtime';
import type { AckSet } from './ack-set.js';
import { retryDelay } from './backoff.js';
import type { LogContext } from './context.js';
import type { CursorRecord } from './cursor-info.js';
import { encodeCursorState } from './cursor-state-format.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerList } from './ledger-list.js';
import { createLedger, deleteLedgers } from './ledger-switch.js';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';
import { within } from './within.js';

export interface CursorStoreOwner {
  readonly log: string;
  readonly cursor: string;
  readonly options: ManagedLedgerOptions;
  readonly list: LedgerList;
  /** What is to be stored, as it is now. */
  state(): { acks: AckSet; properties: ReadonlyMap<string, bigint> };
  fenced(error: Error): void;
}

interface Waiter {
  readonly changes: number;
  resolve(): void;
  reject(error: Error): void;
}

interface CursorLedger {
  readonly writer: LedgerWriter;
  readonly createdMonoMs: number;
}

/**
 * Makes a cursor's state durable soon after each change, one write at a time, each with all that changed until then. The state goes into a ledger of the
 * cursor's own (made at the first change), or into the metadata while none can be made.
 */
export class CursorStore {
  readonly #context: LogContext;
  readonly #owner: CursorStoreOwner;
  readonly #record: CursorRecord;
  readonly #stop = new AbortController();
  readonly #retry: Backoff;
  #ledger: CursorLedger | undefined;
  /** Counts changes; what is durable trails behind. */
  #changes = 0;
  #durable = 0;
  /** The record was written, and nobody has looked since whether the log was still ours. */
  #isOwnershipOpen = false;
  /** A new ledger of which nobody knows whether the record names it. */
  #unlinked: LedgerWriter | undefined;
  #timer: { cancel(): void } | undefined;
  #writing: Promise<void> | undefined;
  #waiters: Waiter[] = [];
  #state: 'open' | 'closing' | 'closed' = 'open';
  lastSwitchMs: number;

  constructor(context: LogContext, owner: CursorStoreOwner, record: CursorRecord) {
    this.#context = context;
    this.#owner = owner;
    this.#record = record;
    this.#retry = retryDelay(context);
    this.lastSwitchMs = record.info.lastActiveMs ?? 0;
  }

  get ledgerId(): LedgerId | undefined {
    return this.#ledger?.writer.ledgerId;
  }

  get lastEntryId(): EntryId {
    return this.#ledger?.writer.lastAddConfirmed ?? noEntry;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** The state has changed. */
  changed(): void {
    this.#changes++;
    if (this.#state === 'open') this.#arm(this.#context.settings.cursorFlushDelayMs);
  }

  /** Resolves once everything changed so far is durable; `MANAGED_LEDGER_CLOSED`, `MANAGED_LEDGER_FENCED`. */
  flush(): Promise<void> {
    if (this.#durable >= this.#changes) return Promise.resolve();
    if (this.#state !== 'open') return Promise.reject(managedLedgerErrors.CLOSED(this.#owner.log));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ changes: this.#changes, resolve, reject });
      this.#timer?.cancel();
      this.#timer = undefined;
      this.#start();
    });
  }

  /** Puts the state into the record where it fits, so that the next opener reads one value only. Never rejects. */
  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#timer?.cancel();
    // With bookies or metadata gone this must end as well.
    const limit = this.#context.clock.after(this.#context.settings.drainWaitMaxMs, () => this.#stop.abort());
    await this.#writing;
    try {
      if (this.#state === 'closing' && (this.#changes > this.#durable || this.#record.info.cursorLedgerId !== undefined)) await this.#persistLast();
    } catch (error) {
      const isDirty = this.#changes > this.#durable;
      const { log, cursor } = this.#owner;
      this.#context.logger.warn({ log, cursor, isDirty, error }, 'a cursor could not be stored on close: the newest acknowledgements may come again');
    }
    limit.cancel();
    this.#end(managedLedgerErrors.CLOSED(this.#owner.log));
    await this.#ledger?.writer.close().catch(() => undefined);
  }

  /** No more writes: somebody else owns the log. */
  abandon(error: Error): void {
    if (this.#state === 'closed') return;
    this.#end(error);
    if (this.#ledger !== undefined) this.#context.background(this.#ledger.writer.close().catch(() => undefined));
  }

  /** Deletes the record and the ledger. */
  async remove(): Promise<void> {
    this.#end(managedLedgerErrors.CLOSED(this.#owner.log));
    await this.#writing;
    if (!(await this.#owner.list.isOwned())) throw managedLedgerErrors.FENCED(this.#owner.log);
    await this.#record.remove();
    const ids = new Set([this.#record.info.cursorLedgerId, this.ledgerId, this.#unlinked?.ledgerId]);
    await this.#unlinked?.close().catch(() => undefined);
    await this.#ledger?.writer.close().catch(() => undefined);
    for (const ledgerId of ids) if (ledgerId !== undefined) this.#deleteLedger(ledgerId);
  }

  #arm(delayMs: number): void {
    if (this.#timer !== undefined || this.#writing !== undefined) return;
    this.#timer = this.#context.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#start();
    });
  }

  #start(): void {
    if (this.#writing !== undefined || this.#state !== 'open') return;
    this.#writing = this.#write().then((retryMs) => {
      this.#writing = undefined;
      if (this.#state !== 'open' || this.#changes === this.#durable) return;
      if (retryMs === undefined && this.#waiters.length > 0) this.#start();
      else this.#arm(retryMs ?? this.#context.settings.cursorFlushDelayMs);
    });
    this.#context.background(this.#writing);
  }

  /** Never rejects; gives how long to wait before the next attempt, undefined when it went well. */
  async #write(): Promise<number | undefined> {
    const changes = this.#changes;
    try {
      await this.#persist();
      if (this.#isOwnershipOpen) {
        if (!(await this.#owner.list.isOwned())) throw managedLedgerErrors.FENCED(this.#owner.log);
        this.#isOwnershipOpen = false;
      }
    } catch (error) {
      if (managedLedgerErrors.FENCED.is(error)) this.#owner.fenced(error);
      else if (this.#state === 'open') {
        this.#context.logger.warn({ log: this.#owner.log, cursor: this.#owner.cursor, error }, 'acknowledgements cannot be stored yet');
      }
      return this.#retry.nextDelayMs();
    }
    this.#retry.reset();
    this.#durable = changes;
    const done = this.#waiters.filter((waiter) => waiter.changes <= changes);
    this.#waiters = this.#waiters.filter((waiter) => waiter.changes > changes);
    for (const waiter of done) waiter.resolve();
    return undefined;
  }

  async #persist(): Promise<void> {
    const { settings } = this.#context;
    const { acks, properties } = this.#owner.state();
    const entries = encodeCursorState(acks, properties, settings.cursorEntryBytesMax);
    if (this.#ledger !== undefined && !this.#isLedgerFull(this.#ledger)) {
      try {
        return await this.#append(this.#ledger.writer, entries);
      } catch (error) {
        const { log, cursor } = this.#owner;
        this.#context.logger.info({ log, cursor, ledgerId: this.ledgerId, error }, "a cursor's ledger failed: going on in a new one");
        // The check comes before the new ledger: an owner that was replaced must not write the record any more.
        if (!(await this.#owner.list.isOwned())) throw managedLedgerErrors.FENCED(log);
      }
    }
    await this.#moveOn(entries);
  }

  /** New ledger, state into it, record to it, old ledger away: in this order nothing is ever lost. */
  async #moveOn(entries: readonly Buffer[]): Promise<void> {
    const snapshot = this.#inlineInfo();
    let writer: LedgerWriter;
    try {
      writer = await this.#newLedger(entries);
    } catch (error) {
      if (!this.#fitsInline(entries, snapshot)) throw error;
      await this.#replaceRecord(snapshot);
      await this.#leaveLedger();
      return;
    }
    this.#unlinked = writer;
    await this.#replaceRecord({ ...snapshot, cursorLedgerId: writer.ledgerId, individuallyDeleted: [], properties: [] });
    this.#unlinked = undefined;
    await this.#leaveLedger();
    this.#ledger = { writer, createdMonoMs: this.#context.clock.monoMs() };
    this.lastSwitchMs = this.#context.clock.wallMs();
  }

  async #newLedger(entries: readonly Buffer[]): Promise<LedgerWriter> {
    const { log, cursor, options } = this.#owner;
    const writer = await createLedger(this.#context, options, { name: log, cursor });
    try {
      await this.#append(writer, entries);
      return writer;
    } catch (error) {
      const closed = writer.close().catch(() => undefined);
      this.#context.background(closed.then(() => deleteLedgers(this.#context, log, [writer.ledgerId])));
      throw error;
    }
  }

  async #persistLast(): Promise<void> {
    if (!(await this.#owner.list.isOwned())) throw managedLedgerErrors.FENCED(this.#owner.log);
    const { acks, properties } = this.#owner.state();
    const entries = encodeCursorState(acks, properties, this.#context.settings.cursorEntryBytesMax);
    const snapshot = this.#inlineInfo();
    const changes = this.#changes;
    if (this.#fitsInline(entries, snapshot)) {
      await this.#replaceRecord(snapshot);
      await this.#leaveLedger();
    } else if (changes > this.#durable) await this.#persist();
    this.#durable = changes;
  }

  async #replaceRecord(info: ManagedCursorInfo): Promise<void> {
    const replaced = await this.#record.write(info, this.#stop.signal);
    this.#isOwnershipOpen = true;
    if (replaced.cursorLedgerId !== undefined && replaced.cursorLedgerId !== info.cursorLedgerId && replaced.cursorLedgerId !== this.ledgerId) {
      this.#deleteLedger(replaced.cursorLedgerId);
    }
  }

  async #leaveLedger(): Promise<void> {
    const left = this.#ledger;
    this.#ledger = undefined;
    if (left === undefined) return;
    await left.writer.close().catch(() => undefined);
    this.#deleteLedger(left.writer.ledgerId);
  }

  #deleteLedger(ledgerId: LedgerId): void {
    this.#context.background(deleteLedgers(this.#context, this.#owner.log, [ledgerId]));
  }

  /** The whole state as a record. */
  #inlineInfo(): ManagedCursorInfo {
    const { acks, properties } = this.#owner.state();
    return {
      ...this.#record.info,
      cursorLedgerId: undefined,
      markDelete: acks.mark,
      individuallyDeleted: acks.ranges(inlineRangesMax + 1),
      properties: [...properties].map(([name, value]) => ({ name, value })),
      batchDeletions: [],
      lastActiveMs: this.#context.clock.wallMs(),
    };
  }

  #fitsInline(entries: readonly Buffer[], snapshot: ManagedCursorInfo): boolean {
    if (entries.length > 1 || snapshot.individuallyDeleted.length > inlineRangesMax) return false;
    return encodeManagedCursorInfo(snapshot).length <= this.#context.settings.cursorInlineBytesMax;
  }

  async #append(writer: LedgerWriter, entries: readonly Buffer[]): Promise<void> {
    const late = () => managedLedgerErrors.CURSOR_TIMED_OUT(this.#owner.log, this.#owner.cursor);
    const stored = Promise.all(entries.map((entry) => writer.append(entry)));
    await within(this.#context.clock, stored, { waitMaxMs: this.#context.settings.cursorWriteWaitMaxMs, late });
  }

  #isLedgerFull({ writer, createdMonoMs }: CursorLedger): boolean {
    const { cursorEntriesPerLedgerMax, cursorBytesPerLedgerMax, cursorRolloverTimeMs } = this.#context.settings;
    if (writer.lastAddPushed + 1 >= cursorEntriesPerLedgerMax || writer.length >= cursorBytesPerLedgerMax) return true;
    return this.#context.clock.monoMs() - createdMonoMs >= cursorRolloverTimeMs;
  }

  #end(error: Error): void {
    this.#state = 'closed';
    this.#stop.abort();
    this.#timer?.cancel();
    this.#timer = undefined;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(error);
  }
}

/** As many single acknowledgements as the record takes; those of an entry of a ledger are not bounded. */
const inlineRangesMax = 1000;
