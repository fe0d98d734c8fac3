import t, { type Test } from 'tap';
import { entryOf } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';
import { SimLedgers } from '../testing/sim-ledgers.js';

interface Scene {
  sim: SimBookie;
  ledgers: SimLedgers;
  /** That stay; 40 entries each. */
  kept: number[];
}

/** A bookie whose sealed logs are live for a tenth: of ten ledgers that lie side by side in each of them one stays. */
async function sparse(config = {}, limits = {}): Promise<Scene> {
  const ledgers = new SimLedgers();
  const sim = new SimBookie({
    config: { bookieId: 'bookie-1', gcWaitTime: 1e9, minorCompactionInterval: 0, majorCompactionInterval: 0, ...config },
    limits: { diskCheckIntervalMs: 1e9, writeCacheBytesMax: 64 * 1024, ...limits },
    metadata: ({ clock }) => ledgers.metadata(clock),
  });
  await sim.start();
  for (let ledger = 1; ledger <= 10; ledger++) ledgers.create(ledger);
  for (let round = 0; round < 10; round++) {
    for (let ledger = 1; ledger <= 10; ledger++) await sim.append({ ledger, first: round * 4, count: 4, bytes: 200 });
    await sim.flush();
  }
  await sim.queue.runFor(100);
  for (let ledger = 2; ledger <= 10; ledger++) ledgers.delete(ledger);
  return { sim, ledgers, kept: [1] };
}

async function checkKept(t: Test, { sim, kept }: Scene, when = ''): Promise<void> {
  for (const ledger of kept) {
    for (let id = 0; id < 40; id++)
      t.ok((await sim.read(ledger, [id])).entries[0]?.equals(entryOf(ledger, id, 200)), `entry ${id} of ${ledger} ${when}`);
    t.strictSame(await sim.list(ledger), { code: 'OK', runs: [{ first: 0, last: 39 }] }, when);
  }
}

const logs = ({ sim }: Scene) => sim.bookie!.garbageCollector.logs();
const status = ({ sim }: Scene) => sim.bookie!.garbageCollector.status();

t.test('compaction: sparse logs → one log with what is live, the old ones are gone, everything readable, also after restarts', async (t) => {
  const scene = await sparse();
  const before = logs(scene).length;
  t.ok(before >= 4, `${before} logs`);
  await scene.sim.collect();
  const check = async (when: string) => {
    await checkKept(t, scene, when);
    const [log, ...others] = logs(scene).filter(({ isCompacted }) => isCompacted);
    t.match(log, { state: 'open', isCompacted: true }, when);
    t.strictSame(others, [], when);
    t.equal((await scene.sim.ledgerFiles('.log')).length, logs(scene).length, `no files left over ${when}`);
  };
  await check('at once');
  t.match(status(scene).compactions.major, { count: 1, lastOutcome: { is: 'done' } });
  t.ok(status(scene).reclaimedBytes.compaction > 50_000);
  await scene.sim.restart('none');
  await check('after a power cut');
  await scene.sim.close();
  await scene.sim.start();
  await check('after a clean stop');
  await scene.sim.close();
});

t.test('compaction: goes on in the same log over runs and restarts until it is full; then in another one', async (t) => {
  const scene = await sparse({}, { logBytesMax: 16 * 1024 });
  const { sim, ledgers } = scene;
  const compacted = new Set<number>();
  for (let round = 0; round < 6; round++) {
    await sim.collect();
    for (const log of logs(scene)) if (log.isCompacted) compacted.add(log.logId);
    await sim.restart('none');
    for (const ledger of [20, 21, 22, 23]) {
      ledgers.create(ledger + round * 10);
      for (let first = 0; first < 16; first += 4) await sim.append({ ledger: ledger + round * 10, first, count: 4, bytes: 200 });
      await sim.flush();
    }
    await sim.queue.runFor(100);
    for (const ledger of [21, 22, 23]) ledgers.delete(ledger + round * 10);
  }
  t.ok(compacted.size > 1 && compacted.size < 5, `logs ${[...compacted]}`);
  await checkKept(t, scene);
  for (let round = 0; round < 6; round++) t.strictSame((await sim.list(20 + round * 10)).runs, [{ first: 0, last: 15 }]);
  await sim.close();
});

