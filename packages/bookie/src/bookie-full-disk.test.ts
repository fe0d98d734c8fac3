import { createBookieRegistry, MemoryTree } from '@daybook/metadata';
import { Metrics, silentLogger } from '@daybook/runtime';
import { SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { Bookie } from './bookie-api.js';
import { bookieMetadata } from './registration.js';
import { entryOf, testKey } from './testing/batches.js';
import { BookieModel } from './testing/bookie-model.js';
import { crashPoints } from './testing/crash-points.js';
import { SimBookie, type SimBookieOptions } from './testing/sim-bookie.js';
import { SimLedgers } from './testing/sim-ledgers.js';

const limits = { diskCheckIntervalMs: 2000, logBytesMax: 12 * 1024, journalFileBytesMax: 16 * 1024 };

async function used(sim: SimBookie): Promise<number> {
  const { totalBytes, freeBytes } = await sim.queue.complete(sim.disk.usage('/data'));
  return totalBytes - freeBytes;
}

const roomy = 1 << 30;

function make(options: SimBookieOptions = {}): SimBookie {
  return new SimBookie({ ...options, limits: { ...limits, ...options.limits } });
}

t.test('full disk: filled to the last byte after every operation of a life → nothing stops, nothing is lost, writable again by itself', async (t) => {
  const { step, offset } = crashPoints(t, 3);
  for (let fillAt = offset; ; fillAt += step) {
    const sim = make({ seed: fillAt });
    const model = new BookieModel();
    await sim.start();
    let operations = 0;
    let isFilled = false;
    sim.disk.afterOperation = () => {
      if (operations++ !== fillAt) return;
      isFilled = true;
      // Whatever is free now is gone.
      sim.disk.setCapacityBytes(usedNow(sim));
    };
    for (let round = 0; round < 6; round++) {
      const work = [
        model.append(sim, { ledger: 1, first: round * 10, count: 10, bytes: 200 }),
        model.append(sim, { ledger: 2, first: round * 10, count: 5, bytes: 150, step: 2 }),
        model.append(sim, { ledger: 3, first: round, count: 1, bytes: 30, isRecovery: true }),
      ];
      await sim.queue.complete(Promise.all(work));
      if (round === 2) await sim.queue.complete(model.fence(sim, 77 + round));
      if (round === 3) await sim.flush();
    }
    sim.disk.afterOperation = undefined;
    if (sim.fatal !== undefined) t.fail(`filled after ${fillAt} operations: ${(sim.fatal as Error).message}`);
    await model.verify(sim);
    sim.disk.setCapacityBytes(roomy);
    await sim.queue.runFor(10_000);
    if (sim.bookie?.isReadOnly) t.fail(`filled after ${fillAt} operations: still read-only`);
    await sim.queue.complete(model.append(sim, { ledger: 9, first: 0, count: 1 }));
    t.equal((await sim.read(9, [0])).code, 'OK');
    await model.verify(sim);
    await sim.restart('none');
    await model.verify(sim);
    await sim.close();
    if (!isFilled) {
      t.ok(fillAt > 60, `${fillAt} operations, filled at every ${step}.`);
      return;
    }
  }
});

/** Without an operation, which would be one more. */
function usedNow(sim: SimBookie): number {
  let sum = 0;
  for (const path of paths()) sum += sim.disk.peek(path)?.length ?? 0;
  return sum;
}

function paths(): string[] {
  const names = new Set<string>();
  for (let id = 1; id < 40; id++) {
    const name = id.toString(16).padStart(16, '0');
    for (const suffix of ['.journal', '.journal.spare']) names.add(`/data/journal/${name}${suffix}`);
    for (const suffix of ['.log', '.idx']) names.add(`/data/ledgers/${name}${suffix}`);
  }
  for (const directory of ['/data/journal', '/data/ledgers']) {
    for (const name of ['VERSION', 'INCARNATION', 'reserve', 'lastMark', 'lastMark.new', 'ledgers', 'ledgers.new']) names.add(`${directory}/${name}`);
  }
  return [...names];
}

t.test('full disk: appends READ_ONLY, reads and fences served, appends of a recovery as long as there is room kept back', async (t) => {
  const sim = make({ limits: { diskReserveBytes: 16 * 1024, journalPrefillBytes: 512 } });
  await sim.start();
  sim.disk.setCapacityBytes(roomy);
  t.equal(await sim.append({ ledger: 1, first: 0, count: 5 }), 'OK');
  await sim.queue.runFor(5000);
  t.equal(
    sim.bookie?.status().directories.every(({ reserveBytes }) => reserveBytes === 16 * 1024),
    true,
    'space is kept back',
  );
  sim.disk.setCapacityBytes(await used(sim));
  await sim.queue.complete((sim.bookie as Bookie).checkDisks());
  t.match(sim.bookie?.status(), {
    isReadOnly: true,
    readOnlyReasons: [
      { kind: 'disk full', directory: '/data/journal' },
      { kind: 'disk full', directory: '/data/ledgers' },
    ],
  });
  t.equal(await sim.append({ ledger: 1, first: 5, count: 1 }), 'READ_ONLY');
  t.equal((await sim.read(1, [4])).code, 'OK');
  for (let ledger = 100; ledger < 110; ledger++) t.equal((await sim.fence(ledger, testKey)).code, 'NO_ENTRY', 'fenced');
  t.ok((await sim.fence(1, testKey)).lastEntry?.equals(entryOf(1, 4)));
  t.equal(await sim.append({ ledger: 1, first: 5, count: 1 }), 'FENCED', 'said even now');
  const codes: string[] = [];
  for (let first = 5; first < 60; first++) codes.push(await sim.append({ ledger: 1, first, count: 1, bytes: 600, isRecovery: true }));
  const taken = codes.filter((code) => code === 'OK').length;
  t.ok(taken > 0 && taken < 55, `${taken} of 55 appends of a recovery are taken`);
  t.ok(codes.slice(-20).every((code) => code === 'READ_ONLY'));
  t.equal((await sim.fence(200, testKey)).code, 'NO_ENTRY', 'there is still room for fences');
  t.equal(sim.fatal, undefined);
  sim.disk.setCapacityBytes(roomy);
  await sim.queue.runFor(10_000);
  t.equal(sim.bookie?.isReadOnly, false);
  t.equal(await sim.append({ ledger: 2, first: 0, count: 1 }), 'OK');
  await sim.restart('none');
  for (const ledger of [1, 100, 109, 200]) t.equal(await sim.append({ ledger, first: 900, count: 1 }), 'FENCED', `ledger ${ledger}`);
  for (let i = 0; i < taken; i++) t.equal((await sim.read(1, [5 + i])).code, 'OK');
  await sim.close();
});

t.test('full disk: fence without any room → IO_ERROR, and OK only once it is durable', async (t) => {
  const sim = make({ limits: { diskReserveBytes: 0, journalPrefillBytes: 512, journalSparesMax: 0 } });
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  let fenced = 0;
  sim.disk.setCapacityBytes(await used(sim));
  while ((await sim.fence(300 + fenced, testKey)).code !== 'IO_ERROR') fenced++;
  t.ok(fenced < 20);
  t.equal((await sim.fence(300 + fenced, testKey)).code, 'IO_ERROR', 'not "fenced already"');
  sim.disk.setCapacityBytes(roomy);
  t.equal((await sim.fence(300 + fenced, testKey)).code, 'NO_ENTRY');
  await sim.restart('none');
  t.equal(await sim.append({ ledger: 300 + fenced, first: 0, count: 1 }), 'FENCED');
  await sim.close();
});

t.test('thresholds: warn, full, low water → read-only above the one, writable again only below the other', async (t) => {
  const config = { diskUsageWarnThreshold: 0.5, diskUsageThreshold: 0.8, diskUsageLwmThreshold: 0.6 };
  const sim = make({ config, limits: { diskReserveBytes: 0 } });
  await sim.start();
  for (let first = 0; first < 20; first += 10) await sim.append({ ledger: 1, first, count: 10, bytes: 200 });
  await sim.flush();
  const at = async (share: number) => {
    sim.disk.setCapacityBytes(Math.floor((await used(sim)) / share));
    await sim.queue.runFor(2100);
    const { isReadOnly, directories } = (sim.bookie as Bookie).status();
    return [directories[0]?.level, isReadOnly];
  };
  t.strictSame(await at(0.4), ['ok', false]);
  t.strictSame(await at(0.55), ['warn', false]);
  t.strictSame(await at(0.79), ['warn', false]);
  t.strictSame(await at(0.81), ['full', true]);
  t.strictSame(await at(0.7), ['full', true], 'not yet');
  t.strictSame(await at(0.59), ['warn', false]);
  t.strictSame(await at(0.4), ['ok', false]);
  await sim.close();
});

t.test('start on a full disk → read-only, and everything that was acknowledged is served; writable when space returns', async (t) => {
  for (const spare of [0, 300, 900, 4096, 20_000]) {
    const sim = make({ seed: spare, limits: { diskReserveBytes: 0, flushIntervalMs: 1_000_000, writeCacheBytesMax: 128 * 1024 } });
    await sim.start();
    for (let first = 0; first < 200; first += 10) t.equal(await sim.append({ ledger: 1 + (first % 3), first, count: 10, bytes: 200 }), 'OK');
    await sim.fence(2, testKey);
    sim.disk.crash({ keep: 'all' });
    sim.stoppedDisk();
    sim.disk.setCapacityBytes((await used(sim)) + spare);
    const check = async () => {
      for (let first = 0; first < 200; first += 10) {
        const { code, entries } = await sim.read(1 + (first % 3), [first, first + 9]);
        if (code !== 'OK' || !entries[1]?.equals(entryOf(1 + (first % 3), first + 9, 200))) t.fail(`entry ${first}: ${code}`);
      }
      t.equal(await sim.append({ ledger: 2, first: 900, count: 1 }), 'FENCED');
    };
    // Started again and again while nothing gets better.
    for (let start = 0; start < 3; start++) {
      await sim.start();
      if (spare < 5000) t.equal(sim.bookie?.isReadOnly, true);
      await check();
      if (start < 2) sim.disk.crash();
    }
    sim.disk.setCapacityBytes(roomy);
    await sim.queue.runFor(10_000);
    t.equal(sim.bookie?.isReadOnly, false);
    await check();
    await sim.restart('none');
    await check();
    await sim.close();
  }
});

t.test('write cache smaller than what is in the journal, disk full → the start takes it all the same', async (t) => {
  const options = { diskReserveBytes: 0, flushIntervalMs: 1_000_000 };
  const sim = make({ limits: { ...options, writeCacheBytesMax: 256 * 1024 } });
  await sim.start();
  for (let first = 0; first < 300; first += 10) await sim.append({ ledger: 1, first, count: 10, bytes: 200 });
  sim.disk.crash({ keep: 'all' });
  sim.stoppedDisk();
  sim.disk.setCapacityBytes(await used(sim));
  sim.limits = { ...limits, ...options, writeCacheBytesMax: 32 * 1024 };
  await sim.start();
  t.strictSame(await sim.list(1), { code: 'OK', runs: [{ first: 0, last: 299 }] });
  sim.disk.setCapacityBytes(roomy);
  await sim.queue.runFor(10_000);
  t.equal(await sim.append({ ledger: 1, first: 300, count: 10, bytes: 200 }), 'OK');
  await sim.restart('none');
  t.strictSame(await sim.list(1), { code: 'OK', runs: [{ first: 0, last: 309 }] });
  await sim.close();
});

t.test('read-only by hand → not undone by disks nor by a restart, only by hand; by configuration → never undone', async (t) => {
  const sim = make();
  await sim.start();
  await sim.queue.complete((sim.bookie as Bookie).setReadOnly(true));
  t.equal(await sim.append({ ledger: 1, first: 0, count: 1 }), 'READ_ONLY');
  t.equal(await sim.append({ ledger: 1, first: 0, count: 1, isRecovery: true }), 'OK');
  await sim.queue.runFor(60_000);
  t.strictSame(sim.bookie?.status().readOnlyReasons, [{ kind: 'manual' }]);
  await sim.restart('none');
  t.strictSame(sim.bookie?.status().readOnlyReasons, [{ kind: 'manual' }]);
  await sim.queue.complete((sim.bookie as Bookie).setReadOnly(false));
  t.equal(await sim.append({ ledger: 1, first: 1, count: 1 }), 'OK');
  await sim.restart('none');
  t.equal(sim.bookie?.isReadOnly, false);
  await sim.close();
  const forced = make({ config: { forceReadOnlyBookie: true } });
  await forced.start();
  await forced.queue.complete((forced.bookie as Bookie).setReadOnly(false));
  t.equal(await forced.append({ ledger: 1, first: 0, count: 1 }), 'READ_ONLY');
  await forced.close();
});

t.test('registration: follows the disk both ways, and is right from the first moment', async (t) => {
  const tree = new MemoryTree();
  const sim = make({
    limits: { diskReserveBytes: 0 },
    metadata: ({ clock }) => {
      const store = tree.openSession({ clock });
      return bookieMetadata(store, { clock, random: new SimRandom('cluster'), logger: silentLogger, onFailure: () => {} });
    },
  });
  const clock = new SimClock(sim.queue, { name: 'others' });
  const registry = await sim.queue.complete(createBookieRegistry(tree.openSession({ clock }), { clock }));
  const seen: (boolean | undefined)[] = [];
  registry.onChange(() => seen.push(registry.list()[0]?.isWritable));
  await sim.start();
  const register = () => sim.queue.complete((sim.bookie as Bookie).register({ address: '127.0.0.1:1', httpAddress: '' }));
  await register();
  await sim.queue.runFor(5000);
  t.strictSame(seen, [true]);
  sim.disk.setCapacityBytes(await used(sim));
  await sim.queue.runFor(5000);
  t.strictSame(seen, [true, false]);
  sim.disk.setCapacityBytes(roomy);
  await sim.queue.runFor(5000);
  t.strictSame(seen, [true, false, true], 'never gone in between');
  await sim.close();
  await sim.queue.runFor(20_000);
  sim.stoppedDisk();
  sim.disk.setCapacityBytes(await used(sim));
  seen.length = 0;
  await sim.start();
  await register();
  await sim.queue.runFor(1000);
  t.strictSame(seen, [false], 'comes up read-only');
  sim.disk.setCapacityBytes(roomy);
  await sim.queue.runFor(5000);
  t.strictSame(seen, [false, true]);
  await sim.close();
});

t.test('metrics: say which disk is full, what is kept back, and that the bookie is not writable', async (t) => {
  const metrics = new Metrics();
  const sim = make({ metrics, limits: { diskReserveBytes: 4096 } });
  await sim.start();
  await sim.queue.runFor(5000);
  t.match(await metrics.text(), /daybook_bookie_disk_reserve_bytes\{directory="\/data\/ledgers"\} 4096/);
  sim.disk.setCapacityBytes(await used(sim));
  await sim.queue.runFor(5000);
  const text = await metrics.text();
  t.match(text, /daybook_bookie_disk_full\{directory="\/data\/ledgers"\} 1/);
  t.match(text, /daybook_bookie_writable 0/);
  t.match(text, /daybook_bookie_journal_files\{directory="\/data\/journal"\} 1/);
  t.match(text, /daybook_bookie_limbo 0/);
  await sim.close();
});

t.test(
  'disk filled by entries, then all ledgers deleted → garbage collection works on the full disk, and the bookie is writable again',
  async (t) => {
    for (const reserve of [0, 16 * 1024]) {
      const ledgers = new SimLedgers();
      const sim = make({
        config: { bookieId: 'bookie-1' },
        limits: { diskReserveBytes: reserve },
        metadata: ({ clock }) => ledgers.metadata(clock),
      });
      await sim.start();
      sim.disk.setCapacityBytes(1 << 20);
      await sim.queue.runFor(5000);
      let code = 'OK';
      let ledger = 0;
      for (let first = 0; code === 'OK'; first += 10) {
        if (first % 100 === 0) ledgers.create(++ledger);
        code = await sim.append({ ledger, first, count: 10, bytes: 300 });
      }
      t.equal(code, 'READ_ONLY');
      // And somebody else takes the rest.
      sim.disk.setCapacityBytes(await used(sim));
      await sim.queue.runFor(3000);
      t.equal(sim.bookie?.isReadOnly, true);
      for (let id = 1; id <= ledger; id++) ledgers.delete(id);
      await sim.collect();
      await sim.queue.runFor(5000);
      t.equal(sim.bookie?.isReadOnly, false, `${reserve} bytes kept back: writable after one round`);
      t.strictSame(await sim.ledgerFiles('.log'), []);
      ledgers.create(1000);
      t.equal(await sim.append({ ledger: 1000, first: 0, count: 1 }), 'OK');
      await sim.restart('none');
      t.equal((await sim.read(1000, [0])).code, 'OK');
      t.equal((await sim.read(1, [0])).code, 'NO_LEDGER');
      await sim.close();
    }
  },
);

t.test('full disk: an append that was refused → its entries are listed only where a power cut does not take them back', async (t) => {
  for (let roomBytes = 0; roomBytes < 40_000; roomBytes += 1500) {
    const sim = make({ seed: roomBytes });
    await sim.start();
    await sim.append({ ledger: 1, first: 0, count: 1 });
    sim.disk.setCapacityBytes(usedNow(sim) + roomBytes);
    let code = 'OK';
    for (let first = 1; code === 'OK' && first < 100; first += 10) code = await sim.append({ ledger: 1, first, count: 10, bytes: 300 });
    t.not(code, 'OK', `${roomBytes} bytes of room: the disk fills up`);
    const before = await sim.list(1);
    t.equal(before.code, 'OK');
    sim.disk.setCapacityBytes(roomy);
    await sim.restart('none');
    const after = await sim.list(1);
    const last = (runs: readonly { last: number }[]): number => runs.at(-1)?.last ?? -1;
    t.ok(last(after.runs) >= last(before.runs), `${roomBytes} bytes of room: listed up to ${last(before.runs)}, then up to ${last(after.runs)}`);
    await sim.close();
  }
});

t.test('full disk with much in the write cache → flushes do not use up what was kept back: fences go on, and checkpoints', async (t) => {
  const sim = make({
    limits: {
      batchBytesMax: 64 * 1024,
      journalCommitBytesMax: 64 * 1024,
      journalQueueBytesMax: 1 << 20,
      heldAppendsBytesMax: 1 << 20,
      writeCacheBytesMax: 16 << 20,
      logBytesMax: 16 << 20,
      journalFileBytesMax: 16 << 20,
      journalPrefillBytes: 4096,
      diskReserveBytes: 1 << 20,
      flushIntervalMs: 3000,
    },
  });
  sim.disk.setCapacityBytes(100 << 20);
  await sim.start();
  await sim.queue.runFor(10_000);
  for (let first = 0; first < 600; first += 10) t.equal(await sim.append({ ledger: 1, first, count: 10, bytes: 5000 }), 'OK');
  // Whatever is free now is taken by others.
  sim.disk.setCapacityBytes(await used(sim));
  for (let round = 0; round < 20; round++) {
    await sim.append({ ledger: 2, first: round, count: 10, bytes: 5000 });
    await sim.queue.runFor(1000);
    const { code } = await sim.fence(100 + round, testKey);
    if (code === 'IO_ERROR') t.fail(`fence ${round}: ${code}`);
  }
  t.equal(sim.bookie?.isReadOnly, true);
  sim.disk.setCapacityBytes(roomy);
  await sim.queue.runFor(10_000);
  t.equal(sim.bookie?.isReadOnly, false);
  t.equal(await sim.append({ ledger: 1, first: 600, count: 1 }), 'OK');
  await sim.restart('none');
  for (let id = 0; id <= 600; id += 20) t.equal((await sim.read(1, [id])).code, 'OK');
  for (let round = 0; round < 20; round++) t.equal(await sim.append({ ledger: 100 + round, first: 0, count: 1 }), 'FENCED');
  await sim.close();
});
