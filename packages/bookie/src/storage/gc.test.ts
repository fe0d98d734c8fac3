import type { BookieId } from '@daybook/proto';
import t, { type Test } from 'tap';
import { entryOf, testKey } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';
import { metadataOf, SimLedgers, unavailable } from '../testing/sim-ledgers.js';

interface Made {
  sim: SimBookie;
  ledgers: SimLedgers;
}

/** A bookie with `count` ledgers of 40 entries each over several logs, all known to metadata, old enough to be collected. */
async function made(count = 4, config = {}, limits = {}): Promise<Made> {
  const ledgers = new SimLedgers();
  const sim = new SimBookie({
    config: { bookieId: 'bookie-1', ...config },
    limits: { diskCheckIntervalMs: 1e9, ...limits },
    metadata: ({ clock }) => ledgers.metadata(clock),
  });
  await sim.start();
  for (let ledger = 1; ledger <= count; ledger++) ledgers.create(ledger);
  for (let round = 0; round < 10; round++) {
    for (let ledger = 1; ledger <= count; ledger++) await sim.append({ ledger, first: round * 4, count: 4, bytes: 200 });
    if (round % 3 === 2) await sim.flush();
  }
  await sim.flush();
  await sim.queue.runFor(100);
  return { sim, ledgers };
}

async function checkLedger(t: Test, sim: SimBookie, ledger: number, when = ''): Promise<void> {
  for (let id = 0; id < 40; id++)
    t.ok((await sim.read(ledger, [id])).entries[0]?.equals(entryOf(ledger, id, 200)), `entry ${id} of ${ledger} ${when}`);
}

t.test(
  'garbage collection: ledger gone from metadata → answers NO_LEDGER, its space is back, also after a power cut; others untouched',
  async (t) => {
    const { sim, ledgers } = await made();
    const before = sim.bookie!.garbageCollector.logs().reduce((sum, log) => sum + log.bytes, 0);
    for (const ledger of [1, 3]) ledgers.delete(ledger);
    await sim.collect();
    const check = async (when: string) => {
      for (const ledger of [1, 3]) t.equal((await sim.read(ledger, [0])).code, 'NO_LEDGER', when);
      for (const ledger of [2, 4]) await checkLedger(t, sim, ledger, when);
      const logs = sim.bookie!.garbageCollector.logs();
      const bytes = logs.reduce((sum, log) => sum + log.bytes, 0);
      t.ok(bytes < before * 0.55, `${bytes} of ${before} bytes ${when}`);
      t.strictSame((await sim.ledgerFiles('.log')).length, logs.length, `no file is left over ${when}`);
    };
    await check('at once');
    t.match(sim.bookie!.garbageCollector.status(), {
      isForceGcRunning: false,
      isRunning: false,
      deletedLedgers: 2,
      runs: 1,
      isLastRunComplete: true,
    });
    await sim.restart('none');
    await check('after a power cut');
    await sim.close();
  },
);

t.test('garbage collection: all ledgers gone → no entry log is left, without new traffic', async (t) => {
  const { sim, ledgers } = await made();
  for (let ledger = 1; ledger <= 4; ledger++) ledgers.delete(ledger);
  const highest = Number.parseInt((await sim.ledgerFiles('.log')).at(-1) as string, 16);
  await sim.collect();
  await sim.collect();
  t.strictSame(await sim.ledgerFiles('.log'), []);
  t.strictSame(await sim.ledgerFiles('.idx'), []);
  await sim.append({ ledger: 9, first: 0, count: 1 });
  await sim.flush();
  const [name] = await sim.ledgerFiles('.log');
  t.ok(Number.parseInt(name as string, 16) > highest, `ids are not used again: ${name}`);
  await sim.close();
});

t.test('garbage collection: by itself at its interval, idle logs sealed → space comes back without anybody asking', async (t) => {
  const { sim, ledgers } = await made(2, { gcWaitTime: 60_000, entryLogRollIdleMs: 120_000 });
  ledgers.delete(1);
  ledgers.delete(2);
  await sim.queue.runFor(61_000);
  t.equal((await sim.read(1, [0])).code, 'NO_LEDGER');
  t.equal((await sim.ledgerFiles('.log')).length, 1, 'only the log that is still open');
  await sim.queue.runFor(200_000);
  t.strictSame(await sim.ledgerFiles('.log'), []);
  await sim.close();
});

