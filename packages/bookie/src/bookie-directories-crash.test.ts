import t from 'tap';
import { BookieModel } from './testing/bookie-model.js';
import { crashPoints } from './testing/crash-points.js';
import { SimBookie, type SimBookieOptions } from './testing/sim-bookie.js';

const ledgerDirectories = ['/data/one', '/data/two', '/data/three'];
const config = { ledgerDirectories, journalDirectories: ['/data/j0', '/data/j1'] };
const limits = { logBytesMax: 6 * 1024, journalFileBytesMax: 16 * 1024, diskCheckIntervalMs: 2000, readAheadBytes: 0 };

function make(options: SimBookieOptions): SimBookie {
  return new SimBookie({ ...options, config, limits });
}

/** A life that touches everything, in several directories and journals. */
async function life(sim: SimBookie, model: BookieModel): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await Promise.all([
      model.append(sim, { ledger: 1, first: round * 10, count: 10, bytes: 200 }),
      model.append(sim, { ledger: 2, first: round * 10, count: 5, bytes: 150, step: 2 }),
      model.append(sim, { ledger: 3 + round, first: 0, count: 2, bytes: 30 }),
    ]);
    if (round === 1) await Promise.all([model.fence(sim, 3), model.append(sim, { ledger: 3, first: 2, count: 1 }), model.fence(sim, 78)]);
    if (round === 3) await sim.bookie?.flush();
  }
  await sim.bookie?.close();
}

t.test('power cut at every disk operation, several journals and directories → nothing acknowledged is lost, fences stay', async (t) => {
  const { step, offset } = crashPoints(t, 3);
  for (let operations = offset; ; operations += step) {
    const sim = make({ seed: operations });
    const model = new BookieModel();
    const starting = sim.begin();
    const keep = operations % 2 === 0 ? 'none' : 'random';
    sim.disk.crashAfter(operations, { keep });
    sim.bookie = await sim.settle(starting);
    if (sim.bookie !== undefined) await sim.settle(life(sim, model));
    const isComplete = !sim.disk.isDead;
    if (!isComplete) {
      const again = sim.begin();
      sim.disk.crashAfter(operations % 37, { keep });
      sim.bookie = await sim.settle(again);
    }
    await sim.restart(keep);
    await model.verify(sim);
    await sim.close();
    if (isComplete) {
      t.ok(operations > 150, `${operations} operations, every ${step}. a crash point`);
      return;
    }
  }
});

t.test('directory that fails at every disk operation in turn → the bookie goes on, and nothing acknowledged is lost', async (t) => {
  const { step, offset } = crashPoints(t, 7);
  for (let failAt = offset; ; failAt += step) {
    const sim = make({ seed: failAt });
    const model = new BookieModel();
    await sim.start();
    let operations = 0;
    let hasFailed = false;
    sim.disk.beforeOperation = ({ path }) => {
      if (operations++ !== failAt) return;
      hasFailed = true;
      const directory = ledgerDirectories.find((candidate) => path.startsWith(candidate)) ?? '/data/one';
      sim.faults.set(directory, 'read only');
    };
    await sim.queue.complete(life(sim, model));
    if (sim.fatal !== undefined) t.fail(`failed at ${failAt}: ${(sim.fatal as Error).message}`);
    sim.disk.kill();
    await sim.start();
    await model.verify(sim);
    await sim.close();
    sim.faults.clear();
    await sim.start();
    await model.verify(sim);
    await sim.close();
    if (!hasFailed) {
      t.ok(failAt > 100, `${failAt} operations, failed at every ${step}.`);
      return;
    }
  }
});
