import { metadataErrors } from '@daybook/metadata';
import type { BookieId, EntryId, LedgerMetadata } from '@daybook/proto';
import t, { type Test } from 'tap';
import { SimBookie } from '../testing/sim-bookie.js';
import { SimLedgers, unavailable } from '../testing/sim-ledgers.js';

const password = Buffer.from('secret');
const closed = (lastEntryId: number): Partial<LedgerMetadata> => ({ state: 'CLOSED', lastEntryId: lastEntryId as EntryId, password });
const elsewhere = [{ firstEntryId: 0 as EntryId, ensemble: ['bookie-2' as BookieId] }];

/** Has had entries of ledgers 1 (closed since) and 2 (still open), and comes up on empty disks. Ledger 3 is none of its business. */
async function wiped(): Promise<{ sim: SimBookie; ledgers: SimLedgers }> {
  const ledgers = new SimLedgers();
  const config = { bookieId: 'bookie-1', dataIntegrityChecking: true };
  const sim = new SimBookie({ config, metadata: (sim) => ledgers.metadata(sim.clock) });
  ledgers.create(1, { password });
  ledgers.create(2, { password });
  ledgers.create(3, { password, segments: elsewhere });
  await sim.start();
  for (const ledger of [1, 2]) await sim.append({ ledger, first: 0, count: 3 });
  ledgers.create(1, closed(2));
  sim.disk.crash({ keep: 'all' });
  const disk = sim.stoppedDisk();
  for (const directory of ['/data/journal', '/data/ledgers']) {
    for (const name of await sim.queue.complete(disk.list(directory))) {
      if (name !== 'lock') await sim.queue.complete(disk.remove(`${directory}/${name}`));
    }
  }
  await sim.start();
  return { sim, ledgers };
}

function status(sim: SimBookie) {
  const { isLimbo, isReadOnly, limboLedgersCount } = sim.bookie?.status() ?? {};
  return { isLimbo, isReadOnly, limboLedgersCount };
}

const everything = { isLimbo: true, isReadOnly: true, limboLedgersCount: undefined };
const over = { isLimbo: false, isReadOnly: false, limboLedgersCount: 0 };

async function expectCode(t: Test, sim: SimBookie, ledger: number, entry: number, code: string): Promise<void> {
  t.equal((await sim.read(ledger, [entry])).code, code, `entry ${entry} of ledger ${ledger}`);
}

t.test('limbo: at first of everything; then of the ledgers that name the bookie, and others are served as ever', async (t) => {
  const { sim } = await wiped();
  t.same(status(sim), everything);
  await expectCode(t, sim, 3, 0, 'UNKNOWN_LEDGER_STATE');
  t.equal(await sim.append({ ledger: 50, first: 0, count: 1 }), 'READ_ONLY');
  await sim.queue.runFor(1_000);
  t.same(status(sim), { isLimbo: true, isReadOnly: false, limboLedgersCount: 2 });
  await expectCode(t, sim, 3, 0, 'NO_LEDGER');
  t.equal(await sim.append({ ledger: 50, first: 0, count: 1 }), 'OK');
  for (const ledger of [1, 2]) {
    await expectCode(t, sim, ledger, 0, 'UNKNOWN_LEDGER_STATE');
    t.equal(await sim.append({ ledger, first: 3, count: 1 }), 'READ_ONLY', 'nothing from writers');
    t.equal((await sim.list(ledger)).code, 'UNKNOWN_LEDGER_STATE');
  }
  await sim.restart('all');
  t.same(status(sim), everything, 'after a restart it finds out again');
  await sim.queue.runFor(1_000);
  t.same(status(sim), { isLimbo: true, isReadOnly: false, limboLedgersCount: 2 });
  await sim.close();
});

t.test('limbo: a ledger is copied back → it leaves limbo, fenced again; the last one → over, also after a restart', async (t) => {
  const { sim, ledgers } = await wiped();
  await sim.queue.runFor(1_000);
  t.equal(await sim.append({ ledger: 1, first: 0, count: 2, isRecovery: true }), 'OK');
  t.match(await sim.list(1), { code: 'UNKNOWN_LEDGER_STATE', runs: [{ first: 0, last: 1 }] }, 'it tells what it has');
  await sim.queue.runFor(12_000);
  await expectCode(t, sim, 1, 9, 'UNKNOWN_LEDGER_STATE');
  t.equal(await sim.append({ ledger: 1, first: 2, count: 1, isRecovery: true }), 'OK');
  await sim.queue.runFor(6_000);
  await expectCode(t, sim, 1, 9, 'NO_ENTRY');
  await expectCode(t, sim, 1, 2, 'OK');
  t.equal((await sim.list(1)).code, 'OK');
  t.equal(await sim.append({ ledger: 1, first: 3, count: 1 }), 'FENCED', 'a writer that was shut out does not come back');
  t.same(status(sim), { isLimbo: true, isReadOnly: false, limboLedgersCount: 1 });
  ledgers.create(2, closed(-1));
  await sim.queue.runFor(6_000);
  t.same(status(sim), over);
  t.equal(await sim.append({ ledger: 2, first: 0, count: 1 }), 'FENCED');
  await sim.restart('none');
  t.same(status(sim), over);
  t.equal(await sim.append({ ledger: 2, first: 0, count: 1 }), 'FENCED', 'the fence lasts');
  await sim.close();
});

t.test('limbo: its ledgers are deleted, or moved to others → it is over', async (t) => {
  const { sim, ledgers } = await wiped();
  await sim.queue.runFor(1_000);
  ledgers.delete(1);
  ledgers.create(2, { password, segments: elsewhere });
  await sim.queue.runFor(6_000);
  t.same(status(sim), over);
  await expectCode(t, sim, 1, 0, 'NO_LEDGER');
  await sim.close();
});

t.test('limbo: metadata fails, is unreadable, or that of another cluster → nothing is concluded from it', async (t) => {
  const { sim, ledgers } = await wiped();
  ledgers.onCall = ({ kind, ledgerId }) => {
    if (kind === 'read' && ledgerId === 3) throw unavailable();
  };
  await sim.queue.runFor(20_000);
  t.same(status(sim), everything);
  ledgers.onCall = () => undefined;
  ledgers.instanceId = 'cluster-2';
  await sim.queue.runFor(20_000);
  t.same(status(sim), everything);
  ledgers.instanceId = 'cluster-1';
  ledgers.onCall = ({ kind, ledgerId }) => {
    if (kind === 'read' && ledgerId === 3) throw metadataErrors.CORRUPT('/ledgers/3', 'simulated');
  };
  await sim.queue.runFor(6_000);
  t.equal(status(sim).limboLedgersCount, 3, 'nobody can read whether it names this bookie');
  await expectCode(t, sim, 3, 0, 'UNKNOWN_LEDGER_STATE');
  ledgers.onCall = () => undefined;
  await sim.queue.runFor(6_000);
  t.equal(status(sim).limboLedgersCount, 2);
  await sim.close();
});

t.test('limbo: the bookie ends while it looks → it ends at once', async (t) => {
  const { sim } = await wiped();
  await sim.close();
  t.ok(sim.queue.nowMs < 60_000);
});
