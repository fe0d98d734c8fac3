import type { EntryId } from '@daybook/proto';
import type { LedgerReader } from '../ledger-api.js';
import { journalErrors } from './errors.js';
import { decodeOperations, type JournalOperation } from './journal-entry-format.js';
import type { JournalSegment } from './journal-records.js';

/** The edits of one segment; what the name node calls an edit log input stream. */
export interface JournalInput extends AsyncIterable<JournalOperation> {
  readonly firstTxId: number;
  /** Of a segment in progress: the last one visible when it was opened. */
  readonly lastTxId: number;
  readonly isInProgress: boolean;
  /** Undefined at the end. */
  readOperation(): Promise<JournalOperation | undefined>;
  /** The next one read is `txId`, or the first one above. */
  skipTo(txId: number): void;
  close(): Promise<void>;
}

const readBytes = 1024 * 1024;

export class LedgerJournalInput implements JournalInput {
  readonly firstTxId: number;
  readonly lastTxId: number;
  readonly isInProgress: boolean;
  readonly #reader: LedgerReader;
  readonly #what: string;
  #nextEntryId = 0;
  #nextTxId: number;
  #operations: JournalOperation[] = [];

  constructor(reader: LedgerReader, segment: JournalSegment, lastTxId: number) {
    this.#reader = reader;
    this.firstTxId = segment.firstTxId;
    this.lastTxId = lastTxId;
    this.isInProgress = segment.lastTxId === undefined;
    this.#nextTxId = segment.firstTxId;
    this.#what = `segment ${segment.firstTxId} (ledger ${segment.ledgerId})`;
  }

  async readOperation(): Promise<JournalOperation | undefined> {
    if (this.#nextTxId > this.lastTxId) return undefined;
    for (;;) {
      const operation = this.#operations.shift();
      if (operation === undefined) {
        await this.#readMore();
        continue;
      }
      if (operation.txId < this.#nextTxId) continue;
      if (operation.txId !== this.#nextTxId)
        throw journalErrors.CORRUPT(this.#what, `transaction ${operation.txId} comes where ${this.#nextTxId} must be`);
      this.#nextTxId++;
      return operation;
    }
  }

  skipTo(txId: number): void {
    this.#nextTxId = Math.max(this.#nextTxId, txId);
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<JournalOperation> {
    for (let operation = await this.readOperation(); operation !== undefined; operation = await this.readOperation()) yield operation;
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  async #readMore(): Promise<void> {
    const last = this.#reader.lastAddConfirmed;
    if (this.#nextEntryId > last) throw journalErrors.CORRUPT(this.#what, `its ledger ends before transaction ${this.#nextTxId}`);
    const entries = await this.#reader.readBatch(this.#nextEntryId as EntryId, last, readBytes);
    this.#operations = entries.flatMap(({ entryId, payload }) => decodeOperations(payload, `entry ${entryId} of ${this.#what}`));
    this.#nextEntryId += entries.length;
  }
}
