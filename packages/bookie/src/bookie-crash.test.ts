import t from 'tap';
import { runBookieLife } from './testing/bookie-life.js';
import { BookieModel } from './testing/bookie-model.js';
import { crashPoints } from './testing/crash-points.js';
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
  const { step, offset } = crashPoints(t, 2);
  for (const keep of ['random', 'none'] as const) {
    let operations = offset;
    while (!(await lifeUntilCrash(`${keep} ${operations}`, operations, keep))) operations += step;
    t.ok(operations > 100, `${operations} operations, every ${step}. a crash point`);
  }
});

t.test('bookie: random work, full disks, power cuts and restarts → always what the model allows', async (t) => {
  const seeds = Number(process.env.BOOKIE_SEEDS ?? 25);
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      await runBookieLife(seed);
    } catch (error) {
      t.comment(`seed ${seed}`);
      throw error;
    }
  }
  t.pass(`${seeds} seeds`);
});

t.test('bookie: random life → the same seed gives the same trace', async (t) => {
  for (const seed of [3, 11]) {
    const first = await runBookieLife(seed);
    const second = await runBookieLife(seed);
    t.equal(second.trace.hash, first.trace.hash, `seed ${seed}`);
    t.equal(second.eventsCount, first.eventsCount);
  }
});
