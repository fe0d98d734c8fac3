import { type ClusterClient, MemoryCluster } from '@daybook/ledger/testing';
import { comparePositions, type EntryId, type LedgerId, noEntry, type Position } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import type { ManagedLedger, ManagedLedgerOptions, StoredEntry } from '../managed-ledger-api.js';
import { createManagedLedgers } from '../managed-ledgers.js';
import type { ManagedLedgersSettings } from '../settings.js';
import { SharedTree, TreeSession } from './shared-tree.js';

export const smallOptions: ManagedLedgerOptions = {
  ensembleSize: 3,
  writeQuorumSize: 2,
  ackQuorumSize: 2,
  entriesPerLedgerMax: 50_000,
  bytesPerLedgerMax: 1024 * 1024 * 1024,
  rolloverTimeMinMs: 0,
  rolloverTimeMaxMs: 4 * 60 * 60 * 1000,
};

/** A broker's logs; several of them share one cluster. */
export interface TestBroker {
  readonly logs: ReturnType<typeof createManagedLedgers>;
  readonly session: TreeSession;
  readonly cluster: ClusterClient;
  readonly clock: SimClock;
  /** kill -9. */
  crash(): void;
}

/** A simulated cluster with bookies and metadata, on which brokers come and go. */
export class LogWorld {
  readonly queue: EventQueue;
  readonly tree = new SharedTree();
  readonly bookies: MemoryCluster;
  readonly #brokers: TestBroker[] = [];
  #started = 0;

  constructor({ seed = 1, bookiesCount = 3, delayMs = 1 }: { seed?: number; bookiesCount?: number; delayMs?: number } = {}) {
    this.queue = new EventQueue({ seed });
    const clock = new SimClock(this.queue, { name: 'cluster' });
    this.bookies = new MemoryCluster({ clock, random: this.queue.random.fork('cluster'), bookiesCount, delayMs });
  }

  broker(settings: Partial<ManagedLedgersSettings> = {}): TestBroker {
    const name = `broker-${++this.#started}`;
    const clock = new SimClock(this.queue, { name });
    const session = new TreeSession(this.tree);
    const cluster = this.bookies.connect({ options: { addEntryQuorumTimeoutMs: 3_000, addEntryTimeoutMs: 1_000 } });
    const random = this.queue.random.fork(name);
    const { registry } = this.bookies;
    const logs = createManagedLedgers({ clock, random, store: session, ledgers: cluster.client, registry, logger: silentLogger, settings });
    const broker = {
      logs,
      session,
      cluster,
      clock,
      crash: () => {
        session.isDead = true;
        cluster.records.isUnavailable = true;
        clock.stop();
      },
    };
    this.#brokers.push(broker);
    return broker;
  }

  /** The outcome of something that takes simulated time. */
  settle<T>(promise: Promise<T>, withinMs = 60_000): Promise<T> {
    return this.queue.complete(promise, { withinMs });
  }

  runFor(durationMs: number): Promise<void> {
    return this.queue.runFor(durationMs);
  }

  /** Ends all brokers that still run. */
  async end(): Promise<void> {
    for (const { logs, session } of this.#brokers) if (!session.isDead) await this.settle(logs.close(), 600_000);
  }
}

/** What the listener of a log was told, in order. */
export class Answers {
  /** Position of each acknowledged append, by its number; undefined for a failed one. */
  readonly positions: (Position | undefined)[] = [];
  readonly errors: Error[] = [];
  fencedWith: Error | undefined;
  isDeaf = false;

  constructor(log: ManagedLedger) {
    log.listen({
      appended: (ledgerId, first, count) => {
        if (this.isDeaf) return;
        if (this.fencedWith !== undefined) throw new Error('answered after fenced');
        for (let i = 0; i < count; i++) this.positions.push({ ledgerId, entryId: (first + i) as EntryId });
      },
      failed: (count, error) => {
        if (this.isDeaf) return;
        this.errors.push(error);
        for (let i = 0; i < count; i++) this.positions.push(undefined);
      },
      fenced: (error) => {
        if (!this.isDeaf) this.fencedWith = error;
      },
    });
  }
}

export function position(ledgerId: number, entryId: number): Position {
  return { ledgerId: ledgerId as LedgerId, entryId: entryId as EntryId };
}

export function show({ ledgerId, entryId }: Position): string {
  return `${ledgerId}:${entryId}`;
}

/** Everything from the beginning, with a check of the order. */
export async function readAll(log: ManagedLedger, entriesMax = 1000): Promise<{ position: Position; text: string }[]> {
  const out: { position: Position; text: string }[] = [];
  let after: Position = { ledgerId: log.beforeFirst.ledgerId, entryId: noEntry };
  for (;;) {
    const batch: StoredEntry[] = await log.read(after, { entriesMax, bytesMax: 1024 * 1024 });
    for (const entry of batch) {
      if (comparePositions(entry.position, after) <= 0) throw new Error(`${show(entry.position)} came after ${show(after)}`);
      after = entry.position;
      out.push({ position: entry.position, text: entry.payload.toString() });
    }
    if (batch.length === 0) return out;
  }
}