t.test('garbage collection: anything doubtful about the listing → nothing is deleted', async (t) => {
  const doubts: Record<string, (ledgers: SimLedgers) => void> = {
    'the listing fails at its beginning': (ledgers) => {
      ledgers.onCall = ({ kind }) => {
        if (kind === 'list') throw unavailable();
      };
    },
    'the listing fails half-way': (ledgers) => {
      ledgers.onCall = ({ kind, ledgerId }) => {
        if (kind === 'next' && ledgerId === 4) throw unavailable();
      };
    },
    'the listing fails after the last ledger': (ledgers) => {
      ledgers.onCall = ({ kind, ledgerId }) => {
        if (kind === 'next' && ledgerId === undefined) throw unavailable();
      };
    },
    'the read fails': (ledgers) => {
      ledgers.onCall = ({ kind }) => {
        if (kind === 'read') throw unavailable();
      };
    },
    'the metadata is of another cluster': (ledgers) => {
      ledgers.instanceId = 'cluster-2';
    },
    'the metadata becomes that of another cluster meanwhile': (ledgers) => {
      ledgers.onCall = ({ kind }) => {
        if (kind === 'list') ledgers.instanceId = 'cluster-2';
      };
    },
  };
  for (const [name, doubt] of Object.entries(doubts)) {
    const { sim, ledgers } = await made();
    ledgers.delete(1);
    ledgers.delete(2);
    doubt(ledgers);
    await sim.collect();
    for (const ledger of [1, 2, 3, 4]) await checkLedger(t, sim, ledger, name);
    const status = sim.bookie!.garbageCollector.status();
    t.match(status, { deletedLedgers: 0, isLastRunComplete: false }, name);
    t.match(status.lastError, /METADATA|metadata/, name);
    ledgers.onCall = () => undefined;
    ledgers.instanceId = 'cluster-1';
    await sim.collect();
    t.equal((await sim.read(1, [0])).code, 'NO_LEDGER', `${name}: the next round works`);
    await sim.close();
  }
});

t.test('garbage collection: a listing without a ledger that the store knows → it stays, as the store is asked for it', async (t) => {
  const { sim, ledgers } = await made();
  const { list } = ledgers;
  ledgers.list = async function* () {
    for await (const id of list.call(ledgers)) if (id !== 2) yield id;
  };
  await sim.collect();
  await checkLedger(t, sim, 2);
  t.equal(sim.bookie!.garbageCollector.status().deletedLedgers, 0);
  await sim.close();
});

t.test('garbage collection: a listing out of order → refused', async (t) => {
  const { sim, ledgers } = await made();
  ledgers.list = async function* () {
    yield 2 as never;
    yield 1 as never;
  };
  await sim.collect();
  t.match(sim.bookie!.garbageCollector.status(), { deletedLedgers: 0, lastError: /ledger 1 comes after ledger 2/ });
  await sim.close();
});

t.test('garbage collection: an error at the second of three → the first is gone, the rest stays, the run is over', async (t) => {
  const { sim, ledgers } = await made();
  for (const ledger of [1, 2, 3]) ledgers.delete(ledger);
  ledgers.onCall = ({ kind, ledgerId }) => {
    if (kind === 'read' && ledgerId === 2) throw unavailable();
  };
  await sim.collect();
  t.equal((await sim.read(1, [0])).code, 'NO_LEDGER');
  for (const ledger of [2, 3, 4]) await checkLedger(t, sim, ledger);
  await sim.close();
});

t.test('garbage collection: ledger made here a moment ago → kept, as the metadata server asked may be behind', async (t) => {
  const { sim } = await made(1, {}, { gcLedgerAgeMsMin: 60_000 });
  await sim.append({ ledger: 50, first: 0, count: 1 });
  await sim.collect();
  t.equal((await sim.read(50, [0])).code, 'OK');
  await sim.queue.runFor(60_000);
  await sim.collect();
  t.equal((await sim.read(50, [0])).code, 'NO_LEDGER');
  await sim.close();
});

t.test(
  'garbage collection: deleted ledger that was fenced → late appends are refused as fenced for 7 days, over restarts; others make it again',
  async (t) => {
    const { sim, ledgers } = await made(3);
    await sim.fence(1, testKey);
    ledgers.delete(1);
    ledgers.delete(2);
    await sim.collect();
    const check = async (when: string) => {
      t.equal(await sim.append({ ledger: 1, first: 40, count: 1 }), 'FENCED', when);
      t.equal((await sim.read(1, [0])).code, 'NO_LEDGER', when);
      t.equal((await sim.readLac(1)).code, 'NO_LEDGER', when);
      t.equal((await sim.fence(1, testKey)).code, 'NO_LEDGER', `${when}: a fence finds it fenced and without entries`);
    };
    await check('at once');
    await sim.restart('none');
    await check('after a power cut');
    await sim.close();
    await sim.start();
    await check('after a clean stop');
    t.equal(await sim.append({ ledger: 2, first: 40, count: 1 }), 'OK', 'nobody was shut out of this one');
    await sim.queue.runFor(7 * 24 * 3_600_000 + 3_600_000);
    t.equal(await sim.append({ ledger: 1, first: 40, count: 1 }), 'OK', 'forgotten after 7 days');
    await sim.close();
  },
);

