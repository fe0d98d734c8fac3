import type { EntryId } from '@daybook/proto';
import { type Clock, invariant, type Timer } from '@daybook/runtime';
import type { LedgerWriter } from '../ledger-api.js';
import { EntryBuilder, entryBytesMax, recordHeaderBytes } from './record-format.js';
import type { CompletedSegment, InProgressSegment } from './segment-format.js';
import { endOfStreamTxId, type TransactionId } from './transaction-id.js';
import type { WriteOperation } from './write-operation.js';

export interface SegmentWriterOptions {
  clock: Clock;
  segment: InProgressSegment;
  ledger: LedgerWriter;
  outputBufferBytes: number;
  commitDelayMs: number;
  /** An operation was answered. */
  onAcknowledged: (operation: WriteOperation) => void;
  /** The ledger takes no more; called at most once. What was not acknowledged is with {@link SegmentWriter.takeUnacknowledged}. */
  onFailed: (error: Error) => void;
}

/** An entry on its way: how many records of which operations it has. */
interface PendingEntry {
  readonly entryId: EntryId;
  readonly parts: { operation: WriteOperation; count: number }[];
}

const noPayload = new Uint8Array();

/**
 * Writes the records of one segment to its ledger. Records of one event-loop turn share an entry. An entry is visible to readers once a later one, sent after its
 * acknowledgement, tells of it: when no record follows, a control record does.
 */
export class SegmentWriter {
  readonly segment: InProgressSegment;
  readonly startMs: number;
  readonly #o: SegmentWriterOptions;
  readonly #builder = new EntryBuilder();
  readonly #transmit = () => this.transmit();
  #queue: WriteOperation[] = [];
  #queuedBytes = 0;
  #pending: PendingEntry[] = [];
  #isTransmitDue = false;
  #isDrainAwaited = false;
  #recordsCount = 0;
  #lastTxId: TransactionId;
  #lastEntryId = -1;
  #lastSlot = -1;
  /** The last entry with records of the application, and how far the last entry sent tells that entries are confirmed. */
  #lastRecordsEntryId = -1;
  #visibleEntryId = -1;
  #commitTimer: Timer | undefined;
  #idleWaiters: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #error: Error | undefined;

  constructor(options: SegmentWriterOptions) {
    this.#o = options;
    this.segment = options.segment;
    this.startMs = options.clock.monoMs();
    this.#lastTxId = options.segment.firstTxId;
    options.ledger.listen({
      confirmed: (upTo) => this.#confirmed(upTo),
      failed: (error) => this.#fail(error),
    });
  }

  /** Bytes of the segment so far. */
  get bytes(): number {
    return this.#o.ledger.length + this.#queuedBytes;
  }

  get recordsCount(): number {
    return this.#recordsCount;
  }

  add(operation: WriteOperation): void {
    this.#commitTimer?.cancel();
    this.#queue.push(operation);
    this.#queuedBytes += operation.bytes;
    if (this.#queuedBytes >= this.#o.outputBufferBytes) this.transmit();
    else if (!this.#isTransmitDue) {
      this.#isTransmitDue = true;
      this.#o.clock.endOfTurn(this.#transmit);
    }
  }

  /** Sends what is queued, as far as the ledger's window lets. */
  transmit(): void {
    this.#isTransmitDue = false;
    const { ledger } = this.#o;
    while (this.#queue.length > 0 && this.#error === undefined) {
      if (ledger.isFull) {
        this.#waitForRoom();
        return;
      }
      this.#sendEntry();
    }
  }

  /** Resolves when everything added is acknowledged. */
  idle(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.transmit();
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve, reject) => this.#idleWaiters.push({ resolve, reject }));
  }

