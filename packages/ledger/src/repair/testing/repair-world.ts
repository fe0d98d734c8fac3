import {
  type BookieTopology,
  createCookieRecords,
  createLedgerRecords,
  type LedgerRecords,
  type MemoryFaults,
  type MemoryStore,
  MemoryTree,
} from '@daybook/metadata';
import type { BookieId, BookieService, EntryId, LedgerId, LedgerMetadata, ListEntriesReply } from '@daybook/proto';
import { type LogFields, type Logger, silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import { BookiePool } from '../../bookie-pool.js';
import { storesEntry } from '../../distribution.js';
import type { LedgerClient } from '../../ledger-api.js';
import { createLedgerClient } from '../../ledger-client.js';
import { MemoryCluster } from '../../testing/memory-cluster.js';
import {
  type AutoRecovery,
  type AutoRecoveryOptions,
  openRepairTools,
  type RateOptions,
  type RepairParts,
  type RepairTools,
  startAutoRecovery,
} from '../auto-recovery.js';
import { fragmentsOf } from '../ledger-check.js';

export interface WorldLog {
  readonly lines: { level: string; text: string; fields: LogFields }[];
  readonly logger: Logger;
}

/** One process of a {@link RepairWorld}: its own session, connections and ledger client. */
export interface RepairNode {
  readonly session: MemoryStore;
  readonly parts: RepairParts;
  readonly client: LedgerClient;
  readonly records: LedgerRecords;
  readonly log: WorldLog;
}

/** Bookies, metadata and processes that repair, in memory and on simulated time. */
export class RepairWorld {
  readonly queue: EventQueue;
  readonly clock: SimClock;
  readonly cluster: MemoryCluster;
  readonly tree = new MemoryTree();
  /** What bookies answer to a listing in place of the truth. */
  readonly listReplies = new Map<string, ListEntriesReply>();
  readonly listCounts = new Map<string, number>();
  readonly admin: RepairNode;
  #nodesCount = 0;
  /** Only of repair: ledgers are put anywhere. */
  readonly #topology: BookieTopology | undefined;

  constructor({ seed = 1, bookiesCount = 4, topology }: { seed?: number; bookiesCount?: number; topology?: BookieTopology } = {}) {
    this.#topology = topology;
    this.queue = new EventQueue({ seed });
    this.clock = new SimClock(this.queue);
    this.cluster = new MemoryCluster({ clock: this.clock, random: this.queue.random.fork('cluster'), bookiesCount, delayMs: 1 });
    this.admin = this.addNode();
  }

  addNode(faults: Partial<MemoryFaults> = {}): RepairNode {
    const { clock, cluster } = this;
    const name = `node-${++this.#nodesCount}`;
    const random = this.queue.random.fork(name);
    const session = this.tree.openSession({ clock, random, faults });
    const log = recordingLogger();
    const connect = ({ bookieId }: { bookieId: BookieId }) => {
      const connection = cluster.bookie(bookieId).connect();
      return { service: this.#observed(connection.service), close: () => connection.close() };
    };
    const bookies = new BookiePool({ clock, registry: cluster.registry, connect });
    const records = createLedgerRecords(session);
    const client = createLedgerClient({ clock, random, records, registry: cluster.registry, bookies });
    const parts: RepairParts = {
      clock,
      random,
      store: session,
      records,
      registry: cluster.registry,
      bookies,
      ledgers: client,
      name,
      logger: log.logger,
      topology: this.#topology,
    };
    return { session, parts, client, records, log };
  }

  run<T>(promise: Promise<T>, withinMs?: number): Promise<T> {
    return this.queue.complete(promise, withinMs === undefined ? {} : { withinMs });
  }

  runFor(durationMs: number): Promise<void> {
    return this.queue.runFor(durationMs);
  }

  /** Runs until it is so; false when it is not within that time. */
  async until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
    const deadlineMs = this.clock.monoMs() + withinMs;
    for (;;) {
      const answer = isSo();
      if (typeof answer === 'boolean' ? answer : await this.run(answer)) return true;
      if (this.clock.monoMs() >= deadlineMs) return false;
      await this.runFor(50);
    }
  }

  async rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
    return this.run(
      promise.then(
        () => new Error('it was not rejected'),
        (error) => error,
      ),
    );
  }

  tools(node = this.addNode(), rate: RateOptions = {}): Promise<RepairTools> {
    return this.run(openRepairTools(node.parts, rate));
  }

  autoRecovery(options: AutoRecoveryOptions = {}, node = this.addNode()): Promise<AutoRecovery> {
    return this.run(startAutoRecovery(node.parts, options));
  }

  /** Gives the bookies cookies, as joining a cluster does. */
  async addCookies(...names: string[]): Promise<void> {
    const cookies = createCookieRecords(this.admin.session);
    for (const name of names) await this.run(cookies.write(name as BookieId, Buffer.from('5\n'), 'absent'));
  }

  /** A ledger with entries; closed unless told otherwise. */
  async ledger({ count, quorum = [3, 3, 2], isOpen = false, node = this.admin }: LedgerPlan): Promise<LedgerId> {
    const [ensembleSize, writeQuorumSize, ackQuorumSize] = quorum;
    const writer = await this.run(node.client.create({ ensembleSize, writeQuorumSize, ackQuorumSize, password: Buffer.from('secret') }));
    if (count > 0) {
      for (let i = 0; i < count; i++) writer.push(payloadOf(writer.ledgerId, i));
      await this.until(() => writer.lastAddConfirmed === count - 1, 60_000);
    }
    if (!isOpen) await this.run(writer.close());
    // The last copies may still be on their way.
    await this.runFor(20);
    return writer.ledgerId;
  }

  async metadata(ledgerId: LedgerId): Promise<LedgerMetadata> {
    return (await this.run(this.admin.records.read(ledgerId)))?.metadata as LedgerMetadata;
  }

  async ensemble(ledgerId: LedgerId, segment = 0): Promise<string[]> {
    return [...((await this.metadata(ledgerId)).segments[segment]?.ensemble ?? [])];
  }

  /** Looked at from outside: members that are gone, and those of closed fragments that do not hold what they should. */
  async holes(ledgerId: LedgerId): Promise<string[]> {
    const metadata = await this.metadata(ledgerId);
    return metadata === undefined ? [] : this.holesOf(ledgerId, metadata);
  }

  /** Runs until none of the ledgers has a hole; false when that is not so within that time. */
  async areWhole(ledgerIds: readonly LedgerId[], withinMs: number): Promise<boolean> {
    for (const deadlineMs = this.clock.monoMs() + withinMs; ; await this.runFor(50)) {
      let holesCount = 0;
      for (const ledgerId of ledgerIds) holesCount += (await this.holes(ledgerId)).length;
      if (holesCount === 0) return true;
      if (this.clock.monoMs() >= deadlineMs) return false;
    }
  }

  holesOf(ledgerId: LedgerId, metadata: LedgerMetadata): string[] {
    const holes: string[] = [];
    for (const { firstEntryId, lastEntryId, ensemble, isClosed } of fragmentsOf(metadata)) {
      for (const [index, bookieId] of ensemble.entries()) {
        if (this.cluster.registry.get(bookieId) === undefined) holes.push(`${bookieId} is gone`);
        if (!isClosed) continue;
        const missing: number[] = [];
        for (let id: number = firstEntryId; id <= lastEntryId; id++) {
          if (storesEntry(metadata, index, id) && !this.cluster.bookie(bookieId).holds(ledgerId, id)) missing.push(id);
        }
        if (missing.length > 0) holes.push(`${bookieId} lacks ${missing.slice(0, 5).join(',')}`);
      }
    }
    return holes;
  }

  /** All entries, as a reader gets them; compares them with what was written. */
  async isReadable(ledgerId: LedgerId, count: number): Promise<boolean> {
    const reader = await this.run(this.admin.client.openWithRecovery(ledgerId, { password: Buffer.from('secret') }));
    if (reader.lastAddConfirmed < count - 1) return false;
    if (count === 0) return true;
    const entries = await this.run(reader.read(0 as EntryId, (count - 1) as EntryId));
    return entries.every(({ payload, entryId }) => payload.equals(payloadOf(ledgerId, entryId)));
  }

  #observed(service: BookieService): BookieService {
    const listEntries = async (ledgerId: LedgerId): Promise<ListEntriesReply> => {
      const reply = await service.listEntries(ledgerId);
      this.listCounts.set(service.bookieId, (this.listCounts.get(service.bookieId) ?? 0) + 1);
      return this.listReplies.get(service.bookieId) ?? reply;
    };
    return new Proxy(service, {
      get: (target, key) => {
        if (key === 'listEntries') return listEntries;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

export interface LedgerPlan {
  count: number;
  quorum?: readonly [number, number, number];
  isOpen?: boolean;
  node?: RepairNode;
}

export function payloadOf(ledgerId: number, entryId: number): Buffer {
  return Buffer.from(`ledger ${ledgerId} entry ${entryId}`);
}

function recordingLogger(): WorldLog {
  const lines: WorldLog['lines'] = [];
  const at = (level: string) => (fields: LogFields, text: string) => void lines.push({ level, text, fields });
  const logger: Logger = { ...silentLogger, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => logger };
  return { lines, logger };
}
