import { below } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { Bookie } from '../bookie-api.js';
import { entryOf } from '../testing/batches.js';
import { crashPoints } from '../testing/crash-points.js';
import { SimBookie, type SimBookieOptions } from '../testing/sim-bookie.js';
import type { ScrubReport } from './scrubber.js';

const directory = '/data/ledgers';
const logPath = (logId: number): string => `${directory}/${String(logId).padStart(16, '0')}.log`;
const indexPath = (logId: number): string => logPath(logId).replace('.log', '.idx');
const entriesCount = 60;

/** Two ledgers, two sealed logs and an open one, nothing in the write cache. */
async function filled(options: SimBookieOptions = {}): Promise<SimBookie> {
  const limits = {
    logBytesMax: 6 * 1024,
    openIndexBytesMax: 1 << 20,
    scrubBytesPerSecond: 1 << 20,
    scrubIntervalMs: 0,
    readAheadBytes: 0,
    ...options.limits,
  };
  const sim = new SimBookie({ ...options, limits });
  await sim.start();
  for (let first = 0; first < entriesCount; first += 10) for (const ledger of [1, 2]) await sim.append({ ledger, first, count: 10, bytes: 60 });
  await sim.flush();
  return sim;
}

function scrub(sim: SimBookie): Promise<ScrubReport> {
  return sim.queue.complete((sim.bookie as Bookie).scrub());
}

/** Every entry, by its name, that is not served; each of those must be answered as unknown. */
async function unserved(sim: SimBookie): Promise<string[]> {
  const missing: string[] = [];
  for (const ledger of [1, 2]) {
    for (let id = 0; id < entriesCount; id++) {
      const { code, entries } = await sim.read(ledger, [id]);
      if (code === 'OK' && entries[0]?.equals(entryOf(ledger, id, 60))) continue;
      if (code !== 'IO_ERROR') throw new Error(`entry ${id} of ledger ${ledger}: ${code}`);
      missing.push(`${ledger}/${id}`);
    }
  }
  return missing;
}

t.test('scrubber: any flipped bit of any log or index → found in one pass: the entry listed, or the file put in order', async (t) => {
  const sim = await filled();
  const random = new SimRandom('bits');
  const clean = await scrub(sim);
  t.match(clean, { badEntriesCount: 0, rebuiltIndexes: [], failedLogs: [], harmlessCount: 0 });
  t.ok(clean.logsCount >= 3);
  const logs = sim.bookie?.status().scrub.last?.logsCount as number;
  for (let logId = 1; logId <= logs; logId++) {
    for (const path of [logPath(logId), indexPath(logId)]) {
      const size = (sim.disk.peek(path) as Buffer).length;
      for (let position = below(random, 5); position < size; position += 1 + below(random, 110)) {
        const bit = below(random, 8);
        if (!sim.disk.flipBit(path, position, bit)) break; // rebuilt, it is shorter
        const report = await scrub(sim);
        const findings = report.badEntriesCount + report.rebuiltIndexes.length + report.failedLogs.length;
        const isMended = path === logPath(logId) && position < 64;
        if (!isMended && findings !== 1) t.fail(`bit ${bit} at ${position} of ${path}: ${JSON.stringify(report)}`);
        const missing = await unserved(sim);
        if (missing.length !== report.badEntriesCount) t.fail(`bit ${bit} at ${position} of ${path}: ${missing} are missing`);
        if (path === logPath(logId) && !isMended) {
          t.strictSame(
            sim.bookie?.status().badEntries.map(({ ledgerId, entryId }) => `${ledgerId}/${entryId}`),
            missing,
          );
        }
        // An index that is written right now is in memory, and rebuilt when it is sealed.
        const isOpen = report.failedLogs.some((failed) => failed.logId === logId);
        if (report.badEntriesCount > 0 || isOpen) sim.disk.flipBit(path, position, bit);
        if ((await scrub(sim)).badEntriesCount > 0) t.fail('found again after it is whole again');
      }
    }
  }
  t.equal(sim.bookie?.status().badEntries.length, 0);
  await sim.close();
});