  /** Resolves when everything added so far is visible to readers. */
  async commit(): Promise<void> {
    const wanted = async () => {
      await this.idle();
      return this.#visibleEntryId < this.#lastRecordsEntryId;
    };
    while (await wanted()) {
      await this.#room();
      if (this.#isIdle && this.#error === undefined) this.#sendControl(this.#lastTxId, false);
    }
  }

  /** The last record of the log. */
  async endStream(): Promise<void> {
    await this.idle();
    await this.#room();
    if (this.#error === undefined) this.#sendControl(endOfStreamTxId, true);
    await this.idle();
  }

  /** Closes the ledger after everything added is acknowledged. Undefined when nothing was. May be tried again. */
  async complete(): Promise<CompletedSegment | undefined> {
    await this.idle();
    this.#commitTimer?.cancel();
    const { lastEntryId } = await this.#o.ledger.close();
    invariant(lastEntryId === this.#lastEntryId, `ledger ${this.segment.ledgerId} was closed at ${lastEntryId}, not at ${this.#lastEntryId}`);
    if (lastEntryId === -1) return undefined;
    return {
      ...this.segment,
      kind: 'completed',
      lastTxId: this.#lastTxId,
      completedAtMs: this.#o.clock.wallMs(),
      lastEntryId,
      lastSlot: this.#lastSlot,
      recordsCount: this.#recordsCount,
    };
  }

  /** Gives up: the operations that were not acknowledged, in order. The ledger is closed where it is, which may fail. */
  takeUnacknowledged(error: Error): WriteOperation[] {
    this.#fail(error);
    const partly = this.#pending.flatMap(({ parts }) => parts.map(({ operation }) => operation));
    const all = new Set([...partly, ...this.#queue]);
    this.#pending = [];
    this.#queue = [];
    this.#queuedBytes = 0;
    // Whoever comes next recovers the ledger anyway; this only ends our part in it.
    this.#o.ledger.close().catch(() => undefined);
    return [...all];
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#pending.length === 0;
  }

  #sendEntry(): void {
    const limit = Math.min(entryBytesMax, this.#o.outputBufferBytes);
    const parts: PendingEntry['parts'] = [];
    const entryId = this.#o.ledger.lastAddPushed + 1;
    for (let operation = this.#queue[0]; operation !== undefined; operation = this.#queue[0]) {
      const before = operation.positions.length;
      this.#fill(operation, entryId, limit);
      const count = operation.positions.length - before;
      if (count > 0) parts.push({ operation, count });
      if (operation.next !== undefined) break;
      this.#queue.shift();
      this.#queuedBytes -= operation.bytes;
    }
    this.#lastRecordsEntryId = entryId;
    this.#push(entryId, parts);
  }

  /** Adds records of an operation to the entry under way, until it has `limit` bytes. */
  #fill(operation: WriteOperation, entryId: number, limit: number): void {
    for (let record = operation.next; record !== undefined; record = operation.next) {
      if (this.#builder.recordsCount > 0 && this.#builder.bytes + recordHeaderBytes + record.payload.length > limit) return;
      operation.positions.push({ sequence: this.segment.sequence, entryId, slot: this.#builder.recordsCount });
      this.#recordsCount++;
      this.#lastTxId = record.txId;
      this.#builder.add({ ...record, countInSegment: this.#recordsCount, isControl: false, isEndOfStream: false });
    }
  }

  #sendControl(txId: TransactionId, isEndOfStream: boolean): void {
    this.#lastTxId = txId;
    this.#builder.add({ txId, payload: noPayload, countInSegment: this.#recordsCount, isControl: true, isEndOfStream });
    this.#push(this.#o.ledger.lastAddPushed + 1, []);
  }

  #push(entryId: number, parts: PendingEntry['parts']): void {
    const { ledger } = this.#o;
    this.#lastSlot = this.#builder.recordsCount - 1;
    this.#pending.push({ entryId: entryId as EntryId, parts });
    try {
      const pushed = ledger.push(this.#builder.take());
      invariant(pushed === entryId, `entry ${pushed} of ledger ${ledger.ledgerId} came where ${entryId} was to be`);
      this.#lastEntryId = entryId;
      this.#visibleEntryId = ledger.lastAddConfirmed;
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #confirmed(upTo: EntryId): void {
    while ((this.#pending[0]?.entryId ?? Number.POSITIVE_INFINITY) <= upTo) {
      const entry = this.#pending.shift() as PendingEntry;
      for (const { operation, count } of entry.parts) if (operation.acknowledge(count)) this.#o.onAcknowledged(operation);
    }
    if (!this.#isIdle) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const { resolve } of waiters) resolve();
    if (this.#visibleEntryId < this.#lastRecordsEntryId) this.#commitLater();
  }

  #commitLater(): void {
    this.#commitTimer?.cancel();
    this.#commitTimer = this.#o.clock.after(this.#o.commitDelayMs, () => {
      if (!this.#isIdle || this.#error !== undefined) return;
      if (this.#o.ledger.isFull) this.#commitLater();
      else this.#sendControl(this.#lastTxId, false);
    });
  }

  #waitForRoom(): void {
    if (this.#isDrainAwaited) return;
    this.#isDrainAwaited = true;
    this.#o.ledger.onDrain(() => {
      this.#isDrainAwaited = false;
      this.transmit();
    });
  }

  async #room(): Promise<void> {
    while (this.#o.ledger.isFull && this.#error === undefined) await new Promise<void>((resolve) => this.#o.ledger.onDrain(resolve));
  }

  #fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#commitTimer?.cancel();
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const { reject } of waiters) reject(error);
    this.#o.onFailed(error);
  }
}
