import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { Placement } from './placement.js';
import { SimWorld } from './testing/sim-world.js';

const b1 = 'b1' as BookieId;

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
