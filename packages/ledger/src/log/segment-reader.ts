import type { EntryId } from '@daybook/proto';
import { ledgerErrors } from '../errors.js';
import type { LedgerClient, LedgerReader } from '../ledger-api.js';
import { logErrors } from './errors.js';
import { decodeRecords, type StoredRecord } from './record-format.js';
import type { LogSegment } from './segment-format.js';

/** An entry's records. Control records are in it, so that a record's index is its slot. */
export interface SegmentEntry {
  readonly entryId: number;
  readonly records: readonly StoredRecord[];
}

/** Reads the entries of one segment. Never fences its writer. */
export class SegmentReader {
  readonly segment: LogSegment;
  readonly #name: string;
  readonly #reader: LedgerReader;
  #waiting: Promise<void> | undefined;

  private constructor(name: string, segment: LogSegment, reader: LedgerReader) {
    this.#name = name;
    this.segment = segment;
    this.#reader = reader;
  }

  /** Undefined when the ledger is gone: purged meanwhile, or lost. */
  static async open(ledgers: LedgerClient, password: Uint8Array, name: string, segment: LogSegment): Promise<SegmentReader | undefined> {
    try {
      return new SegmentReader(name, segment, await ledgers.openWithoutRecovery(segment.ledgerId, { password }));
    } catch (error) {
      if (ledgerErrors.NOT_FOUND.is(error)) return undefined;
      throw error;
    }
  }

  /** The last entry that may be read, as far as is known; -1 for none. */
  get lastEntryId(): number {
    return this.segment.kind === 'completed' ? this.segment.lastEntryId : this.#reader.lastAddConfirmed;
  }

  /** The ledger was closed: {@link lastEntryId} is its end for good. */
  get isClosed(): boolean {
    return this.#reader.isClosed;
  }

  /** Asks how far a segment in progress is by now. */
  async refresh(): Promise<number> {
    if (this.segment.kind === 'in progress') await this.#reader.readLastAddConfirmed();
    return this.lastEntryId;
  }

  /** Resolves as soon as a bookie tells of more, when the ledger is closed, or after `timeoutMs`; one wait at a time, later callers share it. */
  waitForMore(timeoutMs: number): Promise<void> {
    this.#waiting ??= this.#reader
      .readLastAddConfirmedAndEntry(this.#reader.lastAddConfirmed, timeoutMs)
      .then(() => undefined)
      .finally(() => {
        this.#waiting = undefined;
      });
    return this.#waiting;
  }

  /** Entries from `first` on, at least one, about `bytesMax`; not beyond {@link lastEntryId}. */
  async read(first: number, bytesMax: number): Promise<SegmentEntry[]> {
    const entries = await this.#reader.readBatch(first as EntryId, this.lastEntryId as EntryId, bytesMax);
    return entries.map(({ entryId, payload }) => ({
      entryId,
      records: decodeRecords(payload, `entry ${entryId} of segment ${this.segment.sequence} of log "${this.#name}"`),
    }));
  }

  async readOne(entryId: number): Promise<SegmentEntry> {
    const [entry] = await this.read(entryId, 1);
    if (entry === undefined) throw logErrors.MALFORMED(`entry ${entryId} of ledger ${this.segment.ledgerId}`, 'it was not read');
    return entry;
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}
