import { type DaybookError, diskErrors } from '@daybook/runtime';
import t, { type Test } from 'tap';
import type { Bookie } from '../bookie-api.js';
import { endLimbo, type StoppedBookie } from '../repair-journals.js';
import { entryOf, testKey } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';
import { giveUpLogs, inspectLogs } from './damaged-logs.js';

const limits = { logBytesMax: 6 * 1024, openIndexBytesMax: 1 << 20, scrubIntervalMs: 0, readAheadBytes: 0, diskCheckIntervalMs: 1e9 };
const directories = { journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] };
const entriesCount = 60;

function stopped(sim: SimBookie): StoppedBookie {
  return { disk: sim.stoppedDisk(), ...directories };
}

const path = (logId: number, suffix: 'log' | 'idx' = 'log'): string => `/data/ledgers/${logId.toString(16).padStart(16, '0')}.${suffix}`;

/** Ledgers 1 and 2 over several sealed logs and an open one; the bookie is stopped. */
async function filled(): Promise<SimBookie> {
  const sim = new SimBookie({ limits });
  await sim.start();
  for (let first = 0; first < entriesCount; first += 10) for (const ledger of [1, 2]) await sim.append({ ledger, first, count: 10, bytes: 60 });
  await sim.flush();
  await sim.fence(2, testKey);
  await sim.close();
  return sim;
}

/** The entries that are served; the others must be answered with `code`. */
async function served(t: Test, sim: SimBookie, code: string): Promise<number> {
  let count = 0;
  for (const ledger of [1, 2]) {
    for (let id = 0; id < entriesCount; id++) {
      const reply = await sim.read(ledger, [id]);
      if (reply.code === 'OK' && reply.entries[0]?.equals(entryOf(ledger, id, 60))) count++;
      else if (reply.code !== code) t.equal(reply.code, code, `entry ${id} of ledger ${ledger}`);
    }
  }
  return count;
}

async function cut(sim: SimBookie, logId: number, bytes: number): Promise<void> {
  const file = await sim.queue.complete(sim.disk.open(path(logId)));
  await sim.queue.complete(file.truncate(bytes));
  await sim.queue.complete(file.sync());
  await sim.queue.complete(file.close());
}

const damages: Record<string, { damage: string; isKnown: boolean; kept: (count: number) => boolean; make: (sim: SimBookie) => Promise<void> }> = {
  'log file missing': {
    damage: 'missing',
    isKnown: true,
    kept: (count) => count > 40 && count < 120,
    make: async (sim) => {
      await sim.queue.complete(sim.disk.remove(path(1)));
      await sim.queue.complete(sim.disk.syncDirectory('/data/ledgers'));
    },
  },
  'log and index missing': {
    damage: 'missing',
    isKnown: false,
    kept: (count) => count > 40 && count < 120,
    make: async (sim) => {
      for (const suffix of ['log', 'idx'] as const) await sim.queue.complete(sim.disk.remove(path(1, suffix)));
      await sim.queue.complete(sim.disk.syncDirectory('/data/ledgers'));
    },
  },
  'sealed log cut off': { damage: 'short', isKnown: true, kept: (count) => count > 90 && count < 120, make: (sim) => cut(sim, 1, 4000) },
  'open log cut off': {
    damage: 'short',
    isKnown: true,
    kept: (count) => count > 110 && count < 120,
    make: async (sim) => {
      const logs = (await sim.queue.complete(sim.disk.list('/data/ledgers'))).filter((name) => name.endsWith('.log'));
      await cut(sim, logs.length, (sim.disk.peek(path(logs.length)) as Buffer).length - 100);
    },
  },
  'log and index damaged': {
    damage: 'holes',
    isKnown: false,
    kept: (count) => count === 119,
    make: async (sim) => {
      sim.disk.flipBit(path(1), (sim.disk.peek(path(1)) as Buffer).indexOf('1/5/0.'), 1);
      for (let at = 8; at < (sim.disk.peek(path(1, 'idx')) as Buffer).length; at += 16) sim.disk.flipBit(path(1, 'idx'), at, 1);
      await sim.start();
      // The index is made again, with a hole.
      await sim.queue.runFor(60_000);
      await sim.close();
    },
  },
};

