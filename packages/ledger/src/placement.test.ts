import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { Placement } from './placement.js';
import { ledgerOptions, pushAll, SimWorld } from './testing/sim-world.js';

const b1 = 'b1' as BookieId;
const e3 = ledgerOptions(3, 3, 2);

/** Racks by bookie, which may change at any time. */
function topologyOf(racks: Record<string, string>) {
  return { locationOf: (id: BookieId) => racks[id], bookieIds: () => Object.keys(racks) as BookieId[], close: () => undefined };
}

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
  const ensemble = ['b1', 'b3', 'b4'] as BookieId[];
  t.same([...placement.pickReplacements(e3, ensemble, [0, 1])], [[0, 'b5']], 'one spare for two places');
});

t.test('placement: quarantined bookies → taken when there are too few others, or when only they keep an enforced rule', async (t) => {
  const world = new SimWorld({ bookiesCount: 4 });
  const { pool } = world.cluster.connect();
  const rule = { minNumRacksPerWriteQuorum: 2, enforceMinNumRacksPerWriteQuorum: true, minRegionsForDurability: 0 };
  const racks = { b1: '/a', b2: '/b', b3: '/b', b4: '/b' };
  const placement = new Placement({ registry: world.cluster.registry, health: pool, random: world.queue.random, topology: topologyOf(racks), rule });
  pool.report(b1, 'UNAVAILABLE');
  for (let i = 0; i < 20; i++) t.ok(placement.pickEnsemble(e3)?.members.some((member) => member.bookieId === b1));
  const any = new Placement({ registry: world.cluster.registry, health: pool, random: world.queue.random });
  t.notOk(any.pickEnsemble(e3)?.members.some((member) => member.bookieId === b1));
  pool.report('b2' as BookieId, 'TIMEOUT');
  t.equal(any.pickEnsemble(e3)?.members.length, 3);
});

t.test('ledger client: racks known → ensembles span them; a failed member is replaced from its own rack', async (t) => {
  const world = new SimWorld({ bookiesCount: 7 });
  const racks: Record<string, string> = { b1: '/a', b2: '/a', b3: '/a', b4: '/b', b5: '/b', b6: '/c', b7: '/c' };
  const { client } = world.cluster.connect({ topology: topologyOf(racks) });
  const rackOf = (id: string | undefined) => racks[id ?? ''];
  for (let i = 0; i < 20; i++) {
    const writer = await world.run(client.create(e3));
    const ensemble = writer.metadata.segments[0]?.ensemble ?? [];
    t.same([...new Set(ensemble.map(rackOf))].sort(), ['/a', '/b', '/c'], 'as far apart as can be');
    await world.run(writer.close());
  }
  const writer = await world.run(client.create(e3));
  const [first] = writer.metadata.segments[0]?.ensemble ?? [];
  world.cluster.kill(first as string);
  pushAll(writer, ['x']);
  await world.runFor(100);
  const now = writer.metadata.segments.at(-1)?.ensemble[0];
  t.not(now, first);
  t.equal(rackOf(now), rackOf(first));
});

t.test('ledger client: a bookie is moved to another rack → asked anew at the next choice', async (t) => {
  const world = new SimWorld({ bookiesCount: 4 });
  const racks: Record<string, string> = { b1: '/a', b2: '/a', b3: '/a', b4: '/a' };
  const options = { enforceMinNumRacksPerWriteQuorum: true };
  const { client } = world.cluster.connect({ topology: topologyOf(racks), options });
  t.equal((await world.rejection(client.create(e3))).code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  racks.b4 = '/b';
  const writer = await world.run(client.create(e3));
  t.ok(writer.metadata.segments[0]?.ensemble.includes('b4' as BookieId));
});

t.test('ledger client: not enough bookies → each one that is missing is named with the reason', async (t) => {
  const world = new SimWorld({ bookiesCount: 4 });
  const racks = { b1: '/a', b2: '/a', b3: '/a', b4: '/b', b5: '/b' };
  const { client, pool } = world.cluster.connect({ topology: topologyOf(racks), options: { enforceMinNumRacksPerWriteQuorum: true } });
  world.cluster.register('b4', { isWritable: false });
  pool.report('b3' as BookieId, 'TIMEOUT');
  const error = await world.rejection(client.create(e3));
  t.equal(error.code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  for (const part of [
    'up: b1, b2, b3',
    /b3 \(quarantined/,
    'b4 (read-only)',
    'b5 (down)',
    /must span 2 racks .* stand in \/default-region\/a\. Bring them back, or start others$/,
  ]) {
    t.match(error.message, part);
  }
  t.equal(world.cluster.store.history.length, 0, 'nothing is left in metadata');
});

t.test('ledger client: opportunistic striping → the ensemble shrinks to the write quorum, never below; off by default', async (t) => {
  const world = new SimWorld({ bookiesCount: 3 });
  const wide = ledgerOptions(5, 2, 2);
  t.equal((await world.rejection(world.cluster.connect().client.create(wide))).code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  const { client } = world.cluster.connect({ options: { opportunisticStriping: true } });
  const writer = await world.run(client.create(wide));
  t.same([writer.metadata.ensembleSize, writer.metadata.writeQuorumSize], [3, 2]);
  t.equal((await world.rejection(client.create(ledgerOptions(5, 4, 2)))).code, 'LEDGER_NOT_ENOUGH_BOOKIES');
});

t.test('ledger client: region rule that these quorums cannot keep → LEDGER_BAD_QUORUM before any I/O', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect({ options: { minRegionsForDurability: 3 } });
  t.equal((await world.rejection(client.create(e3))).code, 'LEDGER_BAD_QUORUM');
});

t.test('ledger writer: fault domains enforced → acknowledged only with copies in two racks', async (t) => {
  for (const enforceMinNumFaultDomainsForWrite of [false, true]) {
    const world = new SimWorld({ bookiesCount: 3 });
    const racks: Record<string, string> = { b1: '/a', b2: '/a', b3: '/b' };
    const { client } = world.cluster.connect({ topology: topologyOf(racks), options: { enforceMinNumFaultDomainsForWrite } });
    const writer = await world.run(client.create(e3));
    world.cluster.bookie('b3').delayMs = 500;
    pushAll(writer, ['x']);
    await world.runFor(100);
    t.equal(writer.lastAddConfirmed, enforceMinNumFaultDomainsForWrite ? -1 : 0, 'two copies, one rack');
    await world.runFor(500);
    t.equal(writer.lastAddConfirmed, 0);
  }
});
