import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { SimWorld } from './testing/sim-world.js';

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
  t.equal(pool.readRank(b1), 5);
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