t.test(
  'garbage collection: repair brings a deleted, fenced ledger back → recovery appends pass, it is still fenced, old entries left in logs count again',
  async (t) => {
    const { sim, ledgers } = await made(2);
    await sim.fence(1, testKey);
    ledgers.delete(1);
    await sim.collect({ major: false, minor: false });
    ledgers.create(1);
    t.equal(await sim.append({ ledger: 1, first: 0, count: 40, bytes: 100, isRecovery: true }), 'OK');
    t.equal(await sim.append({ ledger: 1, first: 40, count: 1 }), 'FENCED');
    await sim.restart('none');
    t.equal(await sim.append({ ledger: 1, first: 40, count: 1 }), 'FENCED', 'after a power cut');
    await sim.collect();
    await sim.collect();
    const listed = await sim.list(1);
    t.strictSame(listed, { code: 'OK', runs: [{ first: 0, last: 39 }] });
    for (let id = 0; id < 40; id++) t.equal((await sim.read(1, [id])).code, 'OK');
    await sim.close();
  },
);

t.test('garbage collection: closed ledger of other bookies → deleted once a day; open, own, or recently copied ones stay', async (t) => {
  const { sim, ledgers } = await made(5, { gcWaitTime: 600_000 });
  const others = { ...metadataOf(['bookie-2' as BookieId]), state: 'CLOSED' as const };
  ledgers.create(1, others);
  ledgers.create(2, { ...others, state: 'IN_RECOVERY' });
  ledgers.create(3, { ...others, segments: [...others.segments, { firstEntryId: 9 as never, ensemble: ['bookie-1' as BookieId] }] });
  ledgers.create(4, others);
  await sim.queue.runFor(86_395_000);
  t.equal((await sim.read(1, [0])).code, 'OK', 'not before a day is over');
  await sim.append({ ledger: 4, first: 40, count: 1, isRecovery: true });
  await sim.queue.runFor(600_000);
  t.equal((await sim.read(1, [0])).code, 'NO_LEDGER');
  for (const ledger of [2, 3, 4, 5]) await checkLedger(t, sim, ledger);
  await sim.queue.runFor(86_400_000 + 600_000);
  t.equal((await sim.read(4, [0])).code, 'NO_LEDGER', 'a day later');
  await sim.close();
});

t.test('garbage collection: ledger in repair, or changed while the guard was waited for → stays', async (t) => {
  for (const guard of ['refused', 'metadata changes'] as const) {
    const ledgers = new SimLedgers();
    const others = { ...metadataOf(['bookie-2' as BookieId]), state: 'CLOSED' as const };
    let released = 0;
    const sim = new SimBookie({
      config: { bookieId: 'bookie-1' },
      limits: { diskCheckIntervalMs: 1e9 },
      metadata: ({ clock }) => ({
        ...ledgers.metadata(clock),
        guardReplication: async (ledgerId) => {
          if (guard === 'refused') return undefined;
          ledgers.create(ledgerId);
          return {
            release: async () => {
              released++;
            },
          };
        },
      }),
    });
    await sim.start();
    ledgers.create(1, others);
    for (let first = 0; first < 40; first += 10) await sim.append({ ledger: 1, first, count: 10, bytes: 200 });
    await sim.queue.runFor(2 * 86_400_000);
    await checkLedger(t, sim, 1, guard);
    if (guard !== 'refused') t.equal(released, 1);
    await sim.close();
  }
});

t.test('garbage collection: reads of metadata are limited in rate', async (t) => {
  const { sim, ledgers } = await made(30, { gcMetadataOpRateLimit: 10 });
  for (let ledger = 1; ledger <= 30; ledger++) ledgers.delete(ledger);
  const times: number[] = [];
  ledgers.onCall = ({ kind }) => {
    if (kind === 'read') times.push(sim.queue.nowMs);
  };
  await sim.collect();
  t.equal(times.length, 30);
  t.ok((times.at(-1) as number) - (times[0] as number) >= 2800, `${times.length} reads in ${(times.at(-1) as number) - (times[0] as number)} ms`);
  await sim.close();
});
