import { type BudgetWaiter, ByteBudget, type Clock, isWorthRetrying, type Random, retry, TaskSet, type Timer } from '@daybook/runtime';
import { ledgerErrors } from '../errors.js';
import type { LedgerWriter } from '../ledger-api.js';
import { logErrors } from './errors.js';
import type { LogHead } from './head-format.js';
import type { LogWriter } from './log-api.js';
import type { LogLock } from './log-lock.js';
import type { LogPosition } from './log-position.js';
import { recordBytesMax } from './record-format.js';
import {
  allocateLedger,
  checkClaim,
  completeSegment,
  dropSegment,
  releaseAllocated,
  type SegmentDependencies,
  startSegment,
} from './segment-changes.js';
import { SegmentWriter } from './segment-writer.js';
import { checkTxId, endOfStreamTxId, type TransactionId } from './transaction-id.js';
import { purgeByAge, truncateLog } from './truncation.js';
import { bytesOf, type NewRecord, WriteOperation } from './write-operation.js';

export interface LogWriterDependencies extends SegmentDependencies {
  clock: Clock;
  random: Random;
}

/**
 * - `idle`: no segment is open; the next record starts one.
 * - `starting`, `rolling`: records wait until the next segment is in the head. While rolling, everything of the present one is acknowledged first: a record is never
 *   acknowledged before those ahead of it.
 * - `writing`
 * - `closing`: no record is taken any more.
 * - `closed`, `failed`: nothing happens any more.
 *
 * idle → starting → writing → rolling → writing | idle; → closing → closed; from all → failed → closed.
 */
type Phase = 'idle' | 'starting' | 'writing' | 'rolling' | 'closing' | 'closed' | 'failed';

const rollRetryDelayMs = 5_000;

