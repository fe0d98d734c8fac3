import { strict as assert } from 'node:assert';
import type { BookieId, LedgerId } from '@daybook/proto';
import { below } from '@daybook/runtime';
import { type EventQueue, SimRandom } from '@daybook/runtime/sim';
import { BookieModel } from './bookie-model.js';
import { checkFiles, checkSpace, NoReuse } from './life-checks.js';
import { SimBookie } from './sim-bookie.js';
import { metadataOf, SimLedgers, unavailable } from './sim-ledgers.js';

export interface GarbageLifeOptions {
  /** Runs of the process. */
  runsCount?: number;
  /** Requests per run. */
  stepsCount?: number;
  /** Told before anything happens: whoever prints a failure wants its trace. */
  onMade?(queue: EventQueue): void;
}

/** What a life was: the same for the same seed. */
export interface GarbageLifeReport {
  hash: string;
  eventsCount: number;
  virtualMs: number;
}

/**
 * The life of one bookie among others, seen from garbage collection: random work from several clients at once; ledgers deleted, moved away and copied back,
 * metadata that cannot be reached, compaction suspended and resumed, map files; with power cuts, kills, stalls, failed syncs, flipped bits, full disks. After
 * each restart everything is compared with a model; in the end, when nothing fails any more, two rounds must have given back the space of everything that is
 * gone. Rejects when something is not as it must be, with the seed and the last events.
 */
export async function runGarbageLife(seed: number, { runsCount = 4, stepsCount = 60, onMade }: GarbageLifeOptions = {}): Promise<GarbageLifeReport> {
  const life = new Life(seed);
  const { queue } = life.sim;
  onMade?.(queue);
  try {
    await life.sim.start();
    for (let run = 0; run < runsCount; run++) await life.run(stepsCount);
    await life.end();
    await life.sim.close();
  } catch (error) {
    const { fatal } = life.sim;
    const text = error instanceof Error ? error.message : String(error);
    throw queue.failure(fatal instanceof Error ? `${text} (the bookie had stopped: ${fatal.message})` : text, error);
  }
  return { hash: queue.trace.hash, eventsCount: queue.eventsCount, virtualMs: queue.nowMs };
}

/** Ledgers written at a time. */
const slotsCount = 6;
const closedElsewhere = { ...metadataOf(['bookie-2' as BookieId]), state: 'CLOSED' as const };

class Life {
  readonly sim: SimBookie;
  readonly #random: SimRandom;
  readonly #model = new BookieModel();
  readonly #ledgers = new SimLedgers();
  readonly #noReuse = new NoReuse();
  /** The ledger that is written in each slot, and its next entry. */
  readonly #slots: { ledger: number; next: number }[] = [];
  /** Ledgers that belong to other bookies by now. */
  readonly #foreign = new Set<number>();
  /** Ledgers under repair, or about to be deleted for being foreign. */
  readonly #guarded = new Set<number>();
  readonly #failures: unknown[] = [];
  /** Which troubles this life has. */
  readonly #hasFlips: boolean;
  readonly #hasFailedSyncs: boolean;
  #nextLedger = 0;

