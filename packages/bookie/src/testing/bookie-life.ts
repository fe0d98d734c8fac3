import { below, DaybookError } from '@daybook/runtime';
import { type EventQueue, SimRandom } from '@daybook/runtime/sim';
import { bookieErrors } from '../errors.js';
import { BookieModel } from './bookie-model.js';
import { SimBookie } from './sim-bookie.js';
import { SimLedgers } from './sim-ledgers.js';

const limits = { journalFileBytesMax: 16 * 1024, logBytesMax: 12 * 1024, diskCheckIntervalMs: 2000 };

export interface BookieLifeOptions {
  /** Runs of the process. */
  runsCount?: number;
  /** Requests per run. */
  stepsCount?: number;
  /** Told before anything happens: whoever prints a failure wants its trace. */
  onMade?(queue: EventQueue): void;
}

/**
 * The life of one bookie on a simulated disk: random work from several clients at once, ledgers made and deleted, garbage collection and compaction, power
 * cuts, kills, stalls, disks that fill up and get space again, single ledger directories that fail, flipped bits; one to three journals and ledger
 * directories. After each restart everything is compared with a model; at the end every deleted ledger's space must be back. Rejects when something is not
 * as it must be; the same seed is the same life, event by event.
 */
export async function runBookieLife(seed: number, { runsCount = 4, stepsCount = 60, onMade }: BookieLifeOptions = {}): Promise<EventQueue> {
  const random = new SimRandom(`life ${seed}`);
  const ledgers = new SimLedgers();
  const config = { bookieId: 'bookie-1', ...directoriesOf(random) };
  const sim = new SimBookie({ seed, limits, config, metadata: ({ clock }) => ledgers.metadata(clock) });
  onMade?.(sim.queue);
  const life = new Life(sim, { random, ledgers, ledgerDirectories: config.ledgerDirectories });
  await sim.start();
  for (let run = 0; run < runsCount; run++) await life.run(stepsCount);
  await life.end();
  return sim.queue;
}

function directoriesOf(random: SimRandom) {
  const names = (kind: string): string[] =>
    Array.from({ length: 1 + (below(random, 2) === 0 ? 0 : below(random, 3)) }, (_, i) => `/data/${kind}${i}`);
  return { journalDirectories: names('journal'), ledgerDirectories: names('ledgers') };
}

interface Parts {
  random: SimRandom;
  ledgers: SimLedgers;
  ledgerDirectories: readonly string[];
}

class Life {
  readonly #sim: SimBookie;
  readonly #random: SimRandom;
  readonly #ledgers: SimLedgers;
  readonly #ledgerDirectories: readonly string[];
  readonly #model = new BookieModel();
  readonly #next = new Map<number, number>();
  readonly #failures: unknown[] = [];
  /** The ledgers that are written to; a deleted one makes room for one with a new id. */
  readonly #inUse: number[] = [];
  #nextLedger = 1;
  #hasFlippedBits = false;
  /** Each kind of trouble only in some lives. */
  readonly #hasTrouble: { bits: boolean; directories: boolean; space: boolean; deletion: boolean };

  constructor(sim: SimBookie, { random, ledgers, ledgerDirectories }: Parts) {
    this.#sim = sim;
    this.#random = random;
    this.#ledgers = ledgers;
    this.#ledgerDirectories = ledgerDirectories;
    const some = (share: number): boolean => below(random, share) === 0;
    this.#hasTrouble = { bits: some(6), directories: ledgerDirectories.length > 1 && some(2), space: some(2), deletion: !some(3) };
    for (let i = 0; i < 6; i++) this.#inUse.push(this.#newLedger());
  }

