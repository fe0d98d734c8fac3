import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { DueTimer } from './due-timer.js';

t.test('due timer: armed anew → calls once, for what is due first; undefined → not at all', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const calls: number[] = [];
  const timer = new DueTimer(new SimClock(queue), () => calls.push(queue.nowMs));
  timer.arm(100);
  timer.arm(300);
  timer.arm(50.5);
  await queue.runFor(200);
  t.same(calls, [51], 'not before its time');
  t.equal(timer.isArmed, false);
  timer.arm(250);
  timer.arm(undefined);
  await queue.runFor(200);
  t.same(calls, [51]);
  timer.arm(0);
  await queue.runFor(1);
  t.equal(calls.length, 2, 'what is over is due at once');
});
