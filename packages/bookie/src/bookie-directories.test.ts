import t from 'tap';
import type { Bookie } from './bookie-api.js';
import { entryOf } from './testing/batches.js';
import { BookieModel } from './testing/bookie-model.js';
import type { DirectoryFault } from './testing/faulty-disk.js';
import { SimBookie, type SimBookieOptions } from './testing/sim-bookie.js';

const ledgerDirectories = ['/data/one', '/data/two', '/data/three'];
const journalDirectories = ['/data/j0', '/data/j1'];
const config = { ledgerDirectories, journalDirectories };
const limits = { logBytesMax: 6 * 1024, journalFileBytesMax: 16 * 1024, diskCheckIntervalMs: 2000, readAheadBytes: 0 };

function make(options: SimBookieOptions = {}): SimBookie {
  return new SimBookie({ ...options, config: { ...config, ...options.config }, limits: { ...limits, ...options.limits } });
}

/** Ledgers 1 to 4, entries `first` to `first + 59`. */
async function fill(sim: SimBookie, first = 0): Promise<void> {
  for (let id = first; id < first + 60; id += 10) for (let ledger = 1; ledger <= 4; ledger++) await appendOk(sim, ledger, id);
  await sim.flush();
}

async function appendOk(sim: SimBookie, ledger: number, first: number): Promise<void> {
  const code = await sim.append({ ledger, first, count: 10, bytes: 100 });
  if (code !== 'OK') throw new Error(`append: ${code}`);
}

/** How many of the entries are served; the others must be answered IO_ERROR. */
async function served(sim: SimBookie, count = 60): Promise<number> {
  let sum = 0;
  for (let ledger = 1; ledger <= 4; ledger++) {
    for (let id = 0; id < count; id++) {
      const { code, entries } = await sim.read(ledger, [id]);
      if (code === 'OK' && entries[0]?.equals(entryOf(ledger, id, 100))) sum++;
      else t.equal(code, 'IO_ERROR', `entry ${id} of ledger ${ledger}`);
    }
  }
  return sum;
}

async function logsIn(sim: SimBookie, directory: string): Promise<number> {
  return (await sim.queue.complete(sim.disk.list(directory))).filter((name) => name.endsWith('.log')).length;
}

t.test('several ledger directories → the emptiest takes the next log; a full one takes none while others have room', async (t) => {
  const sim = make({ config: { readOnlyModeOnAnyDiskFullEnabled: false } });
  sim.faults.set('/data/one', 'full');
  await t.rejects(sim.start(), { code: 'DISK_FULL' }, 'a new bookie needs all of them');
  sim.faults.clear();
  await sim.restart();
  await fill(sim);
  sim.faults.set('/data/one', 'full');
  await sim.queue.runFor(3000);
  t.equal(sim.bookie?.isReadOnly, false, 'the others have room');
  const before = await logsIn(sim, '/data/one');
  await fill(sim, 60);
  t.equal(await logsIn(sim, '/data/one'), before);
  t.equal(await served(sim, 120), 480);
  t.ok(sim.bookie?.status().directories.some(({ path, level }) => path === '/data/one' && level === 'full'));
  sim.faults.clear();
  await sim.queue.runFor(10_000);
  await fill(sim, 120);
  t.ok((sim.bookie as Bookie).status().directories.every(({ level }) => level === 'ok'));
  t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
  await sim.restart('none');
  t.equal(await served(sim, 180), 720);
  t.equal(sim.bookie?.isReadOnly, false);
  await sim.close();
});

