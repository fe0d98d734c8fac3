import type { BookieRegistry, BookieTopology } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { type Clock, invariant, type Logger, type Random } from '@daybook/runtime';
import { BookiePool } from '../bookie-pool.js';
import type { LedgerClient } from '../ledger-api.js';
import { createLedgerClient } from '../ledger-client.js';
import type { LedgerClientOptions } from '../ledger-client-options.js';
import { MemoryBookie } from './memory-bookie.js';
import { MemoryRecordStore, MemoryRecords } from './memory-records.js';
import { MemoryRegistry } from './memory-registry.js';

export interface MemoryClusterOptions {
  clock: Clock;
  random: Random;
  /** Names of the bookies that are up at first: `b1`, `b2`, ... Default 3. */
  bookiesCount?: number;
  delayMs?: number;
}

/** One client of a cluster with its own way to the metadata, so that faults hit one and not the other. */
export interface ClusterClient {
  client: LedgerClient;
  records: MemoryRecords;
  pool: BookiePool;
}

/** A whole cluster in memory: bookies, registry, ledger records. For tests of whatever stands on ledgers. */
export class MemoryCluster {
  readonly registry = new MemoryRegistry();
  readonly store = new MemoryRecordStore();
  readonly bookies = new Map<BookieId, MemoryBookie>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #delayMs: number;

  constructor(options: MemoryClusterOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#delayMs = options.delayMs ?? 0;
    for (let i = 1; i <= (options.bookiesCount ?? 3); i++) this.addBookie(`b${i}`);
  }

  addBookie(name: string): MemoryBookie {
    const bookie = new MemoryBookie({ clock: this.#clock, bookieId: name, delayMs: this.#delayMs });
    this.bookies.set(bookie.bookieId, bookie);
    this.register(name);
    return bookie;
  }

  bookie(name: string): MemoryBookie {
    const bookie = this.bookies.get(name as BookieId);
    invariant(bookie !== undefined, `there is no bookie ${name}`);
    return bookie;
  }

  register(name: string, { isWritable = true }: { isWritable?: boolean } = {}): void {
    const { bookieId, incarnation } = this.bookie(name);
    this.registry.register({ bookieId, incarnation, address: `${name}:3181`, httpAddress: '', isWritable });
  }

  /** kill -9: connections break, and with them (sooner or later) the registration. */
  kill(name: string): void {
    this.bookie(name).crash();
    this.registry.unregister(name as BookieId);
  }

  restart(name: string): void {
    this.bookie(name).start();
    this.register(name);
  }

  connect({
    options,
    logger,
    registry = this.registry,
    topology,
  }: {
    options?: Partial<LedgerClientOptions>;
    logger?: Logger;
    registry?: BookieRegistry;
    topology?: BookieTopology;
  } = {}): ClusterClient {
    const clock = this.#clock;
    const records = new MemoryRecords(this.store, clock);
    const shared = { clock, registry, ...(logger !== undefined && { logger }) };
    const pool = new BookiePool({ ...shared, connect: ({ bookieId }) => this.bookie(bookieId).connect() });
    const client = createLedgerClient({
      ...shared,
      random: this.#random,
      records,
      bookies: pool,
      ...(options !== undefined && { options }),
      ...(topology !== undefined && { topology }),
    });
    return { client, records, pool };
  }
}
