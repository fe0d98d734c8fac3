import type { Clock } from '@daybook/runtime';
import type { LedgerWriter } from '../ledger-api.js';
import { journalErrors } from './errors.js';
import {
  encodeOperations,
  type JournalOperation,
  journalEntryHeaderBytes,
  operationBytesMax,
  operationOverheadBytes,
} from './journal-entry-format.js';

/** Where the name node writes the edits of one segment; what it calls an edit log output stream. */
export interface JournalOutput {
  readonly firstTxId: number;
  /** The last one written; `firstTxId - 1` at first. */
  readonly lastTxId: number;
  /**
   * Takes the next operation. It is on its way once `transmissionThresholdBytes` are together, or with {@link flush}. Throws `JOURNAL_OUT_OF_ORDER`,
   * `JOURNAL_OPERATION_TOO_LARGE`, `JOURNAL_OVER_CAPACITY` (flush first), `JOURNAL_ERRORED_STREAM`.
   */
  write(operation: JournalOperation): void;
  /** Resolves when everything written is acknowledged. Rejects with `JOURNAL_ERRORED_STREAM`: then nothing can be written to this segment any more. */
  flush(): Promise<void>;
  /** Flushes, and closes the ledger; the segment is still to be finalized. */
  close(): Promise<void>;
  /** Closes the ledger where it is. */
  abort(): Promise<void>;
}

export interface JournalOutputOptions {
  clock: Clock;
  ledger: LedgerWriter;
  firstTxId: number;
  transmissionThresholdBytes: number;
  windowBytes: number;
}

export class LedgerJournalOutput implements JournalOutput {
  readonly firstTxId: number;
  readonly #o: JournalOutputOptions;
  #lastTxId: number;
  #buffer: JournalOperation[] = [];
  #bufferBytes = 0;
  /** Entries on their way, by their bytes. */
  readonly #pending: number[] = [];
  #pendingBytes = 0;
  #confirmed = -1;
  #error: Error | undefined;
  #isClosed = false;
  #isDrainAwaited = false;
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(options: JournalOutputOptions) {
    this.#o = options;
    this.firstTxId = options.firstTxId;
    this.#lastTxId = options.firstTxId - 1;
    options.ledger.listen({
      confirmed: (upTo) => this.#onConfirmed(upTo),
      failed: (error) => this.#fail(error),
    });
  }

  get lastTxId(): number {
    return this.#lastTxId;
  }

  get ledger(): LedgerWriter {
    return this.#o.ledger;
  }

  write({ txId, payload }: JournalOperation): void {
    this.#checkUsable();
    if (txId !== this.#lastTxId + 1) throw journalErrors.OUT_OF_ORDER(txId, this.#lastTxId + 1);
    if (payload.length > operationBytesMax) throw journalErrors.OPERATION_TOO_LARGE(payload.length, operationBytesMax);
    const bytes = payload.length + operationOverheadBytes;
    const unacknowledged = this.#bufferBytes + this.#pendingBytes + bytes;
    if (unacknowledged > this.#o.windowBytes) throw journalErrors.OVER_CAPACITY(unacknowledged, this.#o.windowBytes);
    this.#lastTxId = txId;
    // A copy: the caller may use its buffer for the next one.
    this.#buffer.push({ txId, payload: Buffer.from(payload) });
    this.#bufferBytes += bytes;
    if (this.#bufferBytes >= this.#o.transmissionThresholdBytes) this.#transmit();
  }

  flush(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(journalErrors.ERRORED_STREAM(this.#error.message, { cause: this.#error }));
    this.#transmit();
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.flush();
    this.#isClosed = true;
    await this.ledger.close();
  }

  async abort(): Promise<void> {
    this.#isClosed = true;
    this.#buffer = [];
    await this.ledger.close();
  }

  get #isIdle(): boolean {
    return this.#buffer.length === 0 && this.#pending.length === 0;
  }

  #transmit(): void {
    while (this.#buffer.length > 0 && this.#error === undefined) {
      if (this.ledger.isFull) {
        this.#waitForRoom();
        return;
      }
      const operations = this.#takeEntry();
      const entry = encodeOperations(operations);
      this.#pending.push(entry.length);
      this.#pendingBytes += entry.length;
      try {
        this.ledger.push(entry);
      } catch (error) {
        this.#fail(error as Error);
      }
    }
  }

  /** As many operations as fit into an entry, at least one. */
  #takeEntry(): JournalOperation[] {
    let bytes = journalEntryHeaderBytes;
    let count = 0;
    for (; count < this.#buffer.length; count++) {
      bytes += operationOverheadBytes + (this.#buffer[count]?.payload.length ?? 0);
      if (count > 0 && bytes > operationBytesMax) break;
    }
    const operations = this.#buffer.splice(0, count);
    this.#bufferBytes = this.#buffer.reduce((sum, { payload }) => sum + payload.length + operationOverheadBytes, 0);
    return operations;
  }

  #waitForRoom(): void {
    if (this.#isDrainAwaited) return;
    this.#isDrainAwaited = true;
    this.ledger.onDrain(() => {
      this.#isDrainAwaited = false;
      this.#transmit();
    });
  }

  #onConfirmed(upTo: number): void {
    for (; this.#confirmed < upTo; this.#confirmed++) this.#pendingBytes -= this.#pending.shift() ?? 0;
    if (!this.#isIdle) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) resolve();
  }

  #fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(journalErrors.ERRORED_STREAM(error.message, { cause: error }));
  }

  #checkUsable(): void {
    if (this.#error !== undefined) throw journalErrors.ERRORED_STREAM(this.#error.message, { cause: this.#error });
    if (this.#isClosed) throw journalErrors.STREAM_CLOSED(this.firstTxId);
  }
}
