import { metadataErrors, paths } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { RepairWorld } from './testing/repair-world.js';
import type { RepairWork } from './under-replication.js';

const b1 = 'b1' as BookieId;
const b2 = 'b2' as BookieId;
const ledger = 123 as LedgerId;
const path = '/ledgers/underreplication/ledgers/0000/0000/0000/007b/urL0000000123';

async function listOf(ids: AsyncIterable<LedgerId>): Promise<number[]> {
  const out: number[] = [];
  for await (const id of ids) out.push(id);
  return out;
}

t.test('under-replication: prepared → the keys and texts of BookKeeper; another layout → refused', async (t) => {
  const world = new RepairWorld();
  const { store } = world.admin.parts;
  await world.tools();
  t.equal((await world.run(store.get('/ledgers/underreplication/LAYOUT')))?.value.toString(), 'type: "BASIC"\nversion: 1\n');
  t.ok(await world.run(store.get('/ledgers/underreplication/ledgers')));
  t.ok(await world.run(store.get('/ledgers/underreplication/locks')));
  await world.run(store.put('/ledgers/underreplication/LAYOUT', Buffer.from('type: "FANCY"\n'), 'any'));
  await t.rejects(world.tools(), { code: 'REPAIR_UNKNOWN_LAYOUT' });
});

t.test('under-replication: two bookies marked → one mark with both, a new version each time, also for the same one', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  await world.run(underReplication.mark(ledger, [b1]));
  await world.run(underReplication.mark(ledger, [b2]));
  const value = (await world.run(world.admin.parts.store.get(path)))?.value.toString() ?? '';
  t.match(value, /^replica: "b1"\nreplica: "b2"\nctime: \d+\n$/);
  await world.run(underReplication.mark(ledger, [b2], { isDamaged: true }));
  await world.run(underReplication.mark(ledger, [b1]));
  const marked = await world.run(underReplication.read(ledger));
  t.match(marked, { version: 3, mark: { replicas: ['b1', 'b2'], isDamaged: true } });
});

t.test('under-replication: two auditors mark at the same time → nothing is lost', async (t) => {
  const world = new RepairWorld({ seed: 5 });
  const faults = { delayMsMax: 20, lostReplies: 100, lostRequests: 100 };
  const nodes = [world.addNode(), world.addNode()] as const;
  const one = await world.tools(nodes[0]);
  const other = await world.tools(nodes[1]);
  for (const node of nodes) node.session.setFaults(faults);
  const marks = [1, 2, 3].flatMap((i) => [
    one.underReplication.mark(ledger, [`a${i}` as BookieId]),
    other.underReplication.mark(ledger, [`c${i}` as BookieId]),
  ]);
  await world.run(Promise.all(marks));
  for (const node of nodes) node.session.setFaults({ delayMsMax: 0, lostReplies: 0, lostRequests: 0 });
  t.same([...((await world.run(one.underReplication.read(ledger)))?.mark.replicas ?? [])].sort(), ['a1', 'a2', 'a3', 'c1', 'c2', 'c3']);
});

t.test('under-replication: listed → all ids ascending, those beyond 2^53 and strange keys left out', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  for (const id of [5_000_000_000, 0, 123, 70_000]) await world.run(underReplication.mark(id as LedgerId, [b1]));
  const { store } = world.admin.parts;
  await world.run(store.put(paths.underreplicatedLedger(9_223_372_036_854_775_807n), Buffer.from(''), 'absent'));
  await world.run(store.put(`${paths.underreplicatedLedgers}/0000/strange`, Buffer.from(''), 'absent'));
  t.same(await world.run(listOf(underReplication.list())), [0, 123, 70_000, 5_000_000_000]);
  t.equal(await world.run(underReplication.count()), 4);
});

t.test('under-replication: taken → locked, with what the mark says then; two workers share the list', async (t) => {
  const world = new RepairWorld();
  const one = (await world.tools()).underReplication;
  const other = (await world.tools()).underReplication;
  t.equal(await world.run(one.take()), undefined);
  for (const id of [1, 2, 3]) await world.run(one.mark(id as LedgerId, [b1]));
  const works = [await world.run(one.take()), await world.run(other.take()), await world.run(one.take())] as RepairWork[];
  t.same(works.map(({ ledgerId }) => ledgerId).sort(), [1, 2, 3]);
  t.equal(await world.run(other.take()), undefined);
  await world.run((works[0] as RepairWork).lock.release());
  t.equal((await world.run(other.take((id) => id !== works[0]?.ledgerId)))?.ledgerId, works[0]?.ledgerId);
});

