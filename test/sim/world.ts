import type { ManagedLedgersSettings } from '@daybook/broker';
import { defaultLedgerClientOptions, type LedgerClientOptions } from '@daybook/ledger';
import { initialiseCluster, type MemoryFaults, MemoryTree, updateBookieRacks } from '@daybook/metadata';
import { DaybookError, type Logger } from '@daybook/runtime';
import { EventQueue, SimClock, type SimRandom } from '@daybook/runtime/sim';
import { BookieNode, smallBookieLimits } from './bookie-node.js';
import { Bookies } from './checkers/bookies.js';
import { Ledgers } from './checkers/ledgers.js';
import { Log } from './checkers/log.js';
import { Reads } from './checkers/reads.js';
import { ClientNode, type Script } from './client-node.js';
import { History } from './history.js';
import type { Mutation } from './mutation.js';
import { Network } from './network.js';
import { NodeSession } from './node-session.js';

export interface WorldOptions {
  seed: number;
  mutation?: Mutation;
  /** Gets each log line, for people. */
  print?: (line: string) => void;
  onMade?: (world: World) => void;
}

/** A tree of metadata that is looked at from outside. */
class ObservedTree extends MemoryTree {
  onChange: ((path: string, value: Buffer | undefined) => void) | undefined;

  override publish(changes: Parameters<MemoryTree['publish']>[0]): void {
    for (const change of changes) {
      if (change.kind === 'put') this.onChange?.(change.path, Buffer.from(change.node.value));
      else if (change.kind === 'delete') this.onChange?.(change.path, undefined);
    }
    super.publish(changes);
  }
}

/** Machines, network, metadata and what was seen of them: the parts that every world is made of. */
export class World {
  readonly queue: EventQueue;
  readonly random: SimRandom;
  readonly history: History;
  readonly network: Network;
  readonly tree = new ObservedTree();
  readonly mutation: Mutation | undefined;
  readonly bookies: BookieNode[] = [];
  readonly clients: ClientNode[] = [];
  readonly sessionTimeoutMs = 4_000;
  clientOptions: Partial<LedgerClientOptions> = {
    ...defaultLedgerClientOptions,
    addEntryTimeoutMs: 1_000,
    addEntryQuorumTimeoutMs: 5_000,
    windowBytes: 48 * 1024,
    lagBytesMax: 24 * 1024,
    speculativeReadTimeoutMs: 300,
    readBatchBytes: 8 * 1024,
  };
  bookieLimits = smallBookieLimits;
  collectsGarbage = false;
  /** 0: nobody knows where bookies stand. */
  racksCount = 0;
  readonly logSettings: Partial<ManagedLedgersSettings> = {
    cursorEntriesPerLedgerMax: 20,
    cursorBytesPerLedgerMax: 8 * 1024,
    cursorWriteWaitMaxMs: 2_000,
    appendBytesMax: 128 * 1024,
    appendWaitMaxMs: 10_000,
    tailCacheBytesMax: 16 * 1024,
    tailCacheAgeMaxMs: 500,
    openReadersMax: 4,
    readersIdleMaxMs: 2_000,
    retryDelayMaxMs: 1_000,
    rollRetryDelayMs: 1_000,
    drainWaitMaxMs: 2_000,
    fullSizeDelayMs: 500,
    trimDelayMs: 2_000,
  };
  readonly ledgers: Ledgers;
  readonly claims: Bookies;
  readonly log: Log;
  metadataFaults: Partial<MemoryFaults> = { delayMsMax: 2 };
  /** The one bookie whose disk may forget what it holds. */
  rotten: string | undefined;
  /** In `safety` things go wrong; in `liveness` everything has to come to an end. */
  phase: 'safety' | 'liveness' = 'safety';
  readonly #sessions = new Set<NodeSession>();
  readonly #deferred = new Map<string, number[]>();
  readonly #fences = new Map<string, Set<number>>();
  onWiped: ((bookie: string) => void) | undefined;
  onBookieGone: ((bookie: BookieNode) => void) | undefined;

  constructor({ seed, mutation, print, onMade }: WorldOptions) {
    this.queue = new EventQueue({ seed, traceLinesMax: 60 });
    this.random = this.queue.random.fork('world');
    this.history = new History(this.queue);
    this.network = new Network(this.queue, { appendMs: 1_500, requestMs: 1_200 });
    this.mutation = mutation;
    this.history.print = print;
    this.ledgers = this.history.add(new Ledgers(this.history));
    this.claims = this.history.add(new Bookies(this.history, this.ledgers));
    this.log = this.history.add(new Log(this.history, this.ledgers, () => this.queue.nowMs));
    this.history.add(new Reads(this.history, this.ledgers));
    onMade?.(this);
    this.tree.onChange = (path, value) => this.history.tell({ kind: 'record', path, value });
  }

  get isOver(): boolean {
    return this.history.violation !== undefined;
  }

