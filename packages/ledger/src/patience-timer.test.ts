import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { PatienceTimer } from './patience-timer.js';

t.test('patience timer: runs while needed; after a pause of the process nobody is judged at once', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  let isNeeded = false;
  const judgedAtMs: number[] = [];
  const patient = {
    get isWaiting() {
      return isNeeded;
    },
    judge: (nowMs: number) => void judgedAtMs.push(nowMs),
  };
  const timer = new PatienceTimer(clock, 100, patient);
  timer.start();
  t.equal(queue.pendingCount, 0);
  isNeeded = true;
  timer.start();
  timer.start();
  await queue.runFor(250);
  t.same(judgedAtMs, [100, 200]);
  clock.pause();
  await queue.runFor(1_000);
  clock.resume();
  await queue.runFor(99);
  t.same(judgedAtMs, [100, 200], 'late: not judged');
  await queue.runFor(10);
  t.equal(judgedAtMs.length, 3);
  isNeeded = false;
  await queue.runFor(1_000);
  t.equal(judgedAtMs.length, 4);
  t.equal(queue.pendingCount, 0);
  isNeeded = true;
  timer.start();
  timer.stop();
  t.equal(queue.pendingCount, 0);
});