  /** Work until the process ends one way or another; then a start, on a disk that has room again. */
  async run(stepsCount: number): Promise<void> {
    const sim = this.#sim;
    const random = this.#random;
    const work: Promise<void>[] = [];
    for (let step = 0; step < stepsCount; step++) {
      work.push(this.#step().catch((error: unknown) => void this.#failures.push(error)));
      if (below(random, 3) === 0) await sim.queue.runFor(below(random, 8));
      if (below(random, 20) === 0) sim.disk.stallFor(below(random, 50));
      if (this.#hasTrouble.space && below(random, 25) === 0) await this.#changeCapacity();
      if (this.#hasTrouble.directories && below(random, 60) === 0) this.#failDirectory();
    }
    if (below(random, 2) === 0) await sim.settle(Promise.all(work));
    // Nothing here is a reason to give up: full disks are not, nor is a directory among several.
    if (sim.fatal !== undefined) throw sim.fatal;
    const isFullAtStart = this.#hasTrouble.space && below(random, 4) === 0;
    if (!isFullAtStart) this.#makeRoom();
    if (below(random, 4) === 0 && sim.bookie !== undefined) await sim.close();
    await this.#restart();
    if (this.#failures.length > 0) throw this.#failures[0];
    await this.#model.verify(sim);
    if (isFullAtStart) await this.#comeBack();
  }

  /** Nothing is wrong any more: everything is there, and every deleted ledger's space is back after two rounds of garbage collection. */
  async end(): Promise<void> {
    const sim = this.#sim;
    this.#makeRoom();
    sim.faults.clear();
    await this.#restart();
    await sim.queue.runFor(5000);
    await this.#model.verify(sim);
    if (!this.#hasFlippedBits) {
      for (let round = 0; round < 2; round++) {
        await sim.flush();
        await sim.collect({ major: true });
        await sim.queue.runFor(5000);
      }
      await this.#model.verify(sim);
      await this.#model.verifyDeleted(sim);
      await this.#verifySpace();
    }
    await sim.close();
  }

  /** No file is left that no log needs, and what is left is about what is live. */
  async #verifySpace(): Promise<void> {
    const sim = this.#sim;
    const logs = sim.bookie?.garbageCollector.logs() ?? [];
    const files: string[] = [];
    for (const directory of this.#ledgerDirectories) files.push(...(await sim.queue.complete(sim.disk.list(directory))));
    const count = files.filter((name) => name.endsWith('.log')).length;
    if (count !== logs.length) throw new Error(`${count} files of entry logs, ${logs.length} logs`);
    const bytes = logs.reduce((sum, log) => sum + log.bytes, 0);
    // A fifth of each log may be dead, and each entry has its header, its record's and its digest; of the newest logs nothing was compacted yet.
    const bound = this.#model.liveBytes * 5 + 40_000;
    if (bytes > bound) throw new Error(`${bytes} bytes of entry logs for ${this.#model.liveBytes} bytes of payloads`);
  }

  async #restart(): Promise<void> {
    const sim = this.#sim;
    const random = this.#random;
    if (!sim.disk.isDead) sim.disk.crash({ keep: (['random', 'none', 'all'] as const)[below(random, 3)] ?? 'random' });
    if (below(random, 2) === 0) sim.faults.clear();
    if (this.#hasTrouble.bits && below(random, 2) === 0) {
      sim.stoppedDisk();
      this.#hasFlippedBits = sim.disk.flipRandomBit((path) => /\.(log|idx)$/.test(path)) || this.#hasFlippedBits;
    }
    this.#model.mayBeUnreadable = this.#hasFlippedBits || sim.faults.size > 0;
    try {
      await sim.start();
    } catch (error) {
      if (sim.faults.size === 0 || !this.#hasTrouble.space || !isMissingNewest(error)) throw error;
      // While one directory was full only the other one was up to date, and now that one fails: the way out is to bring it back.
      sim.faults.clear();
      this.#model.mayBeUnreadable = this.#hasFlippedBits;
      sim.disk.kill();
      await sim.start();
    }
  }

  /** Space returns: the bookie takes entries again without a restart, and nothing is missing. */
  async #comeBack(): Promise<void> {
    const sim = this.#sim;
    this.#makeRoom();
    await sim.queue.runFor(20_000);
    if (sim.bookie?.isReadOnly) throw new Error(`still read-only: ${JSON.stringify(sim.bookie.status().readOnlyReasons)}`);
    await this.#model.verify(sim);
  }

  #makeRoom(): void {
    this.#sim.disk.setCapacityBytes(1 << 30);
  }

  async #changeCapacity(): Promise<void> {
    const sim = this.#sim;
    const { totalBytes, freeBytes } = await sim.queue.complete(sim.disk.usage('/data'));
    if (below(this.#random, 2) === 0) this.#makeRoom();
    else sim.disk.setCapacityBytes(totalBytes - freeBytes + below(this.#random, 40) * 512);
  }

  /** At most one at a time: the others must go on. */
  #failDirectory(): void {
    const { faults } = this.#sim;
    if (faults.size > 0) return;
    const directory = this.#ledgerDirectories[below(this.#random, this.#ledgerDirectories.length)] as string;
    faults.set(directory, below(this.#random, 2) === 0 ? 'dead' : 'read only');
    this.#model.mayBeUnreadable = true;
  }

  #newLedger(): number {
    const ledger = this.#nextLedger++;
    this.#ledgers.create(ledger);
    return ledger;
  }

  #step(): Promise<void> {
    const sim = this.#sim;
    const random = this.#random;
    const model = this.#model;
    const slot = below(random, this.#inUse.length);
    const ledger = this.#inUse[slot] as number;
    const first = this.#next.get(ledger) ?? 0;
    const kind = below(random, 24);
    if (kind === 0) return sim.bookie?.flush() ?? Promise.resolve();
    if (kind === 1 && below(random, 3) === 0) return model.fence(sim, ledger);
    if (kind < 6) return model.read(sim, ledger, below(random, first + 2), 1 + below(random, 12));
    if (kind === 6 && this.#hasTrouble.deletion) return this.#delete(slot);
    if (kind === 7 && this.#hasTrouble.deletion) return this.#collect();
    if (kind === 8) return unlessClosed(sim.bookie?.scrub());
    const count = 1 + below(random, 12);
    const step = below(random, 5) === 0 ? 2 : 1;
    const isAgain = below(random, 8) === 0;
    const from = isAgain ? below(random, first + 1) : first;
    if (!isAgain) this.#next.set(ledger, from + count * step);
    // One size per ledger, so that an entry sent again is the same entry.
    return model.append(sim, { ledger, first: from, count, step, bytes: 20 + (ledger % 6) * 60, isRecovery: isAgain });
  }

  async #delete(slot: number): Promise<void> {
    const ledger = this.#inUse[slot] as number;
    this.#inUse[slot] = this.#newLedger();
    this.#model.delete(ledger);
    this.#ledgers.delete(ledger);
  }

  #collect(): Promise<void> {
    const kind = below(this.#random, 3);
    return unlessClosed(this.#sim.bookie?.garbageCollector.force({ minor: kind === 1, major: kind === 2 }));
  }
}

function isMissingNewest(error: unknown): boolean {
  const codes: readonly string[] = [bookieErrors.STATE_CORRUPT.code, bookieErrors.JOURNAL_MISSING.code, bookieErrors.CHECKPOINT_CORRUPT.code];
  return error instanceof DaybookError && codes.includes(error.code);
}

/** What runs in the background ends with the bookie. */
async function unlessClosed(work: Promise<unknown> | undefined): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof DaybookError) || error.code !== bookieErrors.CLOSED.code) throw error;
  }
}