  openSession(clock: SimClock): NodeSession {
    const random = this.queue.random.fork(`${clock.name} metadata`);
    const session = new NodeSession({ tree: this.tree, clock, random, faults: this.metadataFaults, sessionTimeoutMs: this.sessionTimeoutMs });
    this.#sessions.add(session);
    return session;
  }

  setMetadataFaults(faults: Partial<MemoryFaults>): void {
    this.metadataFaults = faults;
    for (const session of this.#sessions) session.inner.setFaults(faults);
  }

  addBookie(name: string): BookieNode {
    const bookie = new BookieNode(this, name);
    this.bookies.push(bookie);
    return bookie;
  }

  addClient(name: string, script: Script, options?: { isService?: boolean }): ClientNode {
    const client = new ClientNode(this, name, script, options);
    this.clients.push(client);
    return client;
  }

  /** Ledgers that a bookie says it has fenced: forgotten never. */
  fences(bookie: string): Set<number> {
    const fences = this.#fences.get(bookie) ?? new Set<number>();
    this.#fences.set(bookie, fences);
    return fences;
  }

  /** Entries that a bookie answered without making them durable, until they are forced; also by a process that is gone: killed only, it has them after all. */
  deferred(bookie: string, ledgerId: number): number[] {
    const key = `${bookie} ${ledgerId}`;
    const entryIds = this.#deferred.get(key) ?? [];
    this.#deferred.set(key, entryIds);
    return entryIds;
  }

  bookieGone(bookie: BookieNode): void {
    this.onBookieGone?.(bookie);
  }

  /** What it acknowledged and fenced is gone with its disks. */
  bookieWiped({ name }: BookieNode): void {
    this.claims.wiped(name);
    this.onWiped?.(name);
    this.#fences.delete(name);
    for (const key of this.#deferred.keys()) if (key.startsWith(`${name} `)) this.#deferred.delete(key);
  }

  /** After each start: does it still have what it acknowledged? */
  bookieUp(node: BookieNode): void {
    this.history.note(node.name, 'is up');
    // In limbo it counts as one that lost what it had, until that was copied back.
    if (!node.mayStartEmpty) this.claims.isBack(node.name);
    void this.inspect(node);
  }

  async inspect(node: BookieNode): Promise<void> {
    const { bookie } = node;
    if (bookie === undefined) return;
    for (const ledgerId of this.claims.ledgersOf(node.name)) {
      const claimed = this.claims.claimed(node.name, ledgerId);
      const { code, runs } = await bookie.service.listEntries(ledgerId as Parameters<typeof bookie.service.listEntries>[0]);
      // What is sent again is not listed until it is in the journal again.
      const settled = claimed.filter((entryId) => !node.wasSentAgain(ledgerId, entryId));
      this.history.tell({ kind: 'bookie holds', bookie: node.name, ledgerId, code, runs, claimed: settled });
    }
  }

  /** Runs until `done`, at most this long; false when time was over. Stops at the first violation. */
  async runUntil(done: () => boolean, withinMs: number): Promise<boolean> {
    await this.queue.run({ until: () => done() || this.isOver, untilMs: this.queue.nowMs + withinMs, eventsMax: 400_000 });
    return done();
  }

  async boot(): Promise<void> {
    const session = this.openSession(new SimClock(this.queue, { name: 'admin' }));
    await this.queue.complete(initialiseCluster(session, this.queue.random.fork('cluster')));
    if (this.racksCount > 0) {
      const { racksCount, bookies } = this;
      await this.queue.complete(this.#setRacks(session, (place) => place % racksCount));
      const others = () => void this.#setRacks(session, (place) => Math.floor((place * racksCount) / bookies.length));
      this.queue.schedule(this.queue.random.fork('racks').between(1_000, 10_000), others, 'bookies move');
    }
    for (const bookie of this.bookies) bookie.start();
    const isUp = await this.runUntil(() => this.bookies.every((bookie) => bookie.state === 'up'), 30_000);
    if (!isUp) this.history.violate('liveness', 'the bookies did not start');
  }

  async #setRacks(session: NodeSession, rackOf: (place: number) => number): Promise<void> {
    const places = this.bookies.map(({ name }, place) => [name, { rack: `/rack${rackOf(place)}`, hostname: '' }] as const);
    try {
      await updateBookieRacks(session, () => ({ default: Object.fromEntries(places) }));
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
    }
  }

  logger(node: string): Logger {
    const write = (level: string) => (fields: object, text: string) => {
      this.history.note(node, text);
      this.history.print?.(`    ${level} ${describe(fields)}`);
    };
    const logger: Logger = {
      isDebug: false,
      debug: () => undefined,
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: () => logger,
    };
    return logger;
  }
}

function describe(fields: object): string {
  return JSON.stringify(fields, (_key, value) => (value instanceof Error ? value.message : value));
}
