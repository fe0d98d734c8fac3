import t, { type Test } from 'tap';
import { lastCheckpoint } from './last-checkpoint.js';
import { decodeLedgerStates, encodeLedgerStates, ledgerStatesFileName } from './storage/ledger-state-format.js';
import { readWholeFile, replaceFile } from './storage/replace-file.js';
import { entryOf, testKey } from './testing/batches.js';
import { BookieModel } from './testing/bookie-model.js';
import { crashPoints } from './testing/crash-points.js';
import type { DirectoryFault } from './testing/faulty-disk.js';
import { SimBookie } from './testing/sim-bookie.js';
import { SimLedgers } from './testing/sim-ledgers.js';

const ledgerDirectories = ['/data/one', '/data/two'];
const journalDirectories = ['/data/j0', '/data/j1'];
const config = { bookieId: 'bookie-1', ledgerDirectories, journalDirectories, readOnlyModeOnAnyDiskFullEnabled: false };
const limits = { logBytesMax: 6 * 1024, journalFileBytesMax: 16 * 1024, diskCheckIntervalMs: 1e9, readAheadBytes: 0 };

async function append(sim: SimBookie, ledgersCount: number, first: number): Promise<void> {
  for (let ledger = 1; ledger <= ledgersCount; ledger++) {
    const code = await sim.append({ ledger, first, count: 10, bytes: 100 });
    if (code !== 'OK') throw new Error(`append: ${code}`);
  }
}

/** Every entry is served or answered with an error; the count of those that are served. */
async function served(t: Test, sim: SimBookie, end: number): Promise<number> {
  let count = 0;
  for (let ledger = 1; ledger <= 4; ledger++) {
    for (let id = 0; id < end; id++) {
      const { code, entries } = await sim.read(ledger, [id]);
      if (code === 'OK' && entries[0]?.equals(entryOf(ledger, id, 100))) count++;
      else if (code !== 'IO_ERROR') t.fail(`entry ${id} of ledger ${ledger}: ${code}`);
    }
  }
  return count;
}

async function numberIn(sim: SimBookie, directory: string): Promise<number> {
  const bookie = { disk: sim.disk, journalDirectories: [], ledgerDirectories: [directory] };
  return (await sim.queue.complete(lastCheckpoint(bookie)))?.number ?? 0;
}

t.test('checkpoint: in every ledger directory and every journal directory', async (t) => {
  const sim = new SimBookie({ config, limits });
  await sim.start();
  await append(sim, 4, 0);
  await sim.flush();
  const numbers = new Set<number>();
  for (const path of [...ledgerDirectories, ...journalDirectories]) numbers.add(await numberIn(sim, path));
  t.equal(numbers.size, 1);
  t.ok((numbers.values().next().value as number) > 1);
  await sim.close();
});

t.test(
  'checkpoint: a start died before it published, and left states of the ledgers in the journal directories → what follows is newer than they are',
  async (t) => {
    const sim = new SimBookie({ config, limits });
    await sim.start();
    await append(sim, 4, 0);
    await sim.flush();
    const number = await numberIn(sim, '/data/one');
    // After those states were written, but before their checkpoint would have been.
    t.equal((await sim.fence(4, testKey)).code, 'OK');
    sim.disk.crash({ keep: 'none' });
    const disk = sim.stoppedDisk();
    const bytes = await sim.queue.complete(readWholeFile(disk, `/data/one/${ledgerStatesFileName}`));
    const { states, deleted } = decodeLedgerStates(bytes as Buffer, '') as NonNullable<ReturnType<typeof decodeLedgerStates>>;
    const source = { count: states.length, all: () => states, deletedCount: deleted.length, allDeleted: () => deleted };
    for (const path of journalDirectories) {
      await sim.queue.complete(replaceFile(disk, path, ledgerStatesFileName, encodeLedgerStates(number + 1, source)));
    }
    await sim.start();
    await append(sim, 3, 10);
    await sim.flush();
    await sim.restart('none');
    t.equal(await sim.append({ ledger: 4, first: 100, count: 1 }), 'FENCED');
    await sim.close();
  },
);

t.test(
  'one ledger directory full while checkpoints are published, the other one dead at the next start → starts, and calls nothing absent',
  async (t) => {
    for (const isStillFull of [true, false]) {
      const sim = new SimBookie({ config, limits });
      await sim.start();
      await append(sim, 4, 0);
      await sim.flush();
      sim.faults.set('/data/one', 'full');
      for (let first = 10; first < 60; first += 10) {
        await append(sim, 4, first);
        await sim.flush();
      }
      t.equal((await sim.fence(4, testKey)).code, 'OK');
      await sim.flush();
      t.ok((await numberIn(sim, '/data/one')) < (await numberIn(sim, '/data/two')), 'one is behind');
      if (!isStillFull) sim.faults.clear();
      sim.faults.set('/data/two', 'dead');
      await sim.restart('none');
      const count = await served(t, sim, 60);
      t.ok(count > 0 && count < 240, `${count} entries are served`);
      t.equal(await sim.append({ ledger: 4, first: 100, count: 1 }), 'FENCED', 'the fence is known');
      // The only directory that is left may be full.
      if (!isStillFull) await append(sim, 3, 60);
      await sim.flush();
      await sim.restart('none');
      sim.faults.clear();
      await sim.restart('none');
      t.equal(await served(t, sim, 60), 240, 'the disk is back: everything is');
      if (!isStillFull) for (let ledger = 1; ledger <= 3; ledger++) t.equal((await sim.read(ledger, [65])).code, 'OK');
      t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
      await sim.close();
    }
  },
);