for (const fault of ['read only', 'dead'] as const) {
  t.test(`ledger directory becomes ${fault} under a running bookie → taken out, reported, the others go on; nothing is called absent`, async (t) => {
    for (const directory of ledgerDirectories) {
      const sim = make();
      await sim.start();
      await fill(sim);
      sim.faults.set(directory, fault);
      await fill(sim, 60);
      t.equal(sim.fatal, undefined);
      await sim.queue.complete((sim.bookie as Bookie).checkDisks());
      t.match(sim.bookie?.status(), { isReadOnly: false, directories: { length: 5 } });
      t.strictSame(
        sim.bookie
          ?.status()
          .directories.filter(({ level }) => level === 'failed')
          .map(({ path }) => path),
        [directory],
      );
      const count = await served(sim, 120);
      if (fault === 'read only') t.equal(count, 480);
      else t.ok(count >= 240, `${count} of 480 entries are served`);
      await sim.restart('none');
      t.equal(await served(sim, 120), count, 'the same after a restart with that directory failing');
      const isWhole = (await logsIn(sim, directory)) === 0 || fault === 'read only';
      t.equal((await sim.read(1, [5000])).code, isWhole ? 'NO_ENTRY' : 'IO_ERROR', 'it may be in the logs there');
      await fill(sim, 120);
      await sim.close();
      sim.faults.clear();
      await sim.start();
      t.equal(await served(sim, 180), 720, 'the disk is back: everything is');
      t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
      await sim.restart('none');
      t.equal(await served(sim, 180), 720);
      await sim.close();
    }
  });
}

t.test('last ledger directory, or a journal directory, fails → the bookie stops', async (t) => {
  const failing: Record<string, [string, DirectoryFault][]> = {
    'all ledger directories': ledgerDirectories.map((path) => [path, 'read only']),
    'one journal': [['/data/j1', 'read only']],
  };
  for (const [name, faults] of Object.entries(failing)) {
    const sim = make();
    await sim.start();
    await fill(sim);
    for (const [path, fault] of faults) sim.faults.set(path, fault);
    for (let ledger = 1; ledger <= 2; ledger++) await sim.append({ ledger, first: 100, count: 1 });
    await sim.flush();
    t.match(sim.fatal, { code: 'BOOKIE_FAILED' }, name);
    sim.disk.kill();
    await t.rejects(sim.start(), { code: 'DISK_IO' }, `${name}: no start either`);
    sim.disk.kill();
    sim.faults.clear();
    await sim.start();
    t.equal(await served(sim), 240);
    await sim.close();
  }
});

t.test('directory fails while the bookie is stamped for the first time, or storage is added → refused, and done when it works', async (t) => {
  const sim = make();
  sim.faults.set('/data/two', 'dead');
  await t.rejects(sim.start(), { code: 'DISK_IO' });
  sim.disk.kill();
  sim.faults.clear();
  await sim.start();
  await fill(sim);
  await sim.close();
});

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
  for (let operations = 0; ; operations += 3) {
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
      t.ok(operations > 150, `${operations / 3} crash points`);
      return;
    }
  }
});

t.test('directory that fails at every disk operation in turn → the bookie goes on, and nothing acknowledged is lost', async (t) => {
  for (let failAt = 0; ; failAt += 7) {
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
      t.ok(failAt > 100, `failed at ${failAt / 7} places`);
      return;
    }
  }
});

t.test('journals of several directories → each ledger in one of them, both bounded, a mark for each', async (t) => {
  const sim = make({ limits: { journalSparesMax: 1 } });
  await sim.start();
  for (let round = 0; round < 8; round++) await fill(sim, round * 60);
  const { journals } = (sim.bookie as Bookie).status();
  t.equal(journals.length, 2);
  for (const { directory, filesCount, sparesCount, mark } of journals) {
    t.ok(mark.fileId > 3, directory);
    t.ok(filesCount <= 2 && sparesCount <= 1, `${directory}: ${filesCount} files, ${sparesCount} spares`);
  }
  await sim.close();
});

t.test('another number of journal directories → refused by the cookie', async (t) => {
  const sim = make();
  await sim.start();
  await fill(sim);
  await sim.close();
  const other = new SimBookie({ config: { ledgerDirectories, journalDirectories: ['/data/j0'] } });
  other.disk = sim.disk;
  await t.rejects(other.start(), { code: 'BOOKIE_COOKIE_REFUSED' });
});
