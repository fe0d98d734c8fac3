import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import type { LedgerId, LedgerMetadata } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';

/** The shared store behind several {@link MemoryRecords}. */
export class MemoryRecordStore {
  readonly ledgers = new Map<LedgerId, VersionedLedger>();
  readonly watchers = new Map<LedgerId, Set<() => void>>();
  nextId = 1;
  /** Every record ever written, for checks. */
  readonly history: { ledgerId: LedgerId; metadata: LedgerMetadata }[] = [];

  set(ledgerId: LedgerId, metadata: LedgerMetadata, version: number): VersionedLedger {
    const stored = { metadata, version };
    this.ledgers.set(ledgerId, stored);
    this.history.push({ ledgerId, metadata });
    for (const listener of [...(this.watchers.get(ledgerId) ?? [])]) listener();
    return stored;
  }
}

/** One client's way to the store, with the faults a test wants. */
export class MemoryRecords implements LedgerRecords {
  readonly #store: MemoryRecordStore;
  readonly #clock: Clock;
  delayMs = 0;
  /** Every call fails with `METADATA_UNAVAILABLE`. */
  isUnavailable = false;
  /** The next writes happen, but the caller hears `METADATA_UNAVAILABLE`. */
  loseWriteReplies = 0;
  /** Runs (once) right before the next write reaches the store: a place for somebody else's move. */
  beforeWrite: (() => void | Promise<void>) | undefined;

  constructor(store: MemoryRecordStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async nextLedgerId(): Promise<LedgerId> {
    await this.#travel();
    return this.#store.nextId++ as LedgerId;
  }

  async create(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<VersionedLedger> {
    await this.#travel();
    if (this.#store.ledgers.has(ledgerId)) throw metadataErrors.EXISTS(`ledger ${ledgerId}`);
    return this.#store.set(ledgerId, metadata, 0);
  }

  async read(ledgerId: LedgerId): Promise<VersionedLedger | undefined> {
    await this.#travel();
    return this.#store.ledgers.get(ledgerId);
  }

  async write(ledgerId: LedgerId, metadata: LedgerMetadata, version: number): Promise<VersionedLedger> {
    await this.#travel();
    const before = this.beforeWrite;
    this.beforeWrite = undefined;
    await before?.();
    if (this.#store.ledgers.get(ledgerId)?.version !== version) throw metadataErrors.BAD_VERSION(`ledger ${ledgerId}`);
    const stored = this.#store.set(ledgerId, metadata, version + 1);
    if (this.loseWriteReplies > 0) {
      this.loseWriteReplies--;
      throw metadataErrors.UNAVAILABLE('the reply was lost');
    }
    return stored;
  }

  async delete(ledgerId: LedgerId): Promise<void> {
    await this.#travel();
    this.#store.ledgers.delete(ledgerId);
  }

  async *list(): AsyncIterable<LedgerId> {
    yield* [...this.#store.ledgers.keys()].sort((a, b) => a - b);
  }

  watch(ledgerId: LedgerId, listener: () => void): { stop(): void } {
    const watchers = this.#store.watchers.get(ledgerId) ?? new Set();
    this.#store.watchers.set(ledgerId, watchers);
    watchers.add(listener);
    return { stop: () => watchers.delete(listener) };
  }

  async #travel(): Promise<void> {
    if (this.delayMs > 0) await this.#clock.sleep(this.delayMs);
    if (this.isUnavailable) throw metadataErrors.UNAVAILABLE('switched off by the test');
  }
}