export class SegmentedLogWriter implements LogWriter {
  readonly #d: LogWriterDependencies;
  readonly #lock: LogLock;
  readonly #claim: string;
  readonly #tasks: TaskSet;
  readonly #budget: ByteBudget;
  /** Wait for room in the window. */
  readonly #queued = new Map<WriteOperation, BudgetWaiter>();
  #queuedBytes = 0;
  /** Have their room, and wait for a segment. */
  #waiting: WriteOperation[] = [];
  #phase: Phase = 'idle';
  #isEnded: boolean;
  #error: Error | undefined;
  #lastTxId: TransactionId;
  #recordsBefore: number;
  #segment: SegmentWriter | undefined;
  #allocated: LedgerWriter | undefined;
  #starting: Promise<void> = Promise.resolve();
  #rolling: Promise<void> | undefined;
  #completing: Promise<void> | undefined;
  #rollNotBeforeMs = 0;
  #rollTimer: Timer | undefined;
  #lastWrite: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** `head` is what it was after the log was claimed and recovered. */
  constructor(dependencies: LogWriterDependencies, lock: LogLock, head: LogHead) {
    this.#d = dependencies;
    this.#lock = lock;
    this.#claim = head.owner;
    this.#lastTxId = head.lastTxId;
    this.#isEnded = head.lastTxId === endOfStreamTxId;
    this.#recordsBefore = head.recordsCount;
    this.#budget = new ByteBudget(dependencies.options.windowBytes);
    this.#tasks = new TaskSet((error) => this.#fail(error as Error));
    lock.onLost(() => this.#fail(logErrors.LOCK_LOST(this.name)));
  }

  get name(): string {
    return this.#d.metadata.name;
  }

  get lastTxId(): TransactionId {
    return this.#lastTxId;
  }

  async write(txId: TransactionId, payload: Uint8Array): Promise<LogPosition> {
    const [position] = await this.#accept([{ txId, payload }]);
    return position as LogPosition;
  }

  async writeBulk(records: readonly NewRecord[]): Promise<LogPosition[]> {
    return records.length === 0 ? [] : this.#accept(records);
  }

  async flush(): Promise<TransactionId> {
    this.#checkNotOver();
    const lastTxId = this.#lastTxId;
    await this.#lastWrite;
    return lastTxId;
  }

  async commit(): Promise<TransactionId> {
    const lastTxId = await this.flush();
    await this.#rolling;
    await this.#completing;
    this.#checkNotOver();
    await this.#orFailed(this.#segment?.commit());
    return lastTxId;
  }

  async roll(): Promise<void> {
    this.#checkNotOver();
    await this.#starting;
    await this.#completing;
    if (this.#rolling === undefined && this.#phase === 'writing') this.#startRoll();
    await this.#rolling;
    await this.#completing;
    this.#checkNotOver();
  }

  async truncate(position: LogPosition): Promise<void> {
    this.#checkNotOver();
    checkClaim(this.name, (await this.#d.metadata.readHead()).head, this.#claim);
    await truncateLog(this.#d, position);
  }

  async markEndOfStream(): Promise<void> {
    this.#checkNotOver();
    if (this.#isEnded) return;
    this.#isEnded = true;
    await this.flush();
    await this.#starting;
    await this.#rolling;
    await this.#completing;
    this.#checkNotOver();
    if (this.#segment === undefined) await this.#orFailed(this.#startWith(endOfStreamTxId));
    const segment = this.#segment as SegmentWriter | undefined;
    await this.#orFailed(segment?.endStream());
    this.#lastTxId = endOfStreamTxId;
    if (segment !== undefined) await this.#orFailed(this.#end(segment));
    this.#segment = undefined;
    if (this.#phase === 'writing') this.#phase = 'idle';
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async abort(): Promise<void> {
    this.#fail(logErrors.WRITER_CLOSED(this.name));
    await this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Checks everything before anything is taken. */
  #accept(records: readonly NewRecord[]): Promise<LogPosition[]> {
    this.#checkNotOver();
    if (this.#isEnded) throw logErrors.END_OF_STREAM(this.name);
    let lastTxId = this.#lastTxId;
    for (const { txId, payload } of records) {
      checkTxId(txId);
      if (txId < lastTxId) throw logErrors.TRANSACTION_ID_OUT_OF_ORDER(this.name, txId, lastTxId);
      if (payload.length > recordBytesMax) throw logErrors.RECORD_TOO_LARGE(payload.length, recordBytesMax);
      lastTxId = txId;
    }
    const bytes = bytesOf(records);
    const { windowBytes } = this.#d.options;
    if (bytes > windowBytes) throw logErrors.RECORD_TOO_LARGE(bytes, windowBytes);
    if (this.#queuedBytes + bytes > windowBytes) throw logErrors.OVER_CAPACITY(this.name, this.#budget.taken + this.#queuedBytes);
    this.#lastTxId = lastTxId;
    const answer = new Promise<LogPosition[]>((resolve, reject) => this.#enqueue(new WriteOperation(records, resolve, reject)));
    this.#lastWrite = answer;
    // Whoever called is told; `flush` too. This copy of the answer nobody may ever look at.
    answer.catch(() => undefined);
    return answer;
  }

  #enqueue(operation: WriteOperation): void {
    if (this.#budget.tryAcquire(operation.bytes)) {
      this.#granted(operation);
      return;
    }
    this.#queuedBytes += operation.bytes;
    const waiter = this.#budget.acquireThen(operation.bytes, () => {
      this.#queued.delete(operation);
      this.#queuedBytes -= operation.bytes;
      this.#granted(operation);
    });
    this.#queued.set(operation, waiter);
  }

  #granted(operation: WriteOperation): void {
    if (this.#error !== undefined) {
      operation.fail(this.#error);
      return;
    }
    if (this.#phase === 'writing' && this.#segment !== undefined) {
      this.#segment.add(operation);
      this.#rollIfDue();
      return;
    }
    this.#waiting.push(operation);
    if (this.#phase === 'idle') this.#starting = this.#run('start', () => this.#startWith(operation.records[0]?.txId ?? this.#lastTxId));
  }

  async #startWith(firstTxId: TransactionId): Promise<void> {
    this.#phase = 'starting';
    const ledger = this.#allocated ?? (await allocateLedger(this.#d, this.#claim));
    this.#allocated = ledger;
    const next = await startSegment(this.#d, { claim: this.#claim, ledgerId: ledger.ledgerId, firstTxId, startSequenceId: this.#recordsBefore });
    this.#allocated = undefined;
    if (this.#error !== undefined) throw this.#error;
    const { clock, options } = this.#d;
    const segment: SegmentWriter = new SegmentWriter({
      clock,
      segment: next,
      ledger,
      outputBufferBytes: options.outputBufferBytes,
      commitDelayMs: options.commitDelayMs,
      onAcknowledged: (operation) => this.#budget.release(operation.bytes),
      onFailed: (error) => this.#fail(error),
    });
    this.#segment = segment;
    this.#go();
    this.#rollTimer?.cancel();
    this.#rollTimer = clock.after(options.segmentMsMax, () => this.#rollIfDue());
  }

  /** The segment takes what has waited. */
  #go(): void {
    this.#phase = 'writing';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const operation of waiting) this.#segment?.add(operation);
    this.#rollIfDue();
  }

  #rollIfDue(): void {
    const { clock, options } = this.#d;
    const nowMs = clock.monoMs();
    if (this.#segment === undefined || this.#phase !== 'writing' || this.#isEnded) return;
    if (this.#rolling !== undefined || this.#completing !== undefined || nowMs < this.#rollNotBeforeMs) return;
    if (this.#segment.bytes >= options.segmentBytesMax || nowMs - this.#segment.startMs >= options.segmentMsMax) this.#startRoll();
  }

  #startRoll(): void {
    const old = this.#segment as SegmentWriter;
    this.#rolling = this.#run('roll', () => this.#roll(old)).finally(() => {
      this.#rolling = undefined;
    });
  }

  async #roll(old: SegmentWriter): Promise<void> {
    try {
      // The slow part first: meanwhile the present segment takes records.
      this.#allocated ??= await allocateLedger(this.#d, this.#claim);
    } catch (error) {
      return this.#rollLater(error);
    }
    if (this.#phase !== 'writing') return;
    this.#phase = 'rolling';
    await old.idle();
    const recordsBefore = this.#recordsBefore;
    this.#recordsBefore += old.recordsCount;
    this.#segment = undefined;
    const next = this.#waiting[0]?.records[0];
    if (next === undefined) this.#phase = 'idle';
    else {
      try {
        // In progress before the old one is completed: a log that is being written is never without a place to write to.
        await this.#startWith(next.txId);
      } catch (error) {
        if (!isWorthRetrying(error) || this.#error !== undefined) throw error;
        this.#recordsBefore = recordsBefore;
        this.#segment = old;
        this.#rollLater(error);
        return this.#go();
      }
    }
    this.#completing = this.#run('complete', (stop) => this.#complete(old, stop)).finally(() => {
      this.#completing = undefined;
    });
  }

  #rollLater(error: unknown): void {
    if (!isWorthRetrying(error)) throw error;
    const { clock, logger } = this.#d;
    logger.warn({ log: this.name, error }, 'no new segment can be started: going on with the present one');
    this.#rollNotBeforeMs = clock.monoMs() + rollRetryDelayMs;
    this.#rollTimer?.cancel();
    this.#rollTimer = clock.after(rollRetryDelayMs, () => this.#rollIfDue());
  }

  async #complete(segment: SegmentWriter, stop: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#d;
    const retries = { clock, random, stop, attemptsMax: Number.POSITIVE_INFINITY, delayMsMin: 100, delayMsMax: 10_000 };
    try {
      await retry(() => this.#end(segment), retries);
    } catch (error) {
      if (!stop.aborted || !isWorthRetrying(error)) throw error;
      logger.warn({ log: this.name, segment: segment.segment.sequence, error }, 'segment left to the next writer to complete');
    }
    try {
      await purgeByAge(this.#d, clock);
    } catch (error) {
      if (!isWorthRetrying(error)) throw error;
      logger.warn({ log: this.name, error }, 'old segments are purged later');
    }
  }

  async #end(segment: SegmentWriter): Promise<void> {
    const completed = await segment.complete();
    if (completed === undefined) await dropSegment(this.#d, segment.segment);
    else await completeSegment(this.#d, completed);
  }

  async #close(): Promise<void> {
    await this.#lastWrite.catch(() => undefined);
    await this.#starting;
    await this.#rolling;
    if (this.#error === undefined) this.#phase = 'closing';
    this.#rollTimer?.cancel();
    // The attempt to complete the segment before is awaited, but not begun again.
    await this.#tasks.close();
    try {
      if (this.#error === undefined && this.#segment !== undefined) await this.#end(this.#segment);
      if (this.#error === undefined) await releaseAllocated(this.#d, this.#claim);
    } catch (error) {
      // Everything acknowledged is safe; the next writer does the rest.
      this.#d.logger.warn({ log: this.name, error }, 'segment left to the next writer to complete');
    }
    this.#allocated?.close().catch(() => undefined);
    if (this.#error === undefined) this.#phase = 'closed';
    this.#error ??= logErrors.WRITER_CLOSED(this.name);
    await this.#lock.release();
  }

  #checkNotOver(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#closing !== undefined) throw logErrors.WRITER_CLOSED(this.name);
  }

  async #orFailed(work: Promise<void> | undefined): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#fail(error as Error);
      throw this.#error ?? error;
    }
  }

  /** Resolves also when it fails: then the writer has failed. */
  #run(name: string, task: (stop: AbortSignal) => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const isRunning = this.#tasks.run(name, async (stop) => {
        try {
          await task(stop);
        } catch (error) {
          this.#fail(error as Error);
        }
        resolve();
      });
      if (!isRunning) resolve();
    });
  }

  #fail(cause: Error): void {
    if (this.#error !== undefined) return;
    const error = this.#errorOf(cause);
    this.#error = error;
    this.#phase = 'failed';
    this.#rollTimer?.cancel();
    const unanswered = [...(this.#segment?.takeUnacknowledged(error) ?? []), ...this.#waiting, ...this.#queued.keys()];
    for (const waiter of this.#queued.values()) waiter.cancel();
    this.#queued.clear();
    this.#waiting = [];
    for (const operation of unanswered) operation.fail(error);
    if (!logErrors.WRITER_CLOSED.is(cause)) this.#d.logger.warn({ log: this.name, error: cause }, 'log writer failed');
  }

  #errorOf(cause: Error): Error {
    const isOurs = [logErrors.FENCED, logErrors.LOCK_LOST, logErrors.WRITER_CLOSED, logErrors.NOT_FOUND].some((kind) => kind.is(cause));
    if (isOurs) return cause;
    if (ledgerErrors.FENCED.is(cause)) return logErrors.FENCED(this.name, 'another writer', { cause });
    return logErrors.WRITE_FAILED(this.name, cause.message, { cause });
  }
}