t.test('scrubber: rate → a pass takes as long as its bytes do, and is joined by whoever asks meanwhile', async (t) => {
  const sim = await filled({ limits: { scrubBytesPerSecond: 1000 } });
  const startMs = sim.queue.nowMs;
  const both = Promise.all([(sim.bookie as Bookie).scrub(), (sim.bookie as Bookie).scrub()]);
  await sim.queue.runFor(5000);
  const { isRunning, bytesDone } = (sim.bookie as Bookie).status().scrub;
  t.equal(isRunning, true);
  t.ok(bytesDone > 2000 && bytesDone <= 5000 + 256 * 1024);
  const [report, same] = await sim.queue.complete(both);
  t.equal(report, same);
  const seconds = (sim.queue.nowMs - startMs) / 1000;
  // Each piece is paid for before the next one is read.
  t.ok(seconds > report.bytes / 1300 && seconds < report.bytes / 900, `${report.bytes} bytes in ${seconds} s`);
  await sim.close();
});

t.test('scrubber: interval → passes by itself; ends with the bookie', async (t) => {
  const sim = await filled({ limits: { scrubIntervalMs: 100_000 } });
  await sim.queue.runFor(15_000);
  const first = sim.bookie?.status().scrub.last;
  t.ok(first, 'soon after the start');
  await sim.queue.runFor(110_000);
  t.not(sim.bookie?.status().scrub.last, first);
  const running = (sim.bookie as Bookie).scrub();
  running.catch(() => undefined);
  await sim.close();
  await t.rejects(running, { code: 'BOOKIE_CLOSED' });
});

t.test('scrubber: damaged entry written again by a recovery → served, and struck off', async (t) => {
  const found: string[] = [];
  const sim = await filled({ onBadEntry: ({ ledgerId, entryId }) => found.push(`${ledgerId}/${entryId}`) });
  sim.disk.flipBit(logPath(1), 200, 3);
  await scrub(sim);
  const [name] = await unserved(sim);
  t.strictSame(found, [name], 'told once, though scrubbed and read');
  const [ledger, first] = (name as string).split('/').map(Number) as [number, number];
  t.equal(await sim.append({ ledger, first, count: 1, bytes: 60, isRecovery: true }), 'OK');
  t.strictSame(await unserved(sim), []);
  await sim.flush();
  t.strictSame(await unserved(sim), [], 'the newer copy counts, from a log too');
  const report = await scrub(sim);
  t.match(report, { badEntriesCount: 0, harmlessCount: 1 });
  t.strictSame(sim.bookie?.status().badEntries, []);
  await sim.close();
});

t.test('scrubber: newer copy damaged → the older one is served', async (t) => {
  const sim = await filled();
  t.equal(await sim.append({ ledger: 1, first: 0, count: 1, bytes: 60, isRecovery: true }), 'OK');
  await sim.flush();
  const { logs } = { logs: (await sim.queue.complete(sim.disk.list(directory))).filter((name) => name.endsWith('.log')) };
  const path = `${directory}/${logs.at(-1)}`;
  const at = (sim.disk.peek(path) as Buffer).lastIndexOf('1/0/0.');
  sim.disk.flipBit(path, at, 0);
  t.strictSame(await unserved(sim), []);
  await sim.close();
});