t.test('compaction: minor takes what is below its threshold, emptiest first, and leaves the rest to major', async (t) => {
  const scene = await sparse({ minorCompactionThreshold: 0.15 });
  const { sim, ledgers } = scene;
  for (const ledger of [2, 3, 4, 5]) ledgers.create(ledger);
  await sim.collect({ minor: true, major: false });
  const open = logs(scene).filter(({ isCompacted }) => isCompacted);
  t.strictSame(open, [], 'half of each log is live: nothing to do');
  for (const ledger of [2, 3, 4, 5]) ledgers.delete(ledger);
  await sim.collect({ minor: true, major: false });
  t.equal(logs(scene).filter(({ isCompacted }) => isCompacted).length, 1);
  t.match(status(scene).compactions, { minor: { count: 2 }, major: { count: 0 } });
  await checkKept(t, scene);
  await sim.close();
});

t.test('compaction: at its intervals, without anybody asking', async (t) => {
  const scene = await sparse({ gcWaitTime: 10_000, minorCompactionInterval: 60, majorCompactionInterval: 300 });
  await scene.sim.queue.runFor(50_000);
  t.match(status(scene).compactions, { minor: { count: 0 }, major: { count: 0 } });
  await scene.sim.queue.runFor(30_000);
  t.match(status(scene).compactions, { minor: { count: 1 }, major: { count: 0 } });
  await scene.sim.queue.runFor(300_000);
  t.ok(status(scene).compactions.major.count >= 1);
  await checkKept(t, scene);
  await scene.sim.close();
});

t.test('compaction: its rates in entries and bytes are kept', async (t) => {
  for (const [rates, msMin] of [
    [{ compactionRateByEntries: 10, compactionRateByBytes: 0 }, 3000],
    [{ compactionRateByEntries: 0, compactionRateByBytes: 5000 }, 1800],
  ] as const) {
    const scene = await sparse(rates);
    const startMs = scene.sim.queue.nowMs;
    await scene.sim.collect();
    t.ok(scene.sim.queue.nowMs - startMs >= msMin, `${JSON.stringify(rates)}: ${scene.sim.queue.nowMs - startMs} ms`);
    await checkKept(t, scene);
    await scene.sim.close();
  }
});

t.test('compaction: suspended half-way → what is moved stays moved, the log it was at stays; resumed, it goes on', async (t) => {
  const scene = await sparse({ compactionRateByEntries: 20 });
  const { sim } = scene;
  const collector = sim.bookie!.garbageCollector;
  const forced = collector.force();
  await sim.queue.runFor(700);
  t.match(collector.status(), { isForceGcRunning: true, compacting: 'major' });
  collector.suspend(['major', 'minor']);
  await sim.queue.complete(forced);
  t.match(collector.status(), { isForceGcRunning: false, compacting: undefined, suspended: { major: true, minor: true } });
  t.equal(collector.status().compactions.major.lastOutcome?.is, 'suspended');
  await checkKept(t, scene, 'suspended');
  const left = logs(scene).filter(({ liveShare = 1 }) => liveShare < 0.8).length;
  t.ok(left > 0, 'some are not done');
  await sim.collect();
  t.equal(collector.status().compactions.major.count, 1, 'suspended: not even when forced');
  collector.resume(['major', 'minor']);
  await sim.collect();
  t.equal(logs(scene).filter(({ liveShare = 1 }) => liveShare < 0.8).length, 0);
  await checkKept(t, scene, 'resumed');
  await sim.close();
});

