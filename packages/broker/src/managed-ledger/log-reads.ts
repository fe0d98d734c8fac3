import { ledgerErrors } from '@daybook/ledger';
import type { EntryId, Position } from '@daybook/proto';
import type { LedgerChain } from './ledger-chain.js';
import type { LedgerReaders } from './ledger-readers.js';
import type { StoredEntry } from './managed-ledger-api.js';
import type { TailCache } from './tail-cache.js';

export interface ReadLimits {
  entriesMax: number;
  bytesMax: number;
}

/** The reading half of a log: from the tail cache, else from the bookies. What is confirmed and cannot be read is an error, never "not there". */
export class LogReads {
  readonly #chain: LedgerChain;
  readonly #tail: TailCache;
  readonly #readers: LedgerReaders;

  constructor(parts: { chain: LedgerChain; tail: TailCache; readers: LedgerReaders }) {
    this.#chain = parts.chain;
    this.#tail = parts.tail;
    this.#readers = parts.readers;
  }

  /** Confirmed entries after `after`: at least one if there is any. A part of one ledger at a time; empty ledgers are stepped over. */
  async read(after: Position, limits: ReadLimits): Promise<StoredEntry[]> {
    for (;;) {
      const first = this.#chain.next(after);
      if (!this.#chain.has(first)) return [];
      try {
        return await this.#readFrom(first, limits);
      } catch (error) {
        // Trimmed meanwhile: then what follows is next.
        if (this.#chain.get(first.ledgerId) !== undefined) throw error;
      }
    }
  }

  async readOne(position: Position): Promise<StoredEntry | undefined> {
    if (!this.#chain.has(position)) return undefined;
    try {
      const [entry] = await this.#readFrom(position, { entriesMax: 1, bytesMax: 1 });
      return entry;
    } catch (error) {
      if (this.#chain.get(position.ledgerId) !== undefined) throw error;
      return undefined;
    }
  }

  async #readFrom(first: Position, { entriesMax, bytesMax }: ReadLimits): Promise<StoredEntry[]> {
    const { ledgerId, entryId } = first;
    const cached = this.#tail.read(ledgerId, entryId, { entriesMax: Math.max(1, entriesMax), bytesMax });
    if (cached !== undefined) return cached;
    const entries = this.#chain.get(ledgerId)?.entries ?? 0;
    const cachedFrom = this.#tail.firstOf(ledgerId);
    // Nothing is fetched that the cache has.
    const limit = cachedFrom !== undefined && cachedFrom > entryId ? Math.min(entries, cachedFrom) : entries;
    const last = Math.min(limit - 1, entryId + Math.max(1, entriesMax) - 1) as EntryId;
    // Unconfirmed: the owner knows what was acknowledged; the bookies may learn it later.
    const read = await this.#readers.use(ledgerId, (reader) => reader.readUnconfirmed(entryId, last, Math.max(1, bytesMax)));
    if (read.length === 0 || read.some((entry, index) => entry.entryId !== entryId + index)) {
      throw ledgerErrors.READ_FAILED(ledgerId, entryId, 'the answer has other entries than asked for');
    }
    return read.map((entry) => ({ position: { ledgerId, entryId: entry.entryId }, payload: entry.payload }));
  }
}
