import type { BookieTopology } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import type { AutoRecoveryOptions } from './auto-recovery.js';
import { RepairWorld } from './testing/repair-world.js';

/** Bookies b1, b2, ... in these racks, one after the other; a test may move them. */
function racks(...locations: string[]): BookieTopology & { move(name: string, rack: string): void } {
  const byBookie = new Map(locations.map((rack, i) => [`b${i + 1}` as BookieId, rack]));
  return {
    locationOf: (bookieId) => byBookie.get(bookieId),
    bookieIds: () => [...byBookie.keys()],
    close: () => undefined,
    move: (name, rack) => void byBookie.set(name as BookieId, rack),
  };
}

const options: AutoRecoveryOptions = {
  auditorPeriodicCheckIntervalMs: 0,
  auditorReplicasCheckIntervalMs: 0,
  auditorPeriodicPlacementPolicyCheckIntervalMs: 1_000,
};

async function racksOf(world: RepairWorld, topology: BookieTopology, ledgerId: LedgerId): Promise<number> {
  return new Set((await world.ensemble(ledgerId)).map((name) => topology.locationOf(name as BookieId))).size;
}

async function spanTwo(world: RepairWorld, topology: BookieTopology, ids: readonly LedgerId[]): Promise<boolean> {
  for (let i = 0; i < 200; i++) {
    const counts: number[] = [];
    for (const ledgerId of ids) counts.push(await racksOf(world, topology, ledgerId));
    if (counts.every((count) => count === 2)) return true;
    await world.runFor(100);
  }
  return false;
}

t.test('autorecovery: a new rack comes up → one copy of each ledger moves there, whole and verified; the others stay', async (t) => {
  const topology = racks('/a', '/a', '/a', '/b', '/b');
  const world = new RepairWorld({ bookiesCount: 3, topology });
  const ids = [await world.ledger({ count: 30 }), await world.ledger({ count: 0 }), await world.ledger({ count: 5 })];
  const open = await world.ledger({ count: 3, isOpen: true });
  const before = await world.ensemble(ids[0] as LedgerId);
  for (const name of ['b4', 'b5']) world.cluster.addBookie(name);
  const daemon = await world.autoRecovery(options);
  t.ok(await spanTwo(world, topology, ids));
  t.ok(await world.areWhole(ids, 1_000));
  const after = await world.ensemble(ids[0] as LedgerId);
  t.equal(after.filter((name, i) => name !== before[i]).length, 1, 'one of three');
  t.ok(await world.isReadable(ids[0] as LedgerId, 30));
  t.equal(await racksOf(world, topology, open), 1, 'what is being written is its writer’s');
  await world.runFor(5_000);
  t.equal(await world.run(daemon.tools.underReplication.count()), 0, 'no mark is left');
  await world.run(daemon.close());
});

t.test('autorecovery: placement could be better, but no bookie for it is up, or it is switched off → nothing moves, nothing is marked', async (t) => {
  for (const isEnabled of [true, false]) {
    const topology = racks('/a', '/a', '/a', '/b');
    const world = new RepairWorld({ bookiesCount: isEnabled ? 3 : 4, topology });
    const ledgerId = await world.ledger({ count: 5 });
    if (!isEnabled) for (const name of await world.ensemble(ledgerId)) topology.move(name, '/a');
    const before = await world.ensemble(ledgerId);
    const daemon = await world.autoRecovery({ ...options, repairedPlacementPolicyNotAdheringBookieEnable: isEnabled });
    await world.runFor(5_000);
    t.same(await world.ensemble(ledgerId), before);
    t.equal(await world.run(daemon.tools.underReplication.count()), 0);
    await world.run(daemon.close());
  }
});

t.test('worker: a misplaced ledger whose target fails → stays as it is, and is tried again', async (t) => {
  const topology = racks('/a', '/a', '/a', '/b');
  const world = new RepairWorld({ bookiesCount: 3, topology });
  const ledgerId = await world.ledger({ count: 20 });
  const before = await world.ensemble(ledgerId);
  world.cluster.addBookie('b4').refuseAppends = 'IO_ERROR';
  const daemon = await world.autoRecovery(options);
  await world.runFor(20_000);
  t.same(await world.ensemble(ledgerId), before, 'the record names nobody without copies');
  world.cluster.bookie('b4').refuseAppends = undefined;
  t.ok(await world.until(() => world.cluster.bookie('b4').holds(ledgerId, 19), 400_000));
  t.ok(await spanTwo(world, topology, [ledgerId]));
  await world.run(daemon.close());
});
