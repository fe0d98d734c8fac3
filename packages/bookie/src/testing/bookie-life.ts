import { below } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import { BookieModel } from './bookie-model.js';
import { SimBookie } from './sim-bookie.js';

const limits = { journalFileBytesMax: 16 * 1024, logBytesMax: 12 * 1024, diskCheckIntervalMs: 2000 };

export interface BookieLifeOptions {
  /** Runs of the process. */
  runsCount?: number;
  /** Requests per run. */
  stepsCount?: number;
}

/**
 * The life of one bookie on a simulated disk: random work from several clients at once, power cuts, kills, stalls, disks that fill up and get space again;
 * one to three journals and ledger directories. After each restart everything is compared with a model. Rejects when something is not as it must be;
 * the same seed is the same life.
 */
export async function runBookieLife(seed: number, { runsCount = 4, stepsCount = 60 }: BookieLifeOptions = {}): Promise<void> {
  const random = new SimRandom(`life ${seed}`);
  const sim = new SimBookie({ seed, limits, config: directoriesOf(random) });
  const life = new Life(sim, random);
  await sim.start();
  for (let run = 0; run < runsCount; run++) await life.run(stepsCount);
  await sim.close();
}

function directoriesOf(random: SimRandom) {
  const names = (kind: string): string[] =>
    Array.from({ length: 1 + (below(random, 2) === 0 ? 0 : below(random, 3)) }, (_, i) => `/data/${kind}${i}`);
  return { journalDirectories: names('journal'), ledgerDirectories: names('ledgers') };
}

class Life {
  readonly #sim: SimBookie;
  readonly #random: SimRandom;
  readonly #model = new BookieModel();
  readonly #next = new Map<number, number>();
  readonly #failures: unknown[] = [];

  constructor(sim: SimBookie, random: SimRandom) {
    this.#sim = sim;
    this.#random = random;
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
      if (below(random, 25) === 0) await this.#changeCapacity();
    }
    if (below(random, 2) === 0) await sim.settle(Promise.all(work));
    const isFullAtStart = below(random, 4) === 0;
    if (!isFullAtStart) this.#makeRoom();
    if (below(random, 4) === 0 && sim.bookie !== undefined) await sim.close();
    await sim.restart((['random', 'none', 'all'] as const)[below(random, 3)] ?? 'random');
    if (this.#failures.length > 0) throw this.#failures[0];
    await this.#model.verify(sim);
    if (isFullAtStart) await this.#comeBack();
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

  #step(): Promise<void> {
    const sim = this.#sim;
    const random = this.#random;
    const model = this.#model;
    const ledger = below(random, 6);
    const first = this.#next.get(ledger) ?? 0;
    const kind = below(random, 20);
    if (kind === 0) return sim.bookie?.flush() ?? Promise.resolve();
    if (kind === 1 && below(random, 3) === 0) return model.fence(sim, ledger);
    if (kind < 6) return model.read(sim, ledger, below(random, first + 2), 1 + below(random, 12));
    const count = 1 + below(random, 12);
    const step = below(random, 5) === 0 ? 2 : 1;
    const isAgain = below(random, 8) === 0;
    const from = isAgain ? below(random, first + 1) : first;
    if (!isAgain) this.#next.set(ledger, from + count * step);
    // One size per ledger, so that an entry sent again is the same entry.
    return model.append(sim, { ledger, first: from, count, step, bytes: 20 + ledger * 60, isRecovery: isAgain });
  }
}
