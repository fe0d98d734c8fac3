import type { EntryId, LedgerId } from '@daybook/proto';
import t, { type Test } from 'tap';
import { entryOf } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';
import { entriesPerRun, makeSparseLogs, sparsePayloadBytes } from './testing/sparse-logs.js';

const size = { logsCount: 200, ledgersCount: 50, logBytes: 1 << 20 };

/** A bookie that has 200 sealed logs of 1 MiB with 50 ledgers each. */
async function stopped(ledgerMapBytesMax: number): Promise<SimBookie> {
  const sim = new SimBookie({ limits: { ledgerMapBytesMax, ledgerCacheBytesMax: 1 << 18 }, config: { localScrubIntervalMs: 0 } });
  await sim.start();
  await sim.close();
  await sim.queue.complete(makeSparseLogs({ disk: sim.stoppedDisk(), ledgerDirectory: '/data/ledgers', ...size }));
  sim.disk.kill();
  return sim;
}

async function startCounting(sim: SimBookie): Promise<{ reads: number; bytes: number }> {
  const counted = { reads: 0, bytes: 0 };
  const starting = sim.begin();
  sim.disk.beforeOperation = ({ kind, path, bytes = 0 }) => {
    if (kind !== 'read' || !/\.(log|idx)$/.test(path)) return;
    counted.reads++;
    counted.bytes += bytes;
  };
  sim.bookie = await sim.queue.complete(starting);
  sim.disk.beforeOperation = undefined;
  return counted;
}

async function checkReads(t: Test, sim: SimBookie): Promise<void> {
  for (let i = 0; i < 100; i++) {
    const id = (((i * 37) % size.logsCount) * entriesPerRun + (i % entriesPerRun)) as EntryId;
    const reply = await sim.queue.complete(sim.service.read({ ledgerId: 0 as LedgerId, entryIds: [id], bytesMax: 1 << 20 }));
    t.ok(reply.entries[0]?.equals(entryOf(0, id, sparsePayloadBytes(size))), `entry ${id}`);
  }
  const last = size.logsCount * entriesPerRun - 1;
  t.strictSame(await sim.list(7), { code: 'OK', runs: [{ first: 0, last }] });
  t.ok((await sim.readLac(0)).lastEntry?.equals(entryOf(0, last, sparsePayloadBytes(size))));
  t.equal((await sim.read(3, [last + 1])).code, 'NO_ENTRY');
}

t.test(
  'bookie: start with many large logs → reads the end of each index, nothing of the logs; their ledger tables only while no map tells of them',
  async (t) => {
    const sim = await stopped(16 * 1024);
    const first = await startCounting(sim);
    // The end of each index, again with its ledger table, and that.
    t.ok(first.reads <= 3 * size.logsCount, `${first.reads} reads`);
    await checkReads(t, sim);
    await sim.close();
    const again = await startCounting(sim);
    t.ok(again.reads < size.logsCount * 1.2, `${again.reads} reads with maps`);
    t.ok(again.bytes < size.logsCount * 64 + 20 * 50 * 40, `${again.bytes} bytes with maps`);
    await checkReads(t, sim);
    const maps = await sim.ledgerFiles('.map');
    t.ok(maps.length > 1, `${maps.length} maps`);
    await sim.close();
  },
);

t.test('bookie: what ledger is in what log fits into memory → no maps, one read of the index and one of the log for an entry', async (t) => {
  const sim = await stopped(1 << 20);
  await startCounting(sim);
  t.strictSame(await sim.ledgerFiles('.map'), []);
  await checkReads(t, sim);
  await sim.close();
});