t.test('compaction: suspended by the disk and by an operator → goes on when both let it', async (t) => {
  const { sim } = await sparse();
  const collector = sim.bookie!.garbageCollector;
  collector.suspend(['major'], 'operator');
  collector.suspend(['major'], 'disk');
  collector.resume(['major'], 'disk');
  t.strictSame(collector.status().suspended, { minor: false, major: true });
  await sim.collect({ major: true });
  t.equal(collector.status().compactions.major.count, 1, 'asked for by name it runs all the same');
  collector.resume(['major'], 'operator');
  t.strictSame(collector.status().suspended, { minor: false, major: false });
  await sim.close();
});

t.test('compaction: reads and appends while it runs → every read finds its entry, at every moment', async (t) => {
  const scene = await sparse({ compactionRateByEntries: 100 });
  const { sim } = scene;
  let isOver = false;
  const forced = sim.bookie!.garbageCollector.force().then(() => {
    isOver = true;
  });
  let reads = 0;
  let appended = 40;
  while (!isOver) {
    const id = reads % 40;
    const reply = await sim.read(1, [id]);
    if (!reply.entries[0]?.equals(entryOf(1, id, 200))) t.fail(`entry ${id}: ${reply.code}`);
    const listed = await sim.list(1);
    if (listed.code !== 'OK' || listed.runs[0]?.first !== 0 || listed.runs[0].last < 39) t.fail(`the list: ${JSON.stringify(listed)}`);
    if (reads++ % 10 === 0) await sim.append({ ledger: 1, first: appended++, count: 1, bytes: 200 });
  }
  await forced;
  t.ok(reads > 100, `${reads} reads`);
  await sim.close();
});

t.test('compaction: read under way while its log is switched and removed → answered from the new one', async (t) => {
  const scene = await sparse({}, { openFilesMax: 1, ledgerCacheBytesMax: 64 });
  const { sim } = scene;
  // So that a read takes longer than it takes to publish the list of logs and to remove the old one.
  sim.disk.setFaults({ readMs: { from: 0.02, to: 30 } });
  const collector = sim.bookie!.garbageCollector;
  const forced = collector.force();
  const pending: Promise<void>[] = [];
  for (let i = 0; i < 4000 && (i < 100 || collector.status().isForceGcRunning); i++) {
    const id = i % 40;
    const read = sim.service.read({ ledgerId: 1 as never, entryIds: [id as never], bytesMax: 1000 });
    pending.push(
      read.then((reply) => {
        if (!reply.entries[0]?.equals(entryOf(1, id, 200))) t.fail(`entry ${id}: ${reply.code}`);
      }),
    );
    if (i % 5 === 0) {
      const list = sim.service.listEntries(1 as never);
      pending.push(
        list.then((listed) => {
          if (listed.code !== 'OK' || listed.runs[0]?.last !== 39 || listed.runs.length > 1) t.fail(`the list: ${JSON.stringify(listed)}`);
        }),
      );
    }
    await sim.queue.runFor(1);
  }
  await sim.queue.complete(forced);
  await sim.queue.complete(Promise.all(pending));
  t.ok(pending.length >= 100, `${pending.length} reads`);
  await sim.close();
});

