import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { within } from './within.js';

t.test('within: the outcome comes in time → the outcome, and no timer is left', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const answer = clock.sleep(5).then(() => 'answer');
  t.equal(await queue.complete(within(clock, 10, answer)), 'answer');
  t.equal(queue.pendingCount, 0);
  await t.rejects(queue.complete(within(clock, 10, Promise.reject(new Error('no')))), /no/);
  t.equal(queue.pendingCount, 0);
});

t.test('within: the outcome is late → undefined at that time', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const answer = clock.sleep(50).then(() => 'answer');
  t.equal(await queue.complete(within(clock, 10, answer)), undefined);
  t.equal(queue.nowMs, 10);
});
