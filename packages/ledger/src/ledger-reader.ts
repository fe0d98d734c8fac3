import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { createDigest, type Digest, type EntryId, entryHeaderBytes, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { ledgerErrors } from './errors.js';
import { readLastAddConfirmed, tryReadLastAddConfirmed } from './lac.js';
import { pollLac } from './lac-poll.js';
import type { LedgerEntry, LedgerReader, TailRead } from './ledger-api.js';
import { readRange } from './range-read.js';
import { type ReadDependencies, readEntries } from './read-op.js';
import { withoutRest } from './without-rest.js';

export interface ReaderDependencies extends ReadDependencies {
  records: LedgerRecords;
  readBatchBytes: number;
  readAheadBytes: number;
}

/** A poll of bookies ends after this at the latest, and begins again with what is known then. */
const pollMsMax = 30_000;
/** Before bookies that could not be asked are asked again. */
const pollAgainMs = 200;

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
  #isEnded = false;
  #entryBytesRead: number | undefined;
  /** Of those who wait for the ledger to grow: the record changed, or the reader is closed. */
  readonly #interrupts = new Set<AbortController>();

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
        this.#interrupt();
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

  async tryReadLastAddConfirmed(): Promise<EntryId> {
    await this.#refreshIfStale();
    const ledger = () => ({ ledgerId: this.ledgerId, metadata: this.metadata, digest: this.#digest, known: this.#lastAddConfirmed });
    const ask = async () => {
      if (!this.isClosed) this.#advance(await tryReadLastAddConfirmed(this.#d, ledger()));
    };
    await this.#orRefreshed(ask);
    return this.#lastAddConfirmed;
  }

  async readLastAddConfirmedAndEntry(after: EntryId, timeoutMs: number): Promise<TailRead> {
    if (!Number.isSafeInteger(after) || after < -1) throw ledgerErrors.BAD_RANGE(`${after} is no entry id, and not -1 for none`);
    const { clock } = this.#d;
    const deadlineMs = clock.monoMs() + timeoutMs;
    let entry: LedgerEntry | undefined;
    for (;;) {
      await this.#refreshIfStale();
      const leftMs = deadlineMs - clock.monoMs();
      if (this.#lastAddConfirmed > after || this.isClosed || this.#isEnded || leftMs <= 0) break;
      entry = await this.#waitForGrowth(after, Math.min(leftMs, pollMsMax));
    }
    if (this.#lastAddConfirmed <= after) return { lastAddConfirmed: this.#lastAddConfirmed };
    if (entry === undefined) [entry] = await this.#readPart((after + 1) as EntryId, (after + 1) as EntryId, 0);
    return { lastAddConfirmed: this.#lastAddConfirmed, entry: entry as LedgerEntry };
  }

  async read(first: EntryId, last: EntryId): Promise<LedgerEntry[]> {
    this.#checkRange(first, last, true);
    const { readBatchBytes, readAheadBytes } = this.#d;
    return readRange({
      first,
      last,
      entryBytes: this.#averageEntryBytes(),
      batchBytes: readBatchBytes,
      aheadBytes: readAheadBytes,
      readPart: (from, upTo, number) => this.#readPart(from, upTo, readBatchBytes, number),
    });
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
    this.#isEnded = true;
    this.#interrupt();
    this.#onClosed(this);
  }

  #interrupt(): void {
    for (const interrupt of this.#interrupts) interrupt.abort();
  }

  /** One round of waiting; the entry after `after`, if it came along. */
  async #waitForGrowth(after: EntryId, timeoutMs: number): Promise<LedgerEntry | undefined> {
    const interrupt = new AbortController();
    const { clock } = this.#d;
    const startMs = clock.monoMs();
    this.#interrupts.add(interrupt);
    try {
      const { ledgerId, metadata } = this;
      const result = await pollLac(this.#d, { ledgerId, metadata, digest: this.#digest, after, timeoutMs, stop: interrupt.signal });
      if (result.is !== 'moved') {
        // Not at once again when bookies cannot be asked, or their answers prove nothing.
        const againMs = Math.min(timeoutMs, startMs + pollAgainMs - clock.monoMs());
        if (againMs > 0) await clock.sleep(againMs, interrupt.signal);
        return undefined;
      }
      this.#advance(result.lastAddConfirmed);
      return result.entry && { entryId: result.entry.entryId, payload: withoutRest(result.entry.payload) };
    } finally {
      this.#interrupts.delete(interrupt);
    }
  }

  /** A closed ledger tells; of an open one it is what was read last. */
  #averageEntryBytes(): number | undefined {
    const { lastEntryId, length } = this.metadata;
    return this.isClosed && lastEntryId >= 0 ? length / (lastEntryId + 1) + entryHeaderBytes : this.#entryBytesRead;
  }

  async #readPart(first: EntryId, last: EntryId, bytesMax: number, number = 0): Promise<LedgerEntry[]> {
    await this.#refreshIfStale();
    const entries = await this.#orRefreshed(() =>
      readEntries(this.#d, { ledgerId: this.ledgerId, metadata: this.metadata, digest: this.#digest, first, last, bytesMax, number }),
    );
    // Each entry tells what its writer had confirmed when it was sent.
    if (!this.isClosed) {
      this.#advance((entries.at(-1) as (typeof entries)[number]).lastAddConfirmed);
      this.#entryBytesRead = entries.reduce((sum, { payload }) => sum + payload.length, 0) / entries.length + entryHeaderBytes;
    }
    return entries.map(({ entryId, payload }) => ({ entryId, payload: withoutRest(payload) }));
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