t.test('copies damaged → the newest elsewhere counts where it is sure to be that; otherwise no start, and the error says why', async (t) => {
  const cases: readonly [damaged: string[], dead: string[], starts: boolean][] = [
    [['/data/one', '/data/two'], [], true],
    [['/data/j0', '/data/j1'], [], true],
    [['/data/one'], ['/data/two'], true],
    [['/data/j0'], ['/data/two'], false],
    [['/data/one', '/data/j1'], [], false],
    [['/data/one', '/data/two', '/data/j0', '/data/j1'], [], false],
  ];
  for (const [damaged, dead, starts] of cases) {
    const sim = new SimBookie({ config, limits });
    await sim.start();
    await append(sim, 4, 0);
    await sim.flush();
    await sim.close();
    for (const path of damaged) sim.disk.flipBit(`${path}/lastMark`, 20, 1);
    for (const path of dead) sim.faults.set(path, 'dead');
    const name = `damaged: ${damaged.join()}, dead: ${dead.join()}`;
    if (starts) {
      await sim.start();
      await served(t, sim, 10);
      await sim.close();
    } else {
      await t.rejects(sim.start(), { code: 'BOOKIE_CHECKPOINT_CORRUPT', message: /lastMark/ }, name);
    }
  }
});

const faultPairs: readonly (readonly [during: Record<string, DirectoryFault>, after: Record<string, DirectoryFault>])[] = [
  [{ '/data/one': 'full' }, { '/data/two': 'dead' }],
  [{ '/data/two': 'full', '/data/j0': 'full' }, { '/data/one': 'dead' }],
  [{ '/data/one': 'full', '/data/j0': 'full', '/data/j1': 'full' }, { '/data/two': 'dead' }],
  [{ '/data/j0': 'full', '/data/j1': 'full' }, { '/data/one': 'dead' }],
  [{}, { '/data/one': 'dead' }],
];

/**
 * A bookie with a past, then checkpoints, sealed logs, garbage collection and compaction while some directories are full; a crash after `operations` disk
 * operations; a start without some of them, and one with all. True when it ended before the crash.
 */
async function lifeUntilCrash(t: Test, operations: number, pair: (typeof faultPairs)[number], keep: 'none' | 'random'): Promise<boolean> {
  const [during, after] = pair;
  const ledgers = new SimLedgers();
  const model = new BookieModel();
  const sim = new SimBookie({
    seed: `${operations} ${keep}`,
    limits,
    config: { ...config, gcWaitTime: 1e9, minorCompactionInterval: 0, majorCompactionInterval: 0 },
    metadata: ({ clock }) => ledgers.metadata(clock),
  });
  await sim.start();
  for (let ledger = 1; ledger <= 6; ledger++) ledgers.create(ledger);
  const fill = async (first: number): Promise<void> => {
    for (let ledger = 1; ledger <= 6; ledger++) await model.append(sim, { ledger, first, count: 5, bytes: 150 });
  };
  for (const first of [0, 5, 10]) {
    await sim.queue.complete(fill(first));
    await sim.flush();
  }
  for (const ledger of [2, 3, 5]) {
    ledgers.delete(ledger);
    model.delete(ledger);
  }
  await sim.queue.runFor(100);
  for (const [path, fault] of Object.entries(during)) sim.faults.set(path, fault);
  sim.disk.crashAfter(operations, { keep });
  const work = async (): Promise<void> => {
    await fill(20);
    await sim.bookie?.flush();
    await sim.bookie?.garbageCollector.force();
    await fill(30);
    await sim.bookie?.flush();
  };
  await sim.settle(work());
  const isComplete = !sim.disk.isDead;
  sim.faults.clear();
  for (const [path, fault] of Object.entries(after)) sim.faults.set(path, fault);
  model.mayBeUnreadable = true;
  await sim.restart(keep);
  await model.verify(sim);
  // It goes on without that directory, and so makes checkpoints that it does not have.
  await sim.queue.complete(fill(40));
  await sim.flush();
  await sim.restart(keep);
  await model.verify(sim);
  sim.faults.clear();
  model.mayBeUnreadable = false;
  await sim.restart(keep);
  await model.verify(sim);
  await sim.flush();
  for (let round = 0; round < 2; round++) await sim.collect();
  await model.verify(sim);
  await sim.close();
  if (sim.fatal !== undefined) t.fail(String(sim.fatal));
  return isComplete;
}

t.test(
  'checkpoints with full directories: crash at every disk operation, then a start without another directory → nothing is lost or called absent',
  async (t) => {
    const { step, offset } = crashPoints(t, 100);
    for (const pair of faultPairs) {
      for (const keep of ['none', 'random'] as const) {
        let operations = offset;
        while (!(await lifeUntilCrash(t, operations, pair, keep))) operations += step;
        t.ok(operations > 40, `${JSON.stringify(pair)}: ${operations} operations, every ${step}. a crash point`);
      }
    }
  },
);
