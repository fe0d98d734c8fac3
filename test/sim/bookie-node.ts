import { type Bookie, type BookieMetadata, bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { createCookieRecords, readInstanceId } from '@daybook/metadata';
import type {
  AppendBatch,
  AwaitLacRequest,
  BookieCode,
  BookieService,
  CodeReply,
  FenceRequest,
  ForceRequest,
  LacReply,
  LedgerId,
  ReadReply,
  ReadRequest,
  WriteLacRequest,
} from '@daybook/proto';
import { ByteBudget } from '@daybook/runtime';
import { SimClock, SimDisk } from '@daybook/runtime/sim';
import type { NodeSession } from './node-session.js';
import type { World } from './world.js';

/** Small bounds, so that a short life rolls files, fills caches and seals logs. */
export const smallBookieLimits = {
  batchBytesMax: 64 * 1024,
  journalFileBytesMax: 128 * 1024,
  journalPrefillBytes: 8192,
  journalCommitBytesMax: 64 * 1024,
  journalQueueBytesMax: 128 * 1024,
  journalSparesMax: 1,
  writeCacheBytesMax: 192 * 1024,
  heldAppendsBytesMax: 128 * 1024,
  readCacheBytesMax: 16 * 1024,
  readAheadBytes: 2048,
  ledgerCacheBytesMax: 16 * 1024,
  logBytesMax: 64 * 1024,
  logSyncStepBytes: 16 * 1024,
  openIndexBytesMax: 8192,
  openFilesMax: 4,
  limboSettleMs: 500,
  diskReserveBytes: 32 * 1024,
  flushIntervalMs: 1500,
};

/** Unanswered appends of all clients: below what the smallest bookie may queue in its journal. */
const appendBytesMax = 96 * 1024;

/** For batches as large as repair sends them. */
export const repairBookieLimits = {
  ...smallBookieLimits,
  batchBytesMax: 300 * 1024,
  journalFileBytesMax: 320 * 1024,
  journalCommitBytesMax: 128 * 1024,
  journalQueueBytesMax: 320 * 1024,
  writeCacheBytesMax: 640 * 1024,
  heldAppendsBytesMax: 320 * 1024,
};

const directories = { journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] };
const config = bookieConfigSchema.parse(directories);

/** So that a life of some seconds sees many rounds of garbage collection, and both kinds of compaction. */
const collectingConfig = bookieConfigSchema.parse({
  ...directories,
  gcWaitTime: 1_000,
  gcOverreplicatedLedgerWaitTime: 1_000,
  entryLogRollIdleMs: 500,
  minorCompactionInterval: 2,
  majorCompactionInterval: 4,
});

/** A recoverer or a replication worker that stood still for as long as the nemesis has it may still tell the metadata what it copied. */
const collectingLimits = { gcLedgerAgeMsMin: 50, gcRecoveryQuietMs: 30_000, compactionKeepFreeBytes: 2048 };

