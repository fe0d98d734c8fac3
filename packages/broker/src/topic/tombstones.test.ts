import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { Tombstones } from './tombstones.js';

t.test('tombstones: a name → rests for more than five seconds, then not; lifted → at once', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const tombstones = new Tombstones(new SimClock(queue));
  tombstones.add('a');
  tombstones.add('b');
  tombstones.lift('b');
  t.same([tombstones.has('a'), tombstones.has('b'), tombstones.has('c')], [true, false, false]);
  await queue.runFor(5000);
  t.equal(tombstones.has('a'), true);
  await queue.runFor(600);
  t.equal(tombstones.has('a'), false);
});
