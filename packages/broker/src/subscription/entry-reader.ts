import { comparePositions, entryId, type Position } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { ManagedLedger, StoredEntry } from '../managed-ledger/managed-ledger-api.js';
import type { RedeliveryRun } from './redelivery.js';

/** A read starts small and grows up to this many times while the backlog fills every read. */
const entriesGrowthMax = 10;
const retryDelayMinMs = 100;
const retryDelayMaxMs = 5000;

export interface EntryReaderParts {
  clock: Clock;
  log: ManagedLedger;
  /** Reading begins after it. */
  start: Position;
  entriesMax: number;
  bytesMax: number;
  /** New entries, or those of a run that was asked for; at least one new one. */
  received(entries: readonly StoredEntry[], run: RedeliveryRun | undefined): void;
  /** There may be something to read now. */
  wake(): void;
  /** A read failed: there is a new {@link EntryReader.retryAtMs}. */
  failed(): void;
}

/** Reads what a subscription hands out next: one read at a time, never more than asked for, again after a failure, and waiting at the end of the log. */
export class EntryReader {
  /** The last entry that was handed out or is known to be acknowledged; new ones are read after it. */
  position: Position;
  readonly #parts: EntryReaderParts;
  #entriesMax: number;
  #reading: 'nothing' | 'new' | 'again' = 'nothing';
  #isClosed = false;
  #appendWatch: { stop(): void } | undefined;
  #failure: { error: Error; delayMs: number; retryAtMs: number | undefined } | undefined;

  constructor(parts: EntryReaderParts) {
    this.#parts = parts;
    this.position = parts.start;
    this.#entriesMax = parts.entriesMax;
  }

  get isReading(): boolean {
    return this.#reading !== 'nothing';
  }

  /** Reading entries that were handed out before. */
  get isReadingAgain(): boolean {
    return this.#reading === 'again';
  }

  get isWaitingForAppend(): boolean {
    return this.#appendWatch !== undefined;
  }

  /** Why the last read failed; undefined once one succeeded. */
  get error(): Error | undefined {
    return this.#failure?.error;
  }

  /** Until when nothing is read because of a failure. */
  get retryAtMs(): number | undefined {
    return this.#failure?.retryAtMs;
  }

  get canRead(): boolean {
    return !this.isReading && !this.#isClosed && this.#failure?.retryAtMs === undefined;
  }

  /** The most that one read takes right now. */
  get entriesMax(): number {
    return this.#entriesMax;
  }

  /** `received` follows. Only when {@link canRead}. */
  readRun(run: RedeliveryRun): void {
    this.#read({ ledgerId: run.first.ledgerId, entryId: entryId(run.first.entryId - 1) }, run.count, run);
  }

  /** Reads up to `roomCount` new entries, or waits for the next append and then wakes. Only when {@link canRead}. */
  readNew(roomCount: number): void {
    if (comparePositions(this.position, this.#parts.log.lastConfirmed) >= 0) this.#watchAppends(this.position);
    else this.#read(this.position, Math.min(roomCount, this.#entriesMax), undefined);
  }

  /** The time of a retry has come. */
  retry(nowMs: number): void {
    const failure = this.#failure;
    if (failure?.retryAtMs !== undefined && failure.retryAtMs <= nowMs) failure.retryAtMs = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#appendWatch?.stop();
    this.#appendWatch = undefined;
  }

  #read(after: Position, entriesMax: number, run: RedeliveryRun | undefined): void {
    const { log, bytesMax } = this.#parts;
    this.#reading = run === undefined ? 'new' : 'again';
    const confirmed = log.lastConfirmed;
    log.read(after, { entriesMax, bytesMax }).then(
      (entries) => {
        this.#reading = 'nothing';
        if (this.#isClosed) return;
        this.#failure = undefined;
        if (run === undefined && entries.length === 0) this.#watchAppends(confirmed);
        else this.#parts.received(entries, run);
        this.#grow(entries.length);
      },
      (error: unknown) => this.#failed(error instanceof Error ? error : new Error(String(error))),
    );
  }

  #grow(entriesCount: number): void {
    if (entriesCount < this.#entriesMax) return;
    this.#entriesMax = Math.min(this.#entriesMax * 2, this.#parts.entriesMax * entriesGrowthMax);
  }

  #failed(error: Error): void {
    this.#reading = 'nothing';
    if (this.#isClosed) return;
    const delayMs = this.#failure === undefined ? retryDelayMinMs : Math.min(this.#failure.delayMs * 2, retryDelayMaxMs);
    this.#failure = { error, delayMs, retryAtMs: this.#parts.clock.monoMs() + delayMs };
    this.#parts.failed();
  }

  #watchAppends(after: Position): void {
    this.#entriesMax = this.#parts.entriesMax;
    if (this.#appendWatch !== undefined) return;
    let isDone = false;
    const watch = this.#parts.log.onAppended(after, () => {
      isDone = true;
      this.#appendWatch = undefined;
      // From inside the log's bookkeeping: the read begins when that is finished.
      this.#parts.wake();
    });
    if (!isDone) this.#appendWatch = watch;
  }
}