/** A machine with a disk, on which the bookie process is started again and again. */
export class BookieNode {
  readonly name: string;
  readonly address: string;
  readonly #world: World;
  disk: SimDisk;
  clock: SimClock;
  session: NodeSession | undefined;
  bookie: Bookie | undefined;
  state: 'off' | 'starting' | 'up' = 'off';
  /** Its disks are gone, or its operator has taken it away: it is to be drained, then it comes back empty. */
  isLost = false;
  /** Its operator lets it start on empty disks under its old name: in limbo, until its ledgers were copied back. */
  mayStartEmpty = false;
  /** Kept off by its operator. */
  isRetired = false;
  #runs = 0;
  #observed: ObservedBookie | undefined;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    this.address = `${name}:3181`;
    this.clock = new SimClock(world.queue, { name });
    this.disk = new SimDisk({ clock: this.clock, random: world.queue.random.fork(`${name} disk`) });
  }

  start(): void {
    if (this.state !== 'off' || this.isRetired) return;
    this.state = 'starting';
    this.#world.network.dark.delete(this.name);
    const run = `${this.name}.${++this.#runs}`;
    this.#world.history.note(run, 'start');
    this.clock = new SimClock(this.#world.queue, { name: run });
    this.disk = this.disk.boot(this.clock);
    const { clock, disk } = this;
    disk.onCrash = () => this.#gone(clock);
    this.#run(run, clock, disk).catch((error: unknown) => this.#exit(disk, `it could not start: ${(error as Error).message}`));
  }

  /** The power fails. */
  crash(): void {
    if (this.state === 'off') return;
    this.#world.network.dark.add(this.name);
    this.disk.crash();
  }

  /** kill -9. */
  kill(): void {
    if (this.state !== 'off') this.disk.kill();
  }

  /** All its disks are lost, and empty ones are in their place. */
  wipe(): void {
    this.crash();
    this.#world.history.note(this.name, 'its disks are lost');
    this.disk = new SimDisk({ clock: this.clock, random: this.#world.queue.random.fork(`${this.name} disk ${this.#runs}`) });
    this.#world.bookieWiped(this);
  }

  /** Since it was started last. */
  wasSentAgain(ledgerId: number, entryId: number): boolean {
    return this.#observed?.wasSentAgain(ledgerId, entryId) ?? false;
  }

  #exit(disk: SimDisk, why: string): void {
    if (disk.isDead) return;
    this.#world.history.note(this.name, why);
    disk.kill();
  }

  #gone(clock: SimClock): void {
    clock.stop();
    this.state = 'off';
    this.bookie = undefined;
    const { session } = this;
    // What was sent still arrives; then the session is silent until it expires.
    this.#world.queue.schedule(this.#world.random.between(0, 20), () => session?.inner.suspend(), `${clock.name} session cut`);
    this.#world.network.unlisten(this.address, { isSilent: this.#world.network.dark.has(this.name) });
    this.#world.bookieGone(this);
  }

  #metadata(run: string, session: NodeSession, clock: SimClock, disk: SimDisk): BookieMetadata {
    const { queue, mutation, collectsGarbage } = this.#world;
    const onFailure = (error: unknown) => this.#exit(disk, (error as Error).message);
    const random = queue.random.fork(`${run} metadata`);
    const parts = bookieMetadata(session, { clock, random, logger: this.#world.logger(run), onFailure });
    const { ledgers, guardReplication, register } = parts;
    return {
      instanceId: () => readInstanceId(session),
      cookies: (this.isLost ? mutation?.cookies?.(createCookieRecords(session)) : undefined) ?? createCookieRecords(session),
      register,
      ...(collectsGarbage && ledgers && { ledgers: mutation?.listing?.(ledgers) ?? ledgers }),
      ...(collectsGarbage && guardReplication && { guardReplication }),
    };
  }

  async #run(run: string, clock: SimClock, disk: SimDisk): Promise<void> {
    const { queue, mutation, collectsGarbage } = this.#world;
    const session = this.#world.openSession(clock);
    this.session = session;
    const bookie = await openBookie({
      config: { ...(collectsGarbage ? collectingConfig : config), bookieId: this.name, dataIntegrityChecking: this.mayStartEmpty },
      limits: { ...this.#world.bookieLimits, ...(collectsGarbage && collectingLimits) },
      clock,
      disk: mutation?.disk?.(disk) ?? disk,
      random: queue.random.fork(run),
      logger: this.#world.logger(run),
      dataDirectory: '/data',
      metadata: this.#metadata(run, session, clock, disk),
      onFatal: (error) => this.#exit(disk, (error as Error).message),
    });
    this.bookie = bookie;
    const inner = mutation?.bookie?.(bookie.service) ?? bookie.service;
    const service = new ObservedBookie(inner, this.name, this.#world);
    this.#observed = service;
    this.#world.network.listen(this.address, {
      machine: this.name,
      clock,
      identity: bookie.identity,
      service,
      appends: new ByteBudget(appendBytesMax),
    });
    await bookie.register({ address: this.address, httpAddress: '' });
    this.state = 'up';
    this.#world.bookieUp(this);
  }
}

/** What a bookie answers to the outside, for the checkers. */
class ObservedBookie implements BookieService {
  readonly bookieId;
  readonly #inner: BookieService;
  readonly #name: string;
  readonly #world: World;
  readonly #sent = new Map<number, { first: number; last: number }[]>();
  readonly #sentAgain = new Map<number, { first: number; last: number }[]>();