t.test('under-replication: in random order → workers do not all begin with the same ledger', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  for (let id = 0; id < 20; id++) await world.run(underReplication.mark(id as LedgerId, [b1]));
  const firsts = new Set<number>();
  for (let i = 0; i < 12; i++) {
    const work = (await world.run(underReplication.take())) as RepairWork;
    firsts.add(work.ledgerId);
    await world.run(work.lock.release());
  }
  t.ok(firsts.size >= 4, `${firsts.size} different`);
});

t.test('under-replication: repaired by another between look and lock → not taken again', async (t) => {
  const world = new RepairWorld();
  const one = (await world.tools()).underReplication;
  const node = world.addNode();
  const other = (await world.tools(node)).underReplication;
  await world.run(one.mark(ledger, [b1]));
  const work = (await world.run(one.take())) as RepairWork;
  // The other one has just listed the locks (none), then this one finishes before it gets the lock.
  await world.run(work.lock.release());
  const realTryLock = other.locks.tryLock.bind(other.locks);
  other.locks.tryLock = async (id) => {
    await one.done(work);
    return realTryLock(id);
  };
  t.equal(await world.run(other.take()), undefined);
  t.equal(await world.run(other.locks.holder(ledger)), undefined, 'and the lock is given back');
});

t.test('under-replication: done → the mark and the empty keys above it are gone', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  await world.run(underReplication.mark(ledger, [b1]));
  await world.run(underReplication.mark(124 as LedgerId, [b1]));
  const work = (await world.run(underReplication.take((id) => id !== ledger))) as RepairWork;
  t.equal(await world.run(underReplication.done(work)), true);
  t.equal(await world.run(world.admin.session.get(path.slice(0, path.lastIndexOf('/')))), undefined);
  t.equal(await world.run(underReplication.count()), 1);
  t.equal(await world.run(underReplication.done(work)), true, 'again');
});

t.test('under-replication: marked again while it was repaired → the mark stays', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  await world.run(underReplication.mark(ledger, [b1]));
  const work = (await world.run(underReplication.take())) as RepairWork;
  await world.run(underReplication.mark(ledger, [b1]));
  t.equal(await world.run(underReplication.done(work)), false);
  t.ok(await world.run(underReplication.read(ledger)));
});

t.test('under-replication: gone and marked anew with the same version number, before the lock → the new mark is taken', async (t) => {
  const world = new RepairWorld();
  const { underReplication } = await world.tools();
  await world.run(underReplication.mark(ledger, [b1]));
  const old = await world.run(underReplication.read(ledger));
  await world.run(underReplication.done(old as RepairWork));
  await world.run(underReplication.mark(ledger, [b2]));
  t.match(await world.run(underReplication.take()), { version: 0, mark: { replicas: ['b2'] } });
});

t.test('settings: switch, delay, check times, draining bookies → written, read, forgotten', async (t) => {
  const world = new RepairWorld();
  const { settings } = await world.tools();
  const { store } = world.admin.parts;
  t.equal(await world.run(settings.isEnabled()), true);
  await world.run(settings.setEnabled(false));
  await world.run(settings.setEnabled(false));
  t.equal((await world.run(store.get('/ledgers/underreplication/disable')))?.value.length, 0);
  t.equal(await world.run(settings.isEnabled()), false);
  await world.run(settings.setEnabled(true));
  await world.run(settings.setEnabled(true));
  t.equal(await world.run(settings.isEnabled()), true);

  t.equal(await world.run(settings.readDelay()), undefined);
  await world.run(settings.initialiseDelay(30));
  await world.run(settings.initialiseDelay(60));
  t.equal((await world.run(store.get('/ledgers/underreplication/lostBookieRecoveryDelay')))?.value.toString(), '30');
  await world.run(settings.triggerAudit());
  t.same(await world.run(settings.readDelay()), { seconds: 30, version: 1 });

  t.equal(await world.run(settings.readCheckTime('all-ledgers')), undefined);
  await world.run(settings.writeCheckTime('all-ledgers', 1_795_972_591_360));
  t.equal(await world.run(settings.readCheckTime('all-ledgers')), 1_795_972_591_360);
  t.ok(await world.run(store.get('/ledgers/underreplication/checkallledgersctime')));
  await world.run(settings.forgetCheckTime('all-ledgers'));
  await world.run(settings.forgetCheckTime('all-ledgers'));
  t.equal(await world.run(settings.readCheckTime('all-ledgers')), undefined);

  await world.run(settings.setDraining(b1, true));
  await world.run(settings.setDraining(b1, true));
  t.same([...(await world.run(settings.drainingBookies()))], ['b1']);
  await world.run(settings.setDraining(b1, false));
  await world.run(settings.setDraining(b1, false));
  t.same([...(await world.run(settings.drainingBookies()))], []);
  await t.rejects(world.run(settings.setDelay(1).then(() => store.put('/x', Buffer.alloc(0), 7))), { code: metadataErrors.BAD_VERSION.code });
});
