import { type Bookie, bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { BookiePool, createLedgerClient, type LedgerClient } from '@daybook/ledger';
import type { RepairParts } from '@daybook/ledger/repair';
import { createBookieRegistry, createLedgerRecords, type LedgerRecords, MemoryTree, type RegisteredBookie } from '@daybook/metadata';
import type { AppendBatch, BookieCode, BookieId, BookieService, LedgerId } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';

/** A machine: its disk outlives what runs on it. */
interface Machine {
  disk: SimDisk;
  clock: SimClock;
  bookie: Bookie | undefined;
  runs: number;
}

export interface ClusterProcess extends RepairParts {
  ledgers: LedgerClient;
  records: LedgerRecords;
}

/** Whole bookies on simulated disks, with the metadata in memory; nothing is lost between them. */
export class RealBookies {
  readonly queue: EventQueue;
  readonly clock: SimClock;
  readonly #tree = new MemoryTree();
  readonly #machines = new Map<string, Machine>();
  #processes = 0;

  constructor(seed = 1) {
    this.queue = new EventQueue({ seed });
    this.clock = new SimClock(this.queue, { name: 'world' });
  }

  run<T>(promise: Promise<T>): Promise<T> {
    return this.queue.complete(promise, { withinMs: 600_000 });
  }

  bookie(name: string): Bookie {
    const { bookie } = this.#machine(name);
    if (bookie === undefined) throw new Error(`bookie ${name} is not up`);
    return bookie;
  }

  disk(name: string): SimDisk {
    return this.#machine(name).disk;
  }

  /** On the disks it has; a machine that is new gets empty ones. */
  async start(name: string, config: { dataIntegrityChecking?: boolean } = {}): Promise<void> {
    const machine = this.#machine(name);
    machine.clock = new SimClock(this.queue, { name: `${name}.${++machine.runs}` });
    machine.disk = machine.disk.boot(machine.clock);
    const { clock, disk } = machine;
    disk.onCrash = () => clock.stop();
    const random = this.queue.random.fork(clock.name);
    const onFailure = (error: unknown) => {
      throw error;
    };
    const opening = openBookie({
      config: bookieConfigSchema.parse({ bookieId: name, journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'], ...config }),
      limits: { journalPrefillBytes: 64 * 1024, limboSettleMs: 1_000 },
      dataDirectory: '/data',
      metadata: bookieMetadata(this.#tree.openSession({ clock, random }), { clock, random, logger: silentLogger, onFailure }),
      ...{ clock, disk, random, logger: silentLogger, onFatal: onFailure },
    });
    machine.bookie = await this.run(opening);
    await this.run(machine.bookie.register({ address: `${name}:3181`, httpAddress: '' }));
  }

  async stop(name: string): Promise<void> {
    const machine = this.#machine(name);
    await this.run(this.bookie(name).close());
    machine.bookie = undefined;
    machine.disk.kill();
  }

  /** Power cut: what was not synced is gone. Its registration lasts as long as its session. */
  powerCut(name: string): void {
    const machine = this.#machine(name);
    machine.bookie = undefined;
    machine.disk.crash({ keep: 'none' });
  }

  /** Empty disks in the place of its own. */
  loseDisks(name: string): void {
    this.#machine(name).disk = new SimDisk({ clock: this.clock });
  }

  /** A process with its own session and connections, that uses ledgers. */
  async process(): Promise<ClusterProcess> {
    const name = `process-${++this.#processes}`;
    const { clock } = this;
    const random = this.queue.random.fork(name);
    const store = this.#tree.openSession({ clock, random });
    const registry = await this.run(createBookieRegistry(store, { clock }));
    const bookies = new BookiePool({ clock, registry, connect: (bookie) => this.#connect(bookie) });
    const records = createLedgerRecords(store);
    const ledgers = createLedgerClient({ clock, random, records, registry, bookies });
    return { clock, random, store, records, registry, bookies, ledgers, name };
  }

  /** Whether each of them has all of a closed ledger's entries, by its own list. */
  async have(names: readonly string[], ledgerId: LedgerId, entriesCount: number): Promise<boolean> {
    for (const name of names) {
      const { runs } = await this.run(this.bookie(name).service.listEntries(ledgerId));
      const [run] = runs;
      if (runs.length !== 1 || run?.first !== 0 || run.last !== entriesCount - 1) return false;
    }
    return true;
  }

  /** Runs until it is so; false when it is not within that time. */
  async until(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
    for (const endMs = this.clock.monoMs() + withinMs; this.clock.monoMs() < endMs; await this.queue.runFor(250)) if (await isSo()) return true;
    return false;
  }

  #machine(name: string): Machine {
    let machine = this.#machines.get(name);
    if (machine === undefined) {
      machine = { disk: new SimDisk({ clock: this.clock }), clock: this.clock, bookie: undefined, runs: 0 };
      this.#machines.set(name, machine);
    }
    return machine;
  }

  /** To the disks it has now: other ones, or none, are `UNAVAILABLE`. */
  #connect({ bookieId, incarnation }: RegisteredBookie) {
    const gone = unavailable(bookieId, this.clock);
    const service = new Proxy(gone, {
      get: (_, key) => {
        const { bookie } = this.#machine(bookieId);
        const target = bookie?.identity.incarnation === incarnation ? bookie.service : gone;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return { service, close: () => undefined };
  }
}

function unavailable(bookieId: BookieId, clock: SimClock): BookieService {
  const code = 'UNAVAILABLE' as const;
  return {
    bookieId,
    append: (_batch: AppendBatch, done: (code: BookieCode) => void) => clock.endOfTurn(() => done(code)),
    read: async () => ({ code, entries: [] }),
    fence: async () => ({ code }),
    readLac: async () => ({ code }),
    awaitLac: async () => ({ code }),
    writeLac: async () => ({ code }),
    force: async () => ({ code }),
    listEntries: async () => ({ code, runs: [] }),
    info: async () => ({ code, totalBytes: 0, freeBytes: 0 }),
  };
}
