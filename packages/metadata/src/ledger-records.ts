import { decodeLedgerMetadata, encodeLedgerMetadata, type LedgerId, type LedgerMetadata, ledgerId, protoErrors } from '@daybook/proto';
import { metadataErrors } from './errors.js';
import { LedgerIds } from './ledger-ids.js';
import type { MetadataStore } from './metadata-store.js';
import { ledgerIdOfPath, paths } from './paths.js';

export interface VersionedLedger {
  metadata: LedgerMetadata;
  version: number;
}

/** Ledger metadata at BookKeeper's paths. Every change is a compare-and-set on the version read. Errors as MetadataStore; `METADATA_CORRUPT` for an unreadable record. */
export interface LedgerRecords {
  /** A number never handed out before. */
  nextLedgerId(): Promise<LedgerId>;
  /** Rejects with `METADATA_EXISTS`; after a lost reply it recognises its own record by the creation token. */
  create(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<VersionedLedger>;
  /** Undefined only when the store says that there is no such ledger. */
  read(ledgerId: LedgerId): Promise<VersionedLedger | undefined>;
  /** Rejects with `METADATA_BAD_VERSION` when it changed or is gone. An unknown outcome (`METADATA_UNAVAILABLE`) was re-read and settled where possible. */
  write(ledgerId: LedgerId, metadata: LedgerMetadata, version: number): Promise<VersionedLedger>;
  /** Removes the record whatever its version; a missing one is fine. */
  delete(ledgerId: LedgerId): Promise<void>;
  /** All ledger ids, ascending. Complete, or it throws. */
  list(): AsyncIterable<LedgerId>;
  watch(ledgerId: LedgerId, listener: () => void): { stop(): void };
}

/** Ledger records in `store`, where and as BookKeeper keeps them. */
export function createLedgerRecords(store: MetadataStore): LedgerRecords {
  return new StoredLedgerRecords(store);
}

/** How often a write begins again when its outcome is not known and nothing shows that it happened. */
const attemptsMax = 3;

class StoredLedgerRecords implements LedgerRecords {
  readonly #store: MetadataStore;
  readonly #ids: LedgerIds;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#ids = new LedgerIds(store);
  }

  nextLedgerId(): Promise<LedgerId> {
    return this.#ids.next();
  }

  async create(id: LedgerId, metadata: LedgerMetadata): Promise<VersionedLedger> {
    const bytes = encodeLedgerMetadata(metadata);
    for (let attempt = 1; ; attempt++) {
      try {
        const { version } = await this.#store.put(paths.ledger(id), bytes, 'absent');
        return { metadata, version };
      } catch (error) {
        // Both answers can stand for a first attempt of ours that did happen: the token tells.
        if (!metadataErrors.EXISTS.is(error) && !metadataErrors.UNAVAILABLE.is(error)) throw error;
        const found = await this.read(id);
        if (found !== undefined && metadata.creationToken !== 0n && found.metadata.creationToken === metadata.creationToken) return found;
        if (found !== undefined) throw metadataErrors.EXISTS(paths.ledger(id), { cause: error });
        if (attempt >= attemptsMax) throw error;
      }
    }
  }

  async read(id: LedgerId): Promise<VersionedLedger | undefined> {
    const path = paths.ledger(id);
    const found = await this.#store.get(path);
    if (found === undefined) return undefined;
    try {
      return { metadata: decodeLedgerMetadata(found.value), version: found.version };
    } catch (error) {
      if (!protoErrors.LEDGER_METADATA_MALFORMED.is(error)) throw error;
      throw metadataErrors.CORRUPT(path, error.message, { cause: error });
    }
  }

  async write(id: LedgerId, changed: LedgerMetadata, version: number): Promise<VersionedLedger> {
    const path = paths.ledger(id);
    // The token is for the creation alone; BookKeeper writes 0 from the first change on.
    const metadata: LedgerMetadata = { ...changed, creationToken: 0n };
    const bytes = encodeLedgerMetadata(metadata);
    for (let attempt = 1; ; attempt++) {
      try {
        return { metadata, version: (await this.#store.put(path, bytes, version)).version };
      } catch (error) {
        if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
        const found = await this.#store.get(path);
        // The same bytes as the next version: written by us, or by somebody who decided the very same; either way it holds now.
        if (found?.version === version + 1 && found.value.equals(bytes)) return { metadata, version: found.version };
        if (found?.version !== version) throw metadataErrors.BAD_VERSION(path, { cause: error });
        if (attempt >= attemptsMax) throw error;
      }
    }
  }

  async delete(id: LedgerId): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.delete(paths.ledger(id), 'any');
        return;
      } catch (error) {
        if (metadataErrors.NOT_FOUND.is(error)) return;
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= attemptsMax) throw error;
      }
    }
  }

  /**
   * Walks the 2-4-4 tree, then the 3-4-4-4-4 tree, which holds the higher ids; parts sort as numbers, having a fixed width. A branch that vanishes meanwhile has
   * no children and is skipped; every other error ends the walk. A ledger made or deleted meanwhile may be in it or not.
   */
  async *list(): AsyncGenerator<LedgerId> {
    const tops = await this.#store.children(paths.ledgers);
    for (const top of tops.filter((name) => /^\d{2}$/.test(name))) yield* this.#walk(`${paths.ledgers}/${top}`, 1);
    for (const top of tops.filter((name) => /^\d{3}$/.test(name))) yield* this.#walk(`${paths.ledgers}/${top}`, 3);
  }

  async *#walk(path: string, levelsAbove: number): AsyncGenerator<LedgerId> {
    const names = await this.#store.children(path);
    for (const name of names) {
      const child = `${path}/${name}`;
      if (levelsAbove > 0) {
        if (/^\d{4}$/.test(name)) yield* this.#walk(child, levelsAbove - 1);
        continue;
      }
      const id = ledgerIdOfPath(child);
      if (id !== undefined) yield checkedId(child, id);
    }
  }

  watch(id: LedgerId, listener: () => void): { stop(): void } {
    return this.#store.watch(paths.ledger(id), listener);
  }
}

/** Left out of a listing it would look like a deleted ledger. */
function checkedId(path: string, id: bigint): LedgerId {
  if (id > BigInt(Number.MAX_SAFE_INTEGER)) throw metadataErrors.CORRUPT(path, 'Daybook knows ledger ids up to 2^53-1');
  return ledgerId(id);
}
