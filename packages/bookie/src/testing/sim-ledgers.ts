import { metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type BookieId, type EntryId, type LedgerId, type LedgerMetadata, ledgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BookieMetadata } from '../bookie-api.js';
import type { LedgerListing } from '../storage/deleted-ledgers.js';

/** The ledgers a cluster has, as a bookie's garbage collection asks for them; a test makes and deletes them, and lets the asking fail. */
export class SimLedgers implements LedgerListing {
  readonly #records = new Map<number, LedgerMetadata>();
  readonly #cookies = new Map<string, { bytes: Buffer; version: number }>();
  /** Throws, or not, before each answer. */
  onCall: (call: { kind: 'list' | 'next' | 'read'; ledgerId?: number }) => void = () => undefined;
  instanceId = 'cluster-1';
  clock: Clock | undefined;

  create(id: number, changes: Partial<LedgerMetadata> = {}): void {
    this.#records.set(id, { ...metadataOf(['bookie-1' as BookieId]), ...changes });
  }

  delete(id: number): void {
    this.#records.delete(id);
  }

  has(id: number): boolean {
    return this.#records.has(id);
  }

  async *list(): AsyncGenerator<LedgerId> {
    await this.#wait();
    this.onCall({ kind: 'list' });
    for (const id of [...this.#records.keys()].sort((a, b) => a - b)) {
      this.onCall({ kind: 'next', ledgerId: id });
      yield ledgerId(id);
    }
    await this.#wait();
    this.onCall({ kind: 'next' });
  }

  async read(id: LedgerId): Promise<VersionedLedger | undefined> {
    await this.#wait();
    this.onCall({ kind: 'read', ledgerId: id });
    const metadata = this.#records.get(id);
    return metadata && { metadata, version: 0 };
  }

  /** For `SimBookieOptions.metadata`. */
  metadata(clock: Clock): BookieMetadata {
    this.clock = clock;
    return {
      instanceId: async () => this.instanceId,
      cookies: {
        read: async (bookieId) => this.#cookies.get(bookieId),
        write: async (bookieId, bytes) => {
          this.#cookies.set(bookieId, { bytes, version: (this.#cookies.get(bookieId)?.version ?? -1) + 1 });
        },
      },
      ledgers: this,
      register: async () => ({ setWritable: async () => undefined, close: async () => undefined }),
    };
  }

  async #wait(): Promise<void> {
    await this.clock?.sleep(1);
  }
}

export function unavailable(): Error {
  return metadataErrors.UNAVAILABLE('simulated');
}

export function metadataOf(ensemble: readonly BookieId[]): LedgerMetadata {
  return {
    formatVersion: 3,
    ensembleSize: ensemble.length,
    writeQuorumSize: ensemble.length,
    ackQuorumSize: 1,
    state: 'OPEN',
    length: 0,
    lastEntryId: -1 as EntryId,
    segments: [{ firstEntryId: 0 as EntryId, ensemble }],
    digestType: 'CRC32C',
    password: new Uint8Array(),
    createdAtMs: 0,
    customMetadata: new Map(),
    creationToken: 0n,
  };
}
