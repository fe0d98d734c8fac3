import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { planMending } from './mend-plan.js';
import { Placement } from './placement.js';
import { SimWorld } from './testing/sim-world.js';
import type { MemberState } from './writer-state.js';

const b1 = 'b1' as BookieId;

t.test('bookie pool: one connection per bookie; other disks or address → the old one is closed', async (t) => {
  const world = new SimWorld();
  const { pool } = world.cluster.connect();
  const first = pool.get(b1);
  t.equal(pool.get(b1), first);
  t.equal(pool.get('nobody' as BookieId), undefined);
  world.cluster.bookie('b1').wipe();
  world.cluster.register('b1');
  const second = pool.get(b1);
  t.not(second, first);
  t.equal(second?.incarnation, world.cluster.bookie('b1').incarnation);
  t.equal((await world.run(first?.service.info() ?? Promise.reject(new Error('none')))).code, 'UNAVAILABLE');
  t.equal((await world.run(second?.service.info() ?? Promise.reject(new Error('none')))).code, 'OK');
});

t.test('bookie pool: registration gone → the connection stays, it may still answer', async (t) => {
  const world = new SimWorld();
  const { pool } = world.cluster.connect();
  const before = pool.get(b1);
  world.cluster.registry.unregister(b1);
  t.equal(pool.get(b1), before);
  t.equal(pool.readRank(b1), 4);
});

t.test('bookie pool: failures → quarantine that doubles; success or a new registration ends it', async (t) => {
  const world = new SimWorld();
  const { pool } = world.cluster.connect();
  pool.report(b1, 'TOO_MANY_REQUESTS');
  pool.report(b1, 'NO_ENTRY');
  t.notOk(pool.isQuarantined(b1));
  pool.report(b1, 'UNAVAILABLE');
  pool.report(b1, 'UNAVAILABLE');
  t.ok(pool.isQuarantined(b1));
  await world.runFor(1_001);
  t.notOk(pool.isQuarantined(b1), 'many failures at once are one');
  pool.report(b1, 'TIMEOUT');
  await world.runFor(1_001);
  t.ok(pool.isQuarantined(b1));
  pool.report(b1, 'OK');
  t.notOk(pool.isQuarantined(b1));
  pool.report(b1, 'UNAVAILABLE');
  world.cluster.kill('b1');
  world.cluster.restart('b1');
  t.notOk(pool.isQuarantined(b1));
});

t.test('placement: writable only, excluded never, quarantined last; spares never quarantined', async (t) => {
  const world = new SimWorld({ bookiesCount: 5 });
  const { pool } = world.cluster.connect();
  const placement = new Placement({ registry: world.cluster.registry, health: pool, random: world.queue.random });
  world.cluster.register('b2', { isWritable: false });
  pool.report(b1, 'UNAVAILABLE');
  const seen = new Set<string>();
  for (let i = 0; i < 50; i++) {
    const picked = placement.pick(4, new Set(['b5' as BookieId]));
    t.same([...picked].sort(), ['b1', 'b3', 'b4']);
    t.equal(picked[2], 'b1');
    seen.add(picked[0] as string);
  }
  t.same([...seen].sort(), ['b3', 'b4'], 'at random');
  t.same(placement.pickSpares(5, new Set(['b3', 'b4'] as BookieId[])), ['b5']);
});

function member(name: string, failedWith?: MemberState['failedWith']): MemberState {
  const identity = { bookieId: name as BookieId, incarnation: '1' };
  return {
    identity,
    isFailed: failedWith !== undefined,
    failedWith: failedWith ?? 'OK',
    failedAtMs: 0,
    admission: 0,
    admittedAtMs: 0,
    nextAnswer: 0,
  };
}

t.test('mend plan: spare first; without one the own bookie; other disks only through a change', async (t) => {
  const registered = (incarnation: string, isWritable = true) => ({
    bookieId: 'b' as BookieId,
    address: '',
    httpAddress: '',
    incarnation,
    isWritable,
  });
  const plan = (members: MemberState[], spares: string[], known: Record<string, ReturnType<typeof registered>>, nowMs = 0) =>
    planMending({
      members,
      nowMs,
      busyGraceMs: 5_000,
      registered: (id) => known[id],
      pickSpares: (count) => spares.slice(0, count) as BookieId[],
    });
  const members = [member('a'), member('b', 'UNAVAILABLE'), member('c', 'UNAVAILABLE')];
  const up = { b: registered('1'), c: registered('1'), s: registered('7') };
  t.same(plan(members, ['s'], up), { replacements: [{ index: 1, from: 'b', to: 's', incarnation: '7' }], readmissions: [2] });
  t.same(plan(members, [], {}), { replacements: [], readmissions: [] });
  t.same(plan(members, [], { b: registered('2'), c: registered('1', false) }), {
    replacements: [{ index: 1, from: 'b', to: 'b', incarnation: '2' }],
    readmissions: [],
  });
  const busy = [member('a'), member('b', 'TOO_MANY_REQUESTS'), member('c')];
  t.same(plan(busy, ['s'], up, 4_999), { replacements: [], readmissions: [1] });
  t.same(plan(busy, ['s'], up, 5_000).replacements.length, 1);
});