  constructor(inner: BookieService, name: string, world: World) {
    this.bookieId = inner.bookieId;
    this.#inner = inner;
    this.#name = name;
    this.#world = world;
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    const { ledgerId, isRecovery } = batch;
    const entryIds = Array.from({ length: batch.count }, (_, i) => batch.entryIdAt(i) as number);
    const wasFenced = this.#world.fences(this.#name).has(ledgerId);
    this.#noteSent(ledgerId, entryIds);
    this.#inner.append(batch, (code) => {
      if (batch.isDeferredSync && code === 'OK') this.#world.deferred(this.#name, ledgerId).push(...entryIds);
      else this.#world.history.tell({ kind: 'bookie append', bookie: this.#name, ledgerId, entryIds, code, isRecovery, wasFenced });
      done(code);
    });
  }

  /** In this life of the bookie, or in this one and an earlier one; also an entry between those of a batch that was sent again. */
  wasSentAgain(ledgerId: number, entryId: number): boolean {
    return this.#sentAgain.get(ledgerId)?.some(({ first, last }) => first <= entryId && entryId <= last) ?? false;
  }

  #noteSent(ledgerId: number, entryIds: readonly number[]): void {
    const ids = { first: entryIds[0] as number, last: entryIds.at(-1) as number };
    const sent = this.#sent.get(ledgerId) ?? [];
    this.#sent.set(ledgerId, sent);
    let isAgain = sent.some(({ first, last }) => first <= ids.last && ids.first <= last);
    for (let entryId = ids.first; !isAgain && entryId <= ids.last; entryId++) isAgain = this.#world.claims.holds(this.#name, ledgerId, entryId);
    sent.push(ids);
    if (isAgain) this.#sentAgain.set(ledgerId, [...(this.#sentAgain.get(ledgerId) ?? []), ids]);
  }

  async read(request: ReadRequest): Promise<ReadReply> {
    const { ledgerId, entryIds } = request;
    const first = entryIds[0] as number;
    const heldBefore = this.#world.claims.holds(this.#name, ledgerId, first) ? first : undefined;
    const reply = await this.#inner.read(request);
    if (request.fenceWithKey !== undefined) this.#fenced(ledgerId, reply.code);
    this.#answered(ledgerId, reply.code, heldBefore);
    return reply;
  }

  async fence(request: FenceRequest): Promise<LacReply> {
    const heldBefore = this.#world.claims.claimed(this.#name, request.ledgerId)[0];
    const reply = await this.#inner.fence(request);
    this.#fenced(request.ledgerId, reply.code);
    this.#answered(request.ledgerId, reply.code, heldBefore);
    return reply;
  }

  async readLac(ledgerId: LedgerId): Promise<LacReply> {
    const heldBefore = this.#world.claims.claimed(this.#name, ledgerId)[0];
    const reply = await this.#inner.readLac(ledgerId);
    this.#answered(ledgerId, reply.code, heldBefore);
    return reply;
  }

  async force(request: ForceRequest): Promise<CodeReply> {
    const { ledgerId, lastEntryId } = request;
    const entryIds = this.#world.deferred(this.#name, ledgerId).filter((entryId) => entryId <= lastEntryId);
    const reply = await this.#inner.force(request);
    const seen = { bookie: this.#name, ledgerId, entryIds, code: reply.code, isRecovery: false, wasFenced: false };
    this.#world.history.tell({ kind: 'bookie append', ...seen });
    return reply;
  }

  awaitLac(request: AwaitLacRequest, stop?: AbortSignal) {
    return this.#inner.awaitLac(request, stop);
  }

  writeLac(request: WriteLacRequest) {
    return this.#inner.writeLac(request);
  }

  async listEntries(ledgerId: LedgerId) {
    const reply = await this.#inner.listEntries(ledgerId);
    if (reply.code === 'OK') this.#world.history.tell({ kind: 'bookie lists', bookie: this.#name, ledgerId, runs: reply.runs });
    return reply;
  }

  info() {
    return this.#inner.info();
  }

  #answered(ledgerId: number, code: BookieCode, heldBefore: number | undefined): void {
    if (code === 'NO_ENTRY' || code === 'NO_LEDGER') this.#world.history.tell({ kind: 'bookie negative', bookie: this.#name, ledgerId, heldBefore });
  }

  #fenced(ledgerId: number, code: BookieCode): void {
    if (code !== 'OK' && code !== 'NO_ENTRY' && code !== 'NO_LEDGER') return;
    this.#world.fences(this.#name).add(ledgerId);
    this.#world.history.tell({ kind: 'bookie fenced', bookie: this.#name, ledgerId });
  }
}
