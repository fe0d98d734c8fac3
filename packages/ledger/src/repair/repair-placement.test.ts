import type { BookieTopology } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { PlacementRule } from '../rack-placement.js';
import { MemoryRegistry } from '../testing/memory-registry.js';
import { createRepairPlacement, type RepairPlacement } from './repair-placement.js';

const sizes = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 };

/** Bookies by rack: `{ '/r1': ['a', 'b'] }`. */
function placed(
  racks: Record<string, readonly string[]>,
  { failing = [], rule }: { failing?: readonly string[]; rule?: Partial<PlacementRule> } = {},
): RepairPlacement {
  const registry = new MemoryRegistry();
  const locations = new Map(Object.entries(racks).flatMap(([rack, names]) => names.map((name) => [name as BookieId, rack] as const)));
  for (const bookieId of locations.keys()) registry.register({ bookieId, incarnation: '1', address: '', httpAddress: '', isWritable: true });
  const topology: BookieTopology = { locationOf: (id) => locations.get(id), bookieIds: () => [...locations.keys()], close: () => undefined };
  const health = { isQuarantined: (id: BookieId) => failing.includes(id) };
  return createRepairPlacement({ registry, health, random: new SimRandom(1), topology, rule });
}

const ids = (...names: string[]) => names as BookieId[];

t.test('placement of copies: a bookie of a rack is lost → one of that rack, or of one that is not used yet, comes first', async (t) => {
  const placement = placed({ '/r1': ['a', 'b', 'c'], '/r2': ['d', 'e'], '/r3': ['f'] });
  t.equal(placement.spares({ sizes, ensemble: ids('a', 'd', 'f'), index: 1, avoided: [] })[0], 'e');
  const spares = placement.spares({ sizes, ensemble: ids('a', 'd', 'f'), index: 1, avoided: ids('e') });
  t.same([...spares].sort(), ['b', 'c'], 'others when there is none');
});

t.test('placement of copies: members and avoided bookies → never; none left → nothing', async (t) => {
  const placement = placed({ '/r1': ['a', 'b', 'c', 'd'] });
  t.same(placement.spares({ sizes, ensemble: ids('a', 'b', 'c'), index: 0, avoided: ids('d') }), []);
  t.match(placement.describeWritable(), /a, b, c, d/);
});

t.test('placement of copies: a bookie that fails now and then → only when there is no other, and no rule is enforced', async (t) => {
  const racks = { '/r1': ['a', 'b'], '/r2': ['c', 'd', 'e'] };
  const place = { sizes, ensemble: ids('a', 'b', 'c'), index: 2, avoided: [] };
  t.same(placed(racks, { failing: ['d'] }).spares(place), ['e']);
  t.same([...placed(racks, { failing: ['d', 'e'] }).spares(place)].sort(), ['d', 'e']);
  t.same(placed(racks, { failing: ['d', 'e'], rule: { enforceMinNumRacksPerWriteQuorum: true } }).spares(place), []);
});

t.test('placement check: all in one rack though there are two → told; as well as it can be → not', async (t) => {
  const placement = placed({ '/r1': ['a', 'b', 'c'], '/r2': ['d'] });
  t.match(placement.problemOf(sizes, ids('a', 'b', 'c')), /a in .*r1.* could be spanned/);
  t.equal(placement.problemOf(sizes, ids('a', 'b', 'd')), undefined);
  t.equal(placed({ '/r1': ['a', 'b', 'c'] }).problemOf(sizes, ids('a', 'b', 'c')), undefined);
});
