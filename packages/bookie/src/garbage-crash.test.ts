import t, { type Test } from 'tap';
import { BookieModel } from './testing/bookie-model.js';
import { crashPoints } from './testing/crash-points.js';
import { checkFiles, checkSpace, NoReuse } from './testing/life-checks.js';
import { SimBookie } from './testing/sim-bookie.js';
import { SimLedgers } from './testing/sim-ledgers.js';

const ledgersCount = 8;

/** A bookie with eight ledgers over several logs of which five are gone: garbage collection will remove logs, seal the open one, and compact the others. */
class Scene {
  readonly ledgers = new SimLedgers();
  readonly model = new BookieModel();
  readonly noReuse = new NoReuse();
  readonly sim: SimBookie;

  constructor(seed: string, mapBytesMax: number) {
    this.sim = new SimBookie({
      seed,
      limits: { logBytesMax: 12 * 1024, ledgerMapBytesMax: mapBytesMax, diskCheckIntervalMs: 1e9 },
      config: { bookieId: 'bookie-1', gcWaitTime: 1e9, minorCompactionInterval: 0, majorCompactionInterval: 0 },
      metadata: ({ clock }) => this.ledgers.metadata(clock),
    });
  }

  async set(): Promise<void> {
    const { sim, model } = this;
    await sim.start();
    this.noReuse.watch(sim.disk);
    for (let ledger = 0; ledger < ledgersCount; ledger++) this.ledgers.create(ledger);
    for (let round = 0; round < 8; round++) {
      for (let ledger = 0; ledger < ledgersCount; ledger++) {
        // The first logs hold ledger 0 and nothing that stays; the later ones a bit of everything.
        if (round < 2 && ledger > 1) continue;
        await sim.queue.complete(model.append(sim, { ledger, first: round * 4, count: 4, bytes: 150 + ledger * 40 }));
      }
      if (round % 2 === 1) await sim.flush();
    }
    await sim.flush();
    await sim.queue.runFor(100);
    for (const ledger of [0, 2, 3, 5, 7]) {
      this.ledgers.delete(ledger);
      model.delete(ledger);
    }
  }

  /** Nothing lost, nothing doubled, nothing left over. */
  async verify(t: Test, when: string): Promise<void> {
    const { sim, model } = this;
    await sim.queue.runFor(100);
    await model.verify(sim);
    await sim.flush();
    for (let round = 0; round < 2; round++) await sim.collect();
    await model.verify(sim);
    const logs = sim.bookie!.garbageCollector.logs();
    const live = logs.reduce((sum, { liveEntries = 0 }) => sum + liveEntries, 0);
    const expected = [1, 4, 6].reduce((sum, ledger) => sum + model.acknowledged(ledger).size, 0);
    if (live !== expected) t.fail(`${live} entries are in the logs, ${expected} should be: ${when}`);
    checkSpace(sim.bookie!.garbageCollector);
    await checkFiles(sim);
  }
}

async function collectUntilCrash(t: Test, operations: number, options: { keep: 'random' | 'none'; mapBytesMax: number }): Promise<boolean> {
  const { keep, mapBytesMax } = options;
  const when = `crash after ${operations} operations, keep ${keep}`;
  const scene = new Scene(`${keep} ${operations}`, mapBytesMax);
  const { sim } = scene;
  await scene.set();
  sim.disk.crashAfter(operations, { keep });
  await sim.settle(sim.bookie!.garbageCollector.force());
  const isComplete = !sim.disk.isDead;
  if (!isComplete) {
    // And once more while it starts, or goes on with what was begun.
    const again = sim.begin();
    scene.noReuse.watch(sim.disk);
    sim.disk.crashAfter((operations * 7) % 331, { keep });
    sim.bookie = await sim.settle(again);
    await sim.queue.runFor(100);
    if (sim.bookie !== undefined && !sim.disk.isDead) await sim.settle(sim.bookie.garbageCollector.force());
  }
  await sim.restart(keep);
  scene.noReuse.watch(sim.disk);
  await scene.verify(t, when);
  await sim.close();
  await sim.start();
  await scene.verify(t, `${when}, after a clean stop`);
  await sim.close();
  return isComplete;
}

t.test(
  'garbage collection and compaction: power cut at every disk operation, and again while going on → no entry lost or doubled, no id used twice, no space leaked',
  async (t) => {
    // One way more often than the other ways, in which fewer things differ.
    const often = crashPoints(t, 2);
    const seldom = crashPoints(t, 12);
    for (const keep of ['none', 'random'] as const) {
      for (const mapBytesMax of [1 << 20, 2048]) {
        const { step, offset } = keep === 'none' && mapBytesMax > 2048 ? often : seldom;
        let operations = offset;
        while (!(await collectUntilCrash(t, operations, { keep, mapBytesMax }))) operations += step;
        t.ok(operations > 60, `${operations} operations, every ${step}. a crash point`);
      }
    }
  },
);
