import { createLedgerRecords, type MemoryStore, MemoryTree, type MetadataStore } from '@daybook/metadata';
import type { Clock, Random } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import { BookiePool } from '../../bookie-pool.js';
import type { LedgerClient } from '../../ledger-api.js';
import { createLedgerClient } from '../../ledger-client.js';
import { MemoryCluster } from '../../testing/memory-cluster.js';
import type { Logs } from '../log-api.js';
import type { LogOptions } from '../log-options.js';
import { createLogs } from '../logs.js';
import { CrashingStore } from './crashing-store.js';

/** A process that uses logs: its own session, its own ledger client. */
export interface LogNode {
  readonly name: string;
  readonly clock: SimClock;
  readonly random: Random;
  readonly session: MemoryStore;
  /** What the process goes through to the metadata. */
  readonly store: CrashingStore;
  readonly ledgers: LedgerClient;
  readonly logs: Logs;
  /** kill -9: nothing of it happens any more; its session ends (at once, unless told otherwise). */
  crash(options?: { keepSession?: boolean }): void;
}

export const smallLogOptions: Partial<LogOptions> = { ensembleSize: 3, writeQuorumSize: 2, ackQuorumSize: 2, lockWaitMs: 1_000 };

/** Bookies and metadata in memory, on simulated time, with processes that come and go. */
export class LogWorld {
  readonly queue: EventQueue;
  readonly tree = new MemoryTree();
  readonly bookies: MemoryCluster;
  readonly #delayMs: number;
  #nodesCount = 0;

  constructor({ seed = 1, bookiesCount = 3, delayMs = 1 }: { seed?: number; bookiesCount?: number; delayMs?: number } = {}) {
    this.queue = new EventQueue({ seed });
    this.#delayMs = delayMs;
    this.bookies = new MemoryCluster({ clock: this.clock('bookies'), random: this.queue.random.fork('bookies'), bookiesCount, delayMs });
  }

  clock(name: string): SimClock {
    return new SimClock(this.queue, { name });
  }

  node(options: Partial<LogOptions> = {}): LogNode {
    const name = `node-${++this.#nodesCount}`;
    const clock = this.clock(name);
    const random = this.queue.random.fork(name);
    const session = this.tree.openSession({ clock, random, faults: { delayMsMax: this.#delayMs } });
    const store = new CrashingStore(session);
    const ledgers = this.#ledgerClient(clock, random, store);
    const logs = createLogs({ store, ledgers, clock, random, options: { ...smallLogOptions, ...options } });
    const crash = ({ keepSession = false } = {}) => {
      store.crash();
      clock.stop();
      if (!keepSession) void session.close();
    };
    store.onCrash = () => crash();
    return { name, clock, random, session, store, ledgers, logs, crash };
  }

  run<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    return this.queue.complete(promise, { withinMs });
  }

  /** The error a promise is rejected with. */
  async rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
    return this.run(
      promise.then(
        () => new Error('it was not rejected'),
        (error) => error,
      ),
    );
  }

  runFor(durationMs: number): Promise<void> {
    return this.queue.runFor(durationMs);
  }

  #ledgerClient(clock: Clock, random: Random, store: MetadataStore): LedgerClient {
    const { registry } = this.bookies;
    const bookies = new BookiePool({ clock, registry, connect: ({ bookieId }) => this.bookies.bookie(bookieId).connect() });
    const options = { addEntryQuorumTimeoutMs: 3_000, addEntryTimeoutMs: 1_000 };
    return createLedgerClient({ clock, random, records: createLedgerRecords(store), registry, bookies, options });
  }
}
