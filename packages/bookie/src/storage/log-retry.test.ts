import { diskErrors } from '@daybook/runtime';
import t from 'tap';
import type { Bookie } from '../bookie-api.js';
import { entryOf } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';

const limits = { logBytesMax: 6 * 1024, openIndexBytesMax: 1 << 20, scrubIntervalMs: 0, readAheadBytes: 0, diskCheckIntervalMs: 1e9 };
const entriesCount = 60;

/** Entries over sealed logs and an open one; the bookie is stopped. */
async function filled(): Promise<SimBookie> {
  const sim = new SimBookie({ limits });
  await sim.start();
  for (let first = 0; first < entriesCount; first += 10) for (const ledger of [1, 2]) await sim.append({ ledger, first, count: 10, bytes: 60 });
  await sim.flush();
  await sim.close();
  return sim;
}

/** Starts with reads of such files failing; `mend` ends that. */
async function startWithFailingReads(sim: SimBookie, isFailing: (path: string) => boolean): Promise<() => void> {
  let fails = true;
  const starting = sim.begin();
  sim.disk.beforeOperation = ({ kind, path }) => {
    if (fails && kind === 'read' && isFailing(path)) throw diskErrors.IO(path, 'fails for a moment');
  };
  sim.bookie = await sim.queue.complete(starting);
  return () => {
    fails = false;
  };
}

async function codes(sim: SimBookie): Promise<Record<string, number>> {
  const out: Record<string, number> = {};
  for (const ledger of [1, 2]) {
    for (let id = 0; id < entriesCount; id++) {
      const { code, entries } = await sim.read(ledger, [id]);
      if (code === 'OK' && !entries[0]?.equals(entryOf(ledger, id, 60))) t.fail(`entry ${id} of ledger ${ledger} is another one`);
      out[code] = (out[code] ?? 0) + 1;
    }
  }
  return out;
}

const isLogFile = (path: string): boolean => /\.(log|idx)$/.test(path);

for (const [name, isFailing] of [
  ['all logs and indexes', isLogFile],
  ['all indexes', (path: string) => path.endsWith('.idx')],
] as const) {
  t.test(`${name} cannot be read for a while at start → errors, nothing absent; then everything again, without a restart`, async (t) => {
    const sim = await filled();
    sim.stoppedDisk();
    const before = (await sim.ledgerFiles('.idx')).map((file) => sim.disk.peek(`/data/ledgers/${file}`));
    const mend = await startWithFailingReads(sim, isFailing);
    const damaged = (sim.bookie as Bookie).garbageCollector.logs().filter(({ state }) => state === 'damaged');
    t.ok(damaged.length >= 3, `${damaged.length} logs cannot be used`);
    if (isFailing === isLogFile) {
      // A failing disk is asked ever more rarely.
      await sim.queue.runFor(60_000);
      t.strictSame(await codes(sim), { IO_ERROR: 2 * entriesCount });
      t.equal((await sim.read(1, [5000])).code, 'IO_ERROR');
    }
    mend();
    await sim.queue.runFor(200_000);
    t.strictSame(await codes(sim), { OK: 2 * entriesCount });
    t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
    t.equal((sim.bookie as Bookie).garbageCollector.logs().filter(({ state }) => state === 'damaged').length, 0);
    if (isFailing === isLogFile) {
      const after = (await sim.ledgerFiles('.idx')).map((file) => sim.disk.peek(`/data/ledgers/${file}`));
      t.strictSame(after.slice(0, 2), before.slice(0, 2), 'the indexes of sealed logs are as they were: nothing was made again');
    }
    // The log that was open at the stop goes on to be one like any other.
    await sim.append({ ledger: 1, first: entriesCount, count: 10, bytes: 60 });
    await sim.flush();
    await sim.restart('none');
    t.strictSame(await codes(sim), { OK: 2 * entriesCount });
    await sim.close();
  });
}

t.test('a log that cannot be read at all → tried again, but a bounded number of times', async (t) => {
  const sim = await filled();
  let reads = 0;
  await startWithFailingReads(sim, (path) => {
    if (!isLogFile(path)) return false;
    reads++;
    return true;
  });
  await sim.queue.runFor(60_000);
  const early = reads;
  await sim.queue.runFor(6 * 3_600_000);
  const late = reads;
  await sim.queue.runFor(6 * 3_600_000);
  t.ok(early > 5, `${early} reads in a minute`);
  t.ok(reads > late, 'still tried');
  t.ok(reads - late < 100, `${reads - late} reads in six hours`);
  await sim.close();
});

t.test('ledger tables cannot be read when a ledger map is made again → the logs are usable again soon after', async (t) => {
  const sim = new SimBookie({
    limits: { ...limits, ledgerMapBytesMax: 1024 },
    config: { gcWaitTime: 1e9, minorCompactionInterval: 0, majorCompactionInterval: 0 },
  });
  await sim.start();
  for (let first = 0; first < entriesCount; first += 10) for (const ledger of [1, 2]) await sim.append({ ledger, first, count: 10, bytes: 60 });
  for (let ledger = 10; ledger < 60; ledger++) await sim.append({ ledger, first: 0, count: 2, bytes: 100 });
  await sim.flush();
  const [map] = await sim.ledgerFiles('.map');
  t.ok(map, 'there is a map');
  for (let at = 0; at < 2000; at += 16) sim.disk.flipBit(`/data/ledgers/${map}`, at, 1);
  await sim.read(1, [0]);
  let fails = true;
  sim.disk.beforeOperation = ({ kind, path }) => {
    if (fails && kind === 'read' && path.endsWith('.idx')) throw diskErrors.IO(path, 'fails for a moment');
  };
  await sim.collect();
  const damaged = (sim.bookie as Bookie).garbageCollector.logs().filter(({ state }) => state === 'damaged');
  t.ok(damaged.length > 0, `${damaged.length} logs cannot be used`);
  fails = false;
  await sim.queue.runFor(60_000);
  t.strictSame(await codes(sim), { OK: 2 * entriesCount });
  t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
  await sim.close();
});
