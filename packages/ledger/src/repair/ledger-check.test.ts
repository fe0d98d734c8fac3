import type { BookieId, EntryId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { badMembers, type CheckOptions, checkLedger, type LedgerHealth, missingCount } from './ledger-check.js';
import { RepairWorld } from './testing/repair-world.js';

async function check(world: RepairWorld, ledgerId: LedgerId, options: Partial<CheckOptions> = {}): Promise<LedgerHealth> {
  const { parts, records } = world.admin;
  const stored = await world.run(records.read(ledgerId));
  const presence = (bookieId: BookieId) => (world.cluster.registry.get(bookieId) === undefined ? ('gone' as const) : ('up' as const));
  return world.run(checkLedger(parts, { ledgerId, stored: stored as NonNullable<typeof stored> }, { presence, ...options }));
}

/** `b2 lacking 3-4` and so on, per fragment. */
function badOf(health: LedgerHealth): string[] {
  return health.fragments.flatMap((fragment) =>
    badMembers(fragment).map(
      ({ bookieId, state, missing }) => `${bookieId} ${state} ${missing.map(({ first, last }) => `${first}-${last}`).join(',')}`,
    ),
  );
}

t.test('ledger check: every copy there → whole; one list per bookie', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 50 });
  t.same(badOf(await check(world, ledgerId)), []);
  t.same([...world.listCounts.values()], [1, 1, 1]);
});

t.test('ledger check: entries missing in the middle of a bookie → just these', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 20 });
  for (const id of [3, 4, 9, 19]) world.cluster.bookie('b2').forget(ledgerId, id);
  const health = await check(world, ledgerId);
  t.same(badOf(health), ['b2 lacking 3-4,9-9,19-19']);
  t.equal(missingCount(health, badMembers(health.fragments[0] as LedgerHealth['fragments'][number])[0] as never), 4);
});

t.test('ledger check: striped → what a bookie does not store is not missed', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ledgerId = await world.ledger({ count: 40, quorum: [5, 2, 2] });
  t.same(badOf(await check(world, ledgerId)), []);
  const [, second] = await world.ensemble(ledgerId);
  world.cluster.bookie(second as string).forget(ledgerId, 5);
  world.cluster.bookie(second as string).forget(ledgerId, 6);
  t.same(badOf(await check(world, ledgerId)), [`${second} lacking 2-9`], 'the gap in its list, of which it stores 5 and 6');
  t.equal(missingCount(await check(world, ledgerId), badMembers((await check(world, ledgerId)).fragments[0] as never)[0] as never), 2);
});

t.test('ledger check: a bookie with new disks → all its entries, though it answers honestly (P5)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  world.cluster.bookie('b3').wipe();
  world.cluster.register('b3');
  t.same(badOf(await check(world, ledgerId)), ['b3 lacking 0-9']);
});

t.test('ledger check: a bookie in limbo → what it does not list is lacking; of an open ledger it is told to be in limbo', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  const open = await world.ledger({ count: 1, isOpen: true });
  for (let id = 5; id < 10; id++) world.cluster.bookie('b3').forget(ledgerId, id);
  world.cluster.bookie('b3').isInLimbo = true;
  t.same(badOf(await check(world, ledgerId)), ['b3 lacking 5-9']);
  t.same(badOf(await check(world, open)), ['b3 in-limbo ']);
});

t.test('ledger check: a bookie that cannot tell → unknown, never missing', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  for (const code of ['IO_ERROR', 'TIMEOUT', 'UNAVAILABLE', 'TOO_MANY_REQUESTS'] as const) {
    world.listReplies.set('b1', { code, runs: [] });
    const health = await check(world, ledgerId);
    t.same(badOf(health), [], code);
    t.match(
      health.fragments[0]?.members.find(({ bookieId }) => bookieId === 'b1'),
      { state: 'unknown', code },
    );
  }
});

t.test('ledger check: an empty ledger on a lost bookie → bad, though no entry is missing (BOOKKEEPER-742)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 0 });
  t.same(badOf(await check(world, ledgerId)), []);
  world.cluster.kill('b2');
  t.same(badOf(await check(world, ledgerId)), ['b2 gone 0--1']);
});

t.test('ledger check: known to be away or failing → not asked', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  for (const presence of ['gone', 'away', 'silent'] as const) {
    world.listCounts.clear();
    await check(world, ledgerId, { presence: (bookieId) => (bookieId === 'b1' ? presence : 'up') });
    t.equal(world.listCounts.get('b1'), undefined, presence);
  }
});

t.test('ledger check: the part that is still written → only whether its bookies are there', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10, isOpen: true });
  world.cluster.bookie('b1').forget(ledgerId, 3);
  const health = await check(world, ledgerId);
  t.same(badOf(health), []);
  t.match(health.fragments, [{ isClosed: false, firstEntryId: 0, lastEntryId: -1 }]);
  world.cluster.kill('b1');
  t.match(badOf(await check(world, ledgerId)), [/^b1 gone/]);
});

t.test('ledger check: a damaged entry → seen only when it is read', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 30 });
  world.cluster.bookie('b2').damage(ledgerId, 11);
  t.same(badOf(await check(world, ledgerId)), []);
  t.same(badOf(await check(world, ledgerId, { readPercent: 0 })), [], 'the first and the last are good');
  t.same(badOf(await check(world, ledgerId, { readPercent: 100 })), ['b2 damaged 11-11']);
  world.cluster.bookie('b3').damage(ledgerId, 29);
  t.same(badOf(await check(world, ledgerId, { readPercent: 0 })), ['b3 damaged 29-29']);
});

t.test('ledger check: listed, but not there when it is read → missing', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 30 });
  world.listReplies.set('b1', { code: 'OK', runs: [{ first: 0 as EntryId, last: 29 as EntryId }] });
  world.cluster.bookie('b1').forget(ledgerId, 7);
  world.cluster.bookie('b1').forget(ledgerId, 8);
  t.same(badOf(await check(world, ledgerId, { readPercent: 100 })), ['b1 lacking 7-8']);
});

t.test('ledger check: a bookie that falls silent while it is read → unknown', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 30 });
  world.cluster.bookie('b1').refuseReads = 'TIMEOUT';
  const health = await check(world, ledgerId, { readPercent: 100 });
  t.same(badOf(health), []);
  t.equal(health.fragments[0]?.members.find(({ bookieId }) => bookieId === 'b1')?.state, 'unknown');
});

t.test('ledger check: several segments → each bookie asked once, each for what it has of each', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const node = world.addNode();
  const writer = await world.run(node.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('secret') }));
  for (let i = 0; i < 5; i++) writer.push(Buffer.from('a'));
  await world.until(() => writer.lastAddConfirmed === 4, 1_000);
  const [lost] = await world.ensemble(writer.ledgerId);
  world.cluster.kill(lost as string);
  for (let i = 0; i < 5; i++) writer.push(Buffer.from('b'));
  await world.until(() => writer.lastAddConfirmed === 9, 20_000);
  await world.run(writer.close());
  await world.runFor(100);
  const health = await check(world, writer.ledgerId);
  t.equal(health.fragments.length, 2);
  t.same(badOf(health), [`${lost} gone 0-4`]);
  t.equal(world.listCounts.get(lost as string), undefined);
});