for (const damage of ['flip', 'remove', 'truncate'] as const) {
  t.test(
    `index of a sealed log, ${damage} while stopped → the bookie starts, rebuilds it, and is certain again; power cut at every step`,
    async (t) => {
      const { step, offset } = crashPoints(t, 2);
      for (let crashAt = offset; ; crashAt += step) {
        const sim = await filled({ seed: crashAt });
        await sim.close();
        const disk = sim.stoppedDisk();
        const size = (disk.peek(indexPath(1)) as Buffer).length;
        if (damage === 'flip') disk.flipBit(indexPath(1), size - 70, 1);
        else if (damage === 'remove') await sim.queue.complete(disk.remove(indexPath(1)));
        else await sim.queue.complete((await sim.queue.complete(disk.open(indexPath(1)))).truncate(size - 100));
        disk.kill();
        await sim.start();
        sim.disk.crashAfter(crashAt, { keep: 'random' });
        await sim.queue.run({ until: () => sim.disk.isDead, untilMs: sim.queue.nowMs + 3000 });
        const isComplete = !sim.disk.isDead;
        sim.disk.crashAfter(Number.MAX_SAFE_INTEGER);
        if (!isComplete) {
          await sim.start();
          await sim.queue.runFor(3000);
        }
        if ((await unserved(sim)).length > 0) t.fail(`crash at ${crashAt}: not rebuilt`);
        t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
        t.equal((await scrub(sim)).rebuiltIndexes.length, 0);
        await sim.close();
        await sim.start();
        if ((await unserved(sim)).length > 0) t.fail(`crash at ${crashAt}: not there after another start`);
        await sim.close();
        if (isComplete) {
          t.ok(crashAt > 5, `${crashAt} operations, every ${step}. a crash point`);
          break;
        }
      }
    },
  );
}

t.test('index of the log that was written, damaged while stopped → rebuilt as that of a sealed one', async (t) => {
  const sim = await filled();
  await sim.close();
  const disk = sim.stoppedDisk();
  const last = (await sim.queue.complete(disk.list(directory))).filter((name) => name.endsWith('.idx')).at(-1) as string;
  disk.flipBit(`${directory}/${last}`, 100, 1);
  disk.kill();
  await sim.start();
  await sim.queue.runFor(3000);
  t.strictSame(await unserved(sim), []);
  t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
  await sim.restart('none');
  t.strictSame(await unserved(sim), []);
  await sim.close();
});

t.test('index damaged under a running bookie → a read meets it, it is rebuilt, the next read finds the entry', async (t) => {
  const sim = await filled({ limits: { ledgerCacheBytesMax: 300 } });
  const size = (sim.disk.peek(indexPath(1)) as Buffer).length;
  for (let position = Math.floor(size / 2); position < size - 300; position += 20) sim.disk.flipBit(indexPath(1), position, 1);
  const before = await unserved(sim);
  t.ok(before.length > 0);
  await sim.queue.runFor(1000);
  t.strictSame(await unserved(sim), []);
  await sim.close();
});

t.test('index and entry damaged together → a hole: nothing can be said not to be there, over restarts too', async (t) => {
  const sim = await filled();
  await sim.close();
  const disk = sim.stoppedDisk();
  await sim.queue.complete(disk.remove(indexPath(1)));
  disk.flipBit(logPath(1), 200, 3);
  disk.kill();
  await sim.start();
  await sim.queue.runFor(3000);
  for (let start = 0; start < 2; start++) {
    t.equal((await unserved(sim)).length, 1);
    t.equal((await sim.read(1, [5000])).code, 'IO_ERROR');
    t.equal((await scrub(sim)).rebuiltIndexes.length, 0, 'it is as good as it gets');
    await sim.restart('none');
  }
  await sim.close();
});

t.test('entry damaged, index damaged elsewhere → rebuilt index still knows whose the entry is', async (t) => {
  const sim = await filled();
  sim.disk.flipBit(logPath(1), 68, 3);
  sim.disk.flipBit(indexPath(1), (sim.disk.peek(indexPath(1)) as Buffer).length - 70, 1);
  const report = await scrub(sim);
  t.match(report, { badEntriesCount: 1, rebuiltIndexes: [1] });
  t.equal((await unserved(sim)).length, 1);
  t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY', 'no hole');
  await sim.close();
});
