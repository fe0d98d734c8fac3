import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { createDigest, type Digest, type EntryId, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { ledgerErrors } from './errors.js';
import { readLastAddConfirmed } from './lac.js';
import type { LedgerEntry, LedgerReader } from './ledger-api.js';
import { type ReadDependencies, readEntries } from './read-op.js';

export interface ReaderDependencies extends ReadDependencies {
  records: LedgerRecords;
  readBatchBytes: number;
}

/**
 * Reads one ledger. What it knows of the ensembles may grow old (an ensemble change, a repair): an open ledger's record is watched, and whenever
 * the replicas it knows cannot help, the record is read again before giving up.
 */
export class EnsembleReader implements LedgerReader {
  readonly ledgerId: LedgerId;
  readonly #d: ReaderDependencies;
  readonly #digest: Digest;
  readonly #onClosed: (reader: EnsembleReader) => void;
  #stored: VersionedLedger;
  #lastAddConfirmed: EntryId;
  #watch: { stop(): void } | undefined;
  #isStale = false;

  constructor(
    dependencies: ReaderDependencies,
    ledger: { ledgerId: LedgerId; stored: VersionedLedger; lastAddConfirmed: EntryId; onClosed: (reader: EnsembleReader) => void },
  ) {
    this.#d = dependencies;
    this.ledgerId = ledger.ledgerId;
    this.#stored = ledger.stored;
    this.#onClosed = ledger.onClosed;
    this.#lastAddConfirmed = ledger.lastAddConfirmed;
    this.#digest = createDigest(this.metadata.digestType, this.metadata.password);
    if (!this.isClosed) {
      this.#watch = dependencies.records.watch(ledger.ledgerId, () => {
        this.#isStale = true;
      });
    }
  }

  get metadata(): LedgerMetadata {
    return this.#stored.metadata;
  }

  get isClosed(): boolean {
    return this.metadata.state === 'CLOSED';
  }

  get lastAddConfirmed(): EntryId {
    return this.#lastAddConfirmed;
  }

  get length(): number {
    return this.metadata.length;
  }

  async readLastAddConfirmed(): Promise<EntryId> {
    await this.#refreshIfStale();
    if (!this.isClosed) {
      const ask = async () => {
        if (!this.isClosed)
          this.#advance(await readLastAddConfirmed(this.#d, { ledgerId: this.ledgerId, metadata: this.metadata, digest: this.#digest }));
      };
      await this.#orRefreshed(ask);
    }
    return this.#lastAddConfirmed;
  }

  async read(first: EntryId, last: EntryId): Promise<LedgerEntry[]> {
    this.#checkRange(first, last, true);
    const entries: LedgerEntry[] = [];
    while (first + entries.length <= last) {
      entries.push(...(await this.#readPart((first + entries.length) as EntryId, last, this.#d.readBatchBytes)));
    }
    return entries;
  }

  async readBatch(first: EntryId, last: EntryId, bytesMax: number): Promise<LedgerEntry[]> {
    this.#checkRange(first, last, true);
    return this.#readPart(first, last, bytesMax);
  }

  async readUnconfirmed(first: EntryId, last: EntryId, bytesMax: number): Promise<LedgerEntry[]> {
    this.#checkRange(first, last, false);
    return this.#readPart(first, last, bytesMax);
  }

  async close(): Promise<void> {
    this.#watch?.stop();
    this.#watch = undefined;
    this.#onClosed(this);
  }

  async #readPart(first: EntryId, last: EntryId, bytesMax: number): Promise<LedgerEntry[]> {
    await this.#refreshIfStale();
    const entries = await this.#orRefreshed(() =>
      readEntries(this.#d, { ledgerId: this.ledgerId, metadata: this.metadata, digest: this.#digest, first, last, bytesMax }),
    );
    // Each entry tells what its writer had confirmed when it was sent.
    if (!this.isClosed) this.#advance((entries.at(-1) as (typeof entries)[number]).lastAddConfirmed);
    // Copies, so that an entry kept in a cache does not keep the whole reply alive.
    return entries.map(({ entryId, payload }) => ({ entryId, payload: Buffer.from(payload) }));
  }

  /** Once more when it failed and the record has changed since. */
  async #orRefreshed<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      const before = this.#stored.version;
      await this.#refresh();
      if (this.#stored.version === before) throw error;
    }
    return attempt();
  }

  /** The record may have changed; while the store is away, what is known has to do. */
  async #refreshIfStale(): Promise<void> {
    if (!this.#isStale) return;
    try {
      await this.#refresh();
    } catch (error) {
      if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
      this.#isStale = true;
    }
  }

  async #refresh(): Promise<void> {
    this.#isStale = false;
    const stored = await this.#d.records.read(this.ledgerId);
    if (stored === undefined) throw ledgerErrors.NOT_FOUND(this.ledgerId);
    if (stored.version < this.#stored.version) return; // A lagging replica of the store.
    this.#stored = stored;
    if (!this.isClosed) return;
    this.#watch?.stop();
    this.#watch = undefined;
    this.#advance(stored.metadata.lastEntryId);
  }

  #advance(lastAddConfirmed: EntryId): void {
    if (lastAddConfirmed > this.#lastAddConfirmed) this.#lastAddConfirmed = lastAddConfirmed;
  }

  #checkRange(first: EntryId, last: EntryId, confirmedOnly: boolean): void {
    if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first < 0) throw ledgerErrors.BAD_RANGE(`${first} to ${last}: ids start at 0`);
    if (first > last) throw ledgerErrors.BAD_RANGE(`${first} to ${last} goes backwards`);
    const bound = confirmedOnly || this.isClosed ? this.#lastAddConfirmed : last;
    if (last > bound) throw ledgerErrors.BAD_RANGE(`${first} to ${last}: the last confirmed entry is ${bound}`);
  }
}
