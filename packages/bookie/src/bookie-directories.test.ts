import t from 'tap';
import type { Bookie } from './bookie-api.js';
import { entryOf } from './testing/batches.js';
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

t.test('directory of a log that was reopened at start fails, in the write or only in the sync → its entries go to another one', async (t) => {
  for (const isInSync of [false, true]) {
    const sim = make({ limits: { logBytesMax: 1 << 20 } });
    await sim.start();
    await fill(sim);
    await sim.restart('none');
    let path = '';
    for (const directory of ledgerDirectories) if ((await logsIn(sim, directory)) > 0) path = directory;
    for (let ledger = 1; ledger <= 4; ledger++) await appendOk(sim, ledger, 60);
    if (isInSync) sim.disk.failNextSync(1);
    else sim.faults.set(path, 'read only');
    await sim.flush();
    t.equal(sim.fatal, undefined);
    await sim.restart('none');
    t.equal(await served(sim, 70), 280);
    await sim.close();
  }
});
