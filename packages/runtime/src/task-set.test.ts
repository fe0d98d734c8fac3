import t from 'tap';
import { SimClock } from './sim/clock.js';
import { EventQueue } from './sim/event-queue.js';
import { TaskSet } from './task-set.js';

t.test('TaskSet.close: tasks running → told to stop and joined; later ones are not run', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const tasks = new TaskSet((error) => t.fail(String(error)));
  const log: string[] = [];
  const loop = async (stop: AbortSignal) => {
    while (!stop.aborted) await clock.sleep(10, stop);
    await clock.sleep(5);
    log.push(`ended at ${clock.monoMs()}`);
  };
  t.equal(tasks.run('loop', loop), true);
  await queue.run({ untilMs: 25 });
  t.equal(tasks.count, 1);
  await queue.complete(tasks.close());
  t.same(log, ['ended at 30']);
  t.equal(tasks.count, 0);
  t.equal(
    tasks.run('late', async () => void log.push('late')),
    false,
  );
  await tasks.close();
  t.equal(log.length, 1);
});

t.test('TaskSet: a task rejects or throws → the handler hears it by name, the others go on', async (t) => {
  const heard: string[] = [];
  const tasks = new TaskSet((error, name) => heard.push(`${name}: ${(error as Error).message}`));
  tasks.run('rejects', () => Promise.reject(new Error('one')));
  tasks.run('throws', () => {
    throw new Error('two');
  });
  let done = false;
  tasks.run('works', async () => {
    done = true;
  });
  await tasks.idle();
  t.same(heard.sort(), ['rejects: one', 'throws: two']);
  t.equal(done, true);
});