for (const [name, { damage, isKnown, kept, make }] of Object.entries(damages)) {
  t.test(`entry logs, ${name} → nothing is called absent; what is lost is told, and given up: the bookie serves the rest again`, async (t) => {
    const sim = await filled();
    t.strictSame(await sim.queue.complete(inspectLogs(stopped(sim))), [], 'nothing wrong yet');
    sim.stoppedDisk();
    await make(sim);
    await sim.start();
    await sim.queue.runFor(60_000);
    const before = await served(t, sim, 'IO_ERROR');
    t.equal((await sim.read(1, [5000])).code, 'IO_ERROR');
    await sim.close();

    const bookie = stopped(sim);
    const [lost, ...others] = await sim.queue.complete(inspectLogs(bookie));
    t.strictSame(others, []);
    t.match(lost, { damage, areLedgersKnown: isKnown, lostBytes: Number });
    t.match(await sim.queue.complete(inspectLogs(bookie)), [lost], 'looking changes nothing');
    await sim.queue.complete(giveUpLogs(bookie));
    t.strictSame(await sim.queue.complete(inspectLogs(bookie)), []);

    await sim.start();
    await sim.queue.runFor(60_000);
    t.equal((sim.bookie as Bookie).status().isLimbo, true);
    const count = await served(t, sim, 'UNKNOWN_LEDGER_STATE');
    t.ok(kept(count) && count >= before, `${before}, then ${count} entries are served`);
    if (isKnown)
      t.equal(
        lost?.ledgers.reduce((sum, row) => sum + row.entriesCount, 0),
        2 * entriesCount - count,
        'what was told is what is lost',
      );
    t.equal((await sim.read(1, [5000])).code, 'UNKNOWN_LEDGER_STATE');
    for (let first = 0; first < entriesCount; first += 10) {
      t.equal(await sim.append({ ledger: 1, first, count: 10, bytes: 60, isRecovery: true }), 'OK', 'copied here again');
    }
    await sim.close();
    await sim.queue.complete(endLimbo(stopped(sim)));
    await sim.start();
    t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY', 'certain again');
    t.strictSame((await sim.list(1)).runs, [{ first: 0, last: entriesCount - 1 }]);
    t.ok((await served(t, sim, 'NO_ENTRY')) >= entriesCount);
    await sim.restart('none');
    t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY', 'also after another start');
    await sim.queue.complete((sim.bookie as Bookie).scrub());
    t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY', 'also after all of it was checked');
    await sim.close();
  });
}

t.test('entry logs: given up, then damaged once more → nothing is called absent again', async (t) => {
  const sim = await filled();
  const { make } = damages['log and index damaged'] as (typeof damages)[string];
  sim.stoppedDisk();
  await make(sim);
  const bookie = stopped(sim);
  await sim.queue.complete(giveUpLogs(bookie));
  await sim.queue.complete(endLimbo(bookie));
  await sim.start();
  t.equal((await sim.read(1, [5000])).code, 'NO_ENTRY');
  await sim.close();
  sim.stoppedDisk();
  sim.disk.flipBit(path(1), (sim.disk.peek(path(1)) as Buffer).indexOf('1/7/0.'), 1);
  for (let at = 8; at < (sim.disk.peek(path(1, 'idx')) as Buffer).length; at += 16) sim.disk.flipBit(path(1, 'idx'), at, 1);
  await sim.start();
  await sim.queue.runFor(60_000);
  t.equal((await sim.read(1, [5000])).code, 'IO_ERROR');
  await sim.close();
});

t.test('entry logs: index damaged alone → not to be given up, the bookie mends it; log unreadable as well → it is', async (t) => {
  const sim = await filled();
  const bookie = stopped(sim);
  sim.disk.flipBit(path(1, 'idx'), 100, 1);
  t.strictSame(await sim.queue.complete(inspectLogs(bookie)), []);
  sim.disk.beforeOperation = ({ kind, path: read }) => {
    if (kind === 'read' && read === path(1)) throw diskErrors.IO(read, 'bad sectors');
  };
  t.match(await sim.queue.complete(inspectLogs(bookie)), [{ logId: 1, damage: 'unreadable', why: /bad sectors/ }]);
});

/** What a start says of an entry that is not there. */
async function codeOfAbsent(sim: SimBookie): Promise<string> {
  try {
    await sim.start();
    const { code } = await sim.read(1, [5000]);
    await sim.close();
    return code;
  } catch (error) {
    sim.disk.kill();
    return (error as DaybookError).code;
  }
}

t.test('entry logs: giving up interrupted at every disk operation → nothing is called absent, and done by the next time', async (t) => {
  for (let crashAt = 0; ; crashAt++) {
    const sim = await filled();
    sim.stoppedDisk();
    await cut(sim, 1, 4000);
    await sim.queue.complete(sim.disk.remove(path(2)));
    await sim.queue.complete(sim.disk.syncDirectory('/data/ledgers'));
    const giving = giveUpLogs(stopped(sim));
    sim.disk.crashAfter(crashAt);
    await sim.settle(giving);
    const isComplete = !sim.disk.isDead;
    // While it is another bookie in one directory already and not yet in another one, it does not start.
    const code = isComplete ? undefined : await codeOfAbsent(sim);
    if (code !== undefined && !['IO_ERROR', 'UNKNOWN_LEDGER_STATE', 'BOOKIE_COOKIE_REFUSED'].includes(code)) t.fail(`crash at ${crashAt}: ${code}`);
    await sim.queue.complete(giveUpLogs(stopped(sim)));
    t.strictSame(await sim.queue.complete(inspectLogs(stopped(sim))), []);
    await sim.start();
    if (!(sim.bookie as Bookie).status().isLimbo) t.fail(`crash at ${crashAt}: not in limbo`);
    await served(t, sim, 'UNKNOWN_LEDGER_STATE');
    await sim.close();
    if (isComplete) {
      t.ok(crashAt > 20, `${crashAt} crash points`);
      return;
    }
  }
});
