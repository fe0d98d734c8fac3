import { below } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { BookieModel } from './testing/bookie-model.js';
import { SimBookie } from './testing/sim-bookie.js';

/** A short life that touches everything: batches in flight together, a fence, sealed logs, journal files rolled and recycled, a flush. */
async function life(sim: SimBookie, model: BookieModel): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      model.append(sim, { ledger: 1, first: round * 10, count: 10, bytes: 200 }),
      model.append(sim, { ledger: 2, first: round * 10, count: 5, bytes: 150, step: 2 }),
      model.append(sim, { ledger: 3 + round, first: 0, count: 2, bytes: 30 }),
    ]);
    if (round === 1) await Promise.all([model.fence(sim, 3), model.append(sim, { ledger: 3, first: 2, count: 1 }), model.fence(sim, 77)]);
    if (round === 3) await sim.bookie?.flush();
  }
  await model.append(sim, { ledger: 3, first: 9, count: 1, isRecovery: true });
  await sim.bookie?.close();
}

const limits = { journalFileBytesMax: 16 * 1024, logBytesMax: 12 * 1024 };

async function lifeUntilCrash(seed: string, operations: number, keep: 'random' | 'none'): Promise<boolean> {
  const sim = new SimBookie({ seed, limits });
  const model = new BookieModel();
  const starting = sim.begin();
  sim.disk.crashAfter(operations, { keep });
  sim.bookie = await sim.settle(starting);
  if (sim.bookie !== undefined) await sim.settle(life(sim, model));
  const isComplete = !sim.disk.isDead;
  // And once more while it recovers.
  if (!isComplete) {
    const again = sim.begin();
    sim.disk.crashAfter(operations % 23, { keep });
    sim.bookie = await sim.settle(again);
  }
  await sim.restart(keep);
  await model.verify(sim);
  await sim.close();
  await sim.start();
  await model.verify(sim);
  await sim.close();
  return isComplete;
}

t.test('bookie: power cut at every disk operation, and again while starting → nothing acknowledged is lost, fences stay', async (t) => {
  for (const keep of ['random', 'none'] as const) {
    let operations = 0;
    while (!(await lifeUntilCrash(`${keep} ${operations}`, operations, keep))) operations++;
    t.ok(operations > 100, `${operations} crash points`);
  }
});

/** Random work with random crashes and stalls. */
async function randomLife(seed: number): Promise<void> {
  const sim = new SimBookie({ seed, limits });
  const random = new SimRandom(`work ${seed}`);
  const model = new BookieModel();
  const next = new Map<number, number>();
  const failures: unknown[] = [];
  await sim.start();
  for (let life = 0; life < 4; life++) {
    const work: Promise<void>[] = [];
    for (let step = 0; step < 60; step++) {
      work.push(
        randomStep(sim, model, random, next).catch((error: unknown) => {
          failures.push(error);
        }),
      );
      if (below(random, 3) === 0) await sim.queue.runFor(below(random, 8));
      if (below(random, 20) === 0) sim.disk.stallFor(below(random, 50));
    }
    if (below(random, 2) === 0) await sim.settle(Promise.all(work));
    const keep = (['random', 'none', 'all'] as const)[below(random, 3)];
    if (below(random, 4) === 0 && sim.bookie !== undefined) await sim.close();
    await sim.restart(keep ?? 'random');
    if (failures.length > 0) throw failures[0];
    await model.verify(sim);
  }
  await sim.close();
}

function randomStep(sim: SimBookie, model: BookieModel, random: SimRandom, next: Map<number, number>): Promise<void> {
  const ledger = below(random, 6);
  const first = next.get(ledger) ?? 0;
  const kind = below(random, 20);
  if (kind === 0) return sim.bookie?.flush() ?? Promise.resolve();
  if (kind === 1 && below(random, 3) === 0) return model.fence(sim, ledger);
  if (kind < 6) return model.read(sim, ledger, below(random, first + 2), 1 + below(random, 12));
  const count = 1 + below(random, 12);
  const step = below(random, 5) === 0 ? 2 : 1;
  const isAgain = below(random, 8) === 0;
  const from = isAgain ? below(random, first + 1) : first;
  if (!isAgain) next.set(ledger, from + count * step);
  // One size per ledger, so that an entry sent again is the same entry.
  return model.append(sim, { ledger, first: from, count, step, bytes: 20 + ledger * 60, isRecovery: isAgain });
}

t.test('bookie: random work, power cuts and restarts → always what the model allows', async (t) => {
  const seeds = Number(process.env.BOOKIE_SEEDS ?? 40);
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      await randomLife(seed);
    } catch (error) {
      t.comment(`seed ${seed}`);
      throw error;
    }
  }
  t.pass(`${seeds} seeds`);
});