  constructor(seed: number) {
    const random = new SimRandom(`garbage life ${seed}`);
    this.#random = random;
    this.#hasFlips = below(random, 5) === 0;
    this.#hasFailedSyncs = below(random, 6) === 0;
    this.sim = new SimBookie({
      seed,
      limits: limitsOf(random),
      config: { bookieId: 'bookie-1', ...directoriesOf(random), ...garbageOf(random) },
      metadata: ({ clock }) => ({ ...this.#ledgers.metadata(clock), guardReplication: async (ledgerId) => this.#guard(ledgerId) }),
    });
    for (let slot = 0; slot < slotsCount; slot++) this.#renew(slot);
  }

  /** Work until the process ends one way or another; then a start, on a disk that has room again. */
  async run(stepsCount: number): Promise<void> {
    const { sim } = this;
    const random = this.#random;
    const work: Promise<void>[] = [];
    this.#noReuse.watch(sim.disk);
    this.#setMetadataFaults(below(random, 3) === 0);
    for (let step = 0; step < stepsCount; step++) {
      work.push(this.#step().catch((error: unknown) => void this.#failures.push(error)));
      if (below(random, 3) === 0) await sim.queue.runFor(below(random, 8));
      if (below(random, 15) === 0) await sim.queue.runFor(below(random, 800));
      if (below(random, 20) === 0) sim.disk.stallFor(below(random, 50));
      if (below(random, 25) === 0) await this.#changeCapacity();
      if (this.#hasFailedSyncs && below(random, 60) === 0) sim.disk.failNextSync();
      if (this.#hasFlips && below(random, 30) === 0) this.#flip();
    }
    if (below(random, 2) === 0) await sim.settle(Promise.all(work));
    const isFullAtStart = below(random, 4) === 0;
    if (!isFullAtStart) this.#makeRoom();
    await this.#restart();
    if (isFullAtStart) await this.#comeBack();
  }

  /** Nothing fails any more: what is gone gives its space back, what is not is there. */
  async end(): Promise<void> {
    const { sim } = this;
    this.#makeRoom();
    this.#setMetadataFaults(false);
    await this.#restart();
    await sim.queue.runFor(20_000);
    this.#bookie().resume(['minor', 'major']);
    for (const ledger of this.#foreign) this.#ledgers.delete(ledger);
    for (let round = 0; round < 2; round++) await sim.queue.complete(this.#bookie().force());
    await this.#model.verifyDeleted(sim);
    await this.#model.verify(sim);
    if (!this.#hasFlips) {
      checkSpace(this.#bookie());
      await checkFiles(sim);
    }
  }

  async #restart(): Promise<void> {
    const { sim } = this;
    if (below(this.#random, 4) === 0 && sim.bookie !== undefined && sim.fatal === undefined) await sim.close();
    sim.disk.failNextSync(0);
    await sim.restart((['random', 'none', 'all'] as const)[below(this.#random, 3)] ?? 'random');
    this.#guarded.clear();
    this.#noReuse.watch(sim.disk);
    if (this.#failures.length > 0) throw this.#failures[0];
    await this.#model.verify(sim);
  }

  /** Space returns: the bookie takes entries again without a restart, and nothing is missing. */
  async #comeBack(): Promise<void> {
    const { sim } = this;
    this.#makeRoom();
    await sim.queue.runFor(20_000);
    if (sim.bookie?.isReadOnly) throw new Error(`still read-only: ${JSON.stringify(sim.bookie.status().readOnlyReasons)}`);
    await this.#model.verify(sim);
  }

  #bookie() {
    assert.ok(this.sim.bookie !== undefined);
    return this.sim.bookie.garbageCollector;
  }

  #makeRoom(): void {
    this.sim.disk.setCapacityBytes(1 << 30);
  }

  async #changeCapacity(): Promise<void> {
    const { queue, disk } = this.sim;
    if (disk.isDead) return;
    const { totalBytes, freeBytes } = await queue.complete(disk.usage('/data'));
    if (below(this.#random, 2) === 0) this.#makeRoom();
    else disk.setCapacityBytes(totalBytes - freeBytes + below(this.#random, 40) * 512);
  }

  #setMetadataFaults(isFaulty: boolean): void {
    this.#ledgers.onCall = () => {
      if (isFaulty && below(this.#random, 8) === 0) throw unavailable();
    };
  }

  #flip(): void {
    this.#model.mayBeUnreadable = true;
    this.sim.disk.flipRandomBit((path) => /\.(log|idx|map)$/.test(path));
  }

  /** A new ledger in a slot; a client makes its record before it writes. */
  #renew(slot: number): void {
    const ledger = this.#nextLedger++;
    this.#ledgers.create(ledger);
    this.#slots[slot] = { ledger, next: 0 };
  }

  async #guard(ledger: number) {
    if (this.#guarded.has(ledger)) return undefined;
    this.#guarded.add(ledger);
    return { release: async () => void this.#guarded.delete(ledger) };
  }

  #step(): Promise<void> {
    const random = this.#random;
    const kind = below(random, 26);
    if (kind >= 20) return this.#garbageStep(kind);
    const slot = below(random, slotsCount);
    const { ledger, next } = this.#slots[slot] as { ledger: number; next: number };
    if (kind === 0) return this.sim.bookie?.flush() ?? Promise.resolve();
    if (kind === 1 && below(random, 3) === 0) return this.#model.fence(this.sim, ledger);
    if (kind < 6) return this.#model.read(this.sim, ledger, below(random, next + 2), 1 + below(random, 12));
    const count = 1 + below(random, 12);
    const step = below(random, 5) === 0 ? 2 : 1;
    const isAgain = below(random, 8) === 0;
    const first = isAgain ? below(random, next + 1) : next;
    if (!isAgain) this.#slots[slot] = { ledger, next: first + count * step };
    return this.#model.append(this.sim, { ledger, first, count, step, bytes: bytesOf(ledger), isRecovery: isAgain });
  }

  #garbageStep(kind: number): Promise<void> {
    const random = this.#random;
    switch (kind) {
      case 20:
      case 21:
        this.#leave(below(random, slotsCount));
        return Promise.resolve();
      case 22:
        return this.#repair();
      case 23: {
        // A client that does not know yet that its ledger is gone.
        const ledger = below(random, this.#nextLedger);
        return this.#ledgers.has(ledger)
          ? Promise.resolve()
          : this.#model.append(this.sim, { ledger, first: 500 + below(random, 5), count: 1, bytes: bytesOf(ledger) });
      }
      case 24:
        if (below(random, 2) === 0) this.#bookie().suspend(['minor', 'major']);
        else this.#bookie().resume(['minor', 'major']);
        return Promise.resolve();
      default:
        return this.#bookie().force(below(random, 3) === 0 ? { major: true } : {});
    }
  }

  /** A ledger is not needed here any more: it is deleted, or it belongs to other bookies from now on. */
  #leave(slot: number): void {
    const { ledger } = this.#slots[slot] as { ledger: number };
    this.#model.delete(ledger);
    if (below(this.#random, 3) === 0) {
      this.#ledgers.create(ledger, closedElsewhere);
      this.#foreign.add(ledger);
    } else {
      this.#ledgers.delete(ledger);
    }
    this.#renew(slot);
  }

  /** Copies a ledger that belongs to others here again, and tells the metadata when all of it is here. */
  async #repair(): Promise<void> {
    const [ledger] = this.#foreign;
    if (ledger === undefined || this.#guarded.has(ledger)) return;
    const service = this.sim.bookie;
    this.#guarded.add(ledger);
    // As of now: an append that is still on its way is of a writer that was left behind.
    const entries = new Map(this.#model.acknowledged(ledger));
    const isCopied = (await this.#copy(ledger, [...entries])) && this.sim.bookie === service;
    if (isCopied && this.#foreign.delete(ledger)) {
      this.#ledgers.create(ledger, { ...closedElsewhere, segments: metadataOf(['bookie-1' as BookieId]).segments });
      this.#model.bringBack(ledger, entries);
    }
    if (this.sim.bookie === service) this.#guarded.delete(ledger);
  }

  async #copy(ledger: number, entries: readonly (readonly [number, number])[]): Promise<boolean> {
    for (const [first, bytes] of entries) {
      // What is listed as held needs no copying; the first entry makes the ledger.
      const { runs } = await this.sim.service.listEntries(ledger as LedgerId);
      if (runs.some((run) => run.first <= first && first <= run.last)) continue;
      const code = await this.#model.recover(this.sim, { ledger, first, count: 1, bytes });
      if (code !== 'OK') return false;
    }
    return true;
  }
}

/** One size per ledger, so that an entry sent again is the same entry. */
function bytesOf(ledger: number): number {
  return 20 + (ledger % slotsCount) * 60;
}

function limitsOf(random: SimRandom) {
  return {
    journalFileBytesMax: 16 * 1024,
    logBytesMax: [6, 12, 24][below(random, 3)]! * 1024,
    ledgerMapBytesMax: below(random, 2) === 0 ? 4096 : 1 << 20,
    diskCheckIntervalMs: 2000,
    gcLedgerAgeMsMin: 50,
    gcRecoveryQuietMs: 300,
    compactionKeepFreeBytes: 2048,
  };
}

function garbageOf(random: SimRandom) {
  return {
    gcWaitTime: 1000,
    gcOverreplicatedLedgerWaitTime: 1000,
    entryLogRollIdleMs: below(random, 3) * 300,
    minorCompactionThreshold: 0.3,
    minorCompactionInterval: 1,
    majorCompactionInterval: 3,
    compactionRateByEntries: below(random, 2) * 400,
    compactionRateByBytes: below(random, 2) * 200_000,
  };
}

function directoriesOf(random: SimRandom) {
  const names = (kind: string): string[] =>
    Array.from({ length: 1 + (below(random, 2) === 0 ? 0 : below(random, 3)) }, (_, i) => `/data/${kind}${i}`);
  return { journalDirectories: names('journal'), ledgerDirectories: names('ledgers') };
}