t.test(
  'compaction: damaged live entry without another copy → the log stays and is reported, three times, then once a day; the others are done',
  async (t) => {
    const scene = await sparse();
    const { sim } = scene;
    await sim.close();
    const disk = sim.stoppedDisk();
    const name = '/data/ledgers/0000000000000001.log';
    const at = disk.peek(name)!.indexOf('1/3/0.');
    t.ok(at > 0);
    disk.flipBit(name, at + 10, 3);
    disk.kill();
    await sim.start();
    await sim.queue.runFor(100);
    for (let round = 0; round < 5; round++) await sim.collect();
    const { failedLogs } = status(scene);
    t.match(failedLogs, [{ logId: 1, attempts: 3, isDamaged: true, why: /entry 3 of ledger 1/ }]);
    t.ok((await sim.ledgerFiles('.log')).includes('0000000000000001.log'));
    t.equal((await sim.read(1, [3])).code, 'IO_ERROR', 'never "not there"');
    for (const id of [0, 1, 2, 4, 20, 39]) t.ok((await sim.read(1, [id])).entries[0]?.equals(entryOf(1, id, 200)), `entry ${id}`);
    t.equal(logs(scene).filter(({ liveShare = 1 }) => liveShare < 0.8).length, 1, 'only the damaged one is left');
    await sim.queue.runFor(25 * 3_600_000);
    await sim.collect();
    t.equal(status(scene).failedLogs[0]?.attempts, 4);
    // Repair writes it again, from a replica.
    t.equal(await sim.append({ ledger: 1, first: 3, count: 1, bytes: 200, isRecovery: true }), 'OK');
    await sim.flush();
    await sim.queue.runFor(25 * 3_600_000);
    await sim.collect();
    t.strictSame(status(scene).failedLogs, []);
    t.notOk((await sim.ledgerFiles('.log')).includes('0000000000000001.log'));
    await checkKept(t, scene, 'after repair');
    await sim.close();
  },
);

t.test('compaction: damaged index → rebuilt from the log, then compacted; nothing is lost', async (t) => {
  const scene = await sparse();
  const { sim } = scene;
  await sim.close();
  const disk = sim.stoppedDisk();
  const name = '/data/ledgers/0000000000000001.idx';
  // In the block table, near the end.
  disk.flipBit(name, disk.peek(name)!.length - 64 - 10 * 40 - 20, 1);
  disk.kill();
  await sim.start();
  await sim.queue.runFor(100);
  for (let round = 0; round < 3; round++) {
    await sim.collect();
    await sim.queue.runFor(1000);
  }
  t.strictSame(status(scene).failedLogs, []);
  t.notOk((await sim.ledgerFiles('.log')).includes('0000000000000001.log'));
  await checkKept(t, scene);
  await sim.close();
});

t.test('compaction: a disk too full for what is live → nothing is begun; logs without anything live still go', async (t) => {
  const scene = await sparse();
  const { sim, ledgers } = scene;
  const { totalBytes, freeBytes } = await sim.queue.complete(sim.disk.usage('/data'));
  sim.disk.setCapacityBytes(totalBytes - freeBytes + 4096);
  await sim.collect();
  t.equal(status(scene).compactions.major.lastOutcome?.is, 'no space');
  ledgers.delete(1);
  await sim.collect();
  const { bytes } = logs(scene).reduce((sum, log) => ({ bytes: sum.bytes + log.bytes }), { bytes: 0 });
  t.ok(bytes < 1000, `${bytes} bytes`);
  await sim.close();
});

t.test('compaction: disk full half-way → what was written is given back, the log stays, the next run succeeds', async (t) => {
  const scene = await sparse({}, { compactionKeepFreeBytes: 0 });
  const { sim } = scene;
  let isArmed = true;
  sim.disk.beforeOperation = ({ kind, path, position = 0 }) => {
    if (!isArmed || kind !== 'write' || !path.endsWith('.log') || position === 0) return;
    isArmed = false;
    sim.disk.setCapacityBytes(1);
  };
  await sim.collect();
  t.notOk(isArmed);
  t.equal(status(scene).compactions.major.lastOutcome?.is, 'no space');
  await checkKept(t, scene, 'on a full disk');
  const compacted = logs(scene).filter(({ isCompacted }) => isCompacted);
  t.strictSame(compacted, [], 'nothing of it counts');
  sim.disk.setCapacityBytes(1 << 30);
  await sim.queue.runFor(120_000);
  await sim.collect();
  t.equal(status(scene).compactions.major.lastOutcome?.is, 'done');
  await checkKept(t, scene, 'with space again');
  await sim.close();
});
