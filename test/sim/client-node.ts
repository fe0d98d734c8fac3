import { createManagedLedgers, type ManagedLedgers } from '@daybook/broker';
import { BookiePool, createLedgerClient, type LedgerClient } from '@daybook/ledger';
import {
  type BookieRegistry,
  type BookieTopology,
  createBookieRegistry,
  createBookieTopology,
  createLedgerRecords,
  type LedgerRecords,
  type MetadataStore,
} from '@daybook/metadata';
import type { Logger } from '@daybook/runtime';
import { SimClock, type SimRandom } from '@daybook/runtime/sim';
import type { NodeSession } from './node-session.js';
import type { World } from './world.js';

/** One life of a process that uses ledgers: its own clock, session, connections. */
export interface ClientRun {
  /** `c1.2`: the second life on machine c1. */
  readonly name: string;
  readonly clock: SimClock;
  readonly random: SimRandom;
  readonly session: NodeSession;
  readonly store: MetadataStore;
  readonly registry: BookieRegistry;
  readonly records: LedgerRecords;
  readonly pool: BookiePool;
  /** Where bookies stand, in worlds with racks. */
  readonly topology: BookieTopology | undefined;
  readonly client: LedgerClient;
  readonly logs: ManagedLedgers;
  readonly logger: Logger;
  note(text: string): void;
  readonly isAlive: boolean;
}

export type Script = (run: ClientRun) => Promise<void>;

/** A machine whose process runs a script of ledger work, again after each crash. */
export class ClientNode {
  readonly name: string;
  /** Runs for ever: nobody waits for its end. */
  readonly isService: boolean;
  readonly #world: World;
  readonly #script: Script;
  clock: SimClock;
  session: NodeSession | undefined;
  state: 'off' | 'on' | 'done' = 'off';
  #runs = 0;

  constructor(world: World, name: string, script: Script, { isService = false }: { isService?: boolean } = {}) {
    this.#world = world;
    this.name = name;
    this.isService = isService;
    this.#script = script;
    this.clock = new SimClock(world.queue, { name });
  }

  start(): void {
    if (this.state === 'on') return;
    this.state = 'on';
    const name = `${this.name}.${++this.#runs}`;
    this.clock = new SimClock(this.#world.queue, { name });
    this.session = this.#world.openSession(this.clock);
    const { clock, session } = this;
    this.#run(name, clock, session).then(
      () => {
        this.state = 'done';
        this.#world.history.note(name, 'done');
      },
      (error: unknown) => this.#world.history.violate('crash', `${name}: ${(error as Error).stack}`),
    );
  }

  kill(): void {
    if (this.state !== 'on') return;
    this.state = 'off';
    this.#world.log.brokerGone(this.clock.name);
    this.clock.stop();
    const { session } = this;
    this.#world.queue.schedule(this.#world.random.between(0, 20), () => session?.inner.suspend(), `${this.name} session cut`);
  }

  pause(): void {
    this.clock.pause();
    const { session, clock } = this;
    this.#world.queue.schedule(
      this.#world.sessionTimeoutMs / 2,
      () => {
        if (clock.state === 'paused') session?.inner.suspend();
      },
      `${this.name} session silent`,
    );
  }

  resume(): void {
    if (this.clock.state !== 'paused') return;
    this.clock.resume();
    this.session?.inner.resume();
  }

  async #run(name: string, clock: SimClock, session: NodeSession): Promise<void> {
    const world = this.#world;
    const { mutation } = world;
    const random = world.queue.random.fork(name);
    const store = mutation?.store?.(session) ?? session;
    const logger = world.logger(name);
    const registry = await untilThere(clock, () => createBookieRegistry(store, { clock }));
    const topology = world.racksCount === 0 ? undefined : await untilThere(clock, () => createBookieTopology(store, { logger }));
    const connect = world.network.connectFrom(this.name, clock);
    const pool = new BookiePool({
      clock,
      registry,
      logger,
      connect: (bookie) => {
        const connection = connect(bookie);
        const service = mutation?.connection?.(connection.service, this.name);
        return service === undefined ? connection : { service, close: () => connection.close() };
      },
    });
    const stored = createLedgerRecords(store);
    const records = mutation?.records?.(stored) ?? stored;
    const client = createLedgerClient({
      clock,
      random,
      records,
      registry,
      bookies: pool,
      ...(topology && { topology }),
      logger,
      options: world.clientOptions,
    });
    const logs = createManagedLedgers({ clock, random, store, ledgers: client, registry, logger, settings: world.logSettings });
    const isAlive = () => clock.state !== 'stopped';
    await this.#script({
      name,
      clock,
      random,
      session,
      store,
      registry,
      records,
      pool,
      topology,
      client,
      logs,
      logger,
      note: (text) => world.history.note(name, text),
      get isAlive() {
        return isAlive();
      },
    });
    await logs.close();
    await client.close();
    pool.close();
    topology?.close();
    registry.close();
    await session.close();
  }
}

async function untilThere<T>(clock: SimClock, make: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await make();
    } catch {
      await clock.sleep(200);
    }
  }
}
