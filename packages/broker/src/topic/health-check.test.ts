import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { HealthCheck } from './health-check.js';

t.test('health check: nothing comes back → an error after five seconds, and the next one tries again', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const loads: string[] = [];
  const check = new HealthCheck({
    brokerId: 'b:1',
    clock: new SimClock(queue),
    random: new SimRandom(1),
    topics: {
      load: (name) => {
        loads.push(name.full);
        return new Promise(() => {});
      },
    },
  });
  const first = check.run();
  t.equal(check.run(), first);
  await t.rejects(queue.complete(first), { code: 'TOPIC_UNAVAILABLE', message: /not stored and read back within 5000 ms/ });
  t.equal(queue.nowMs, 5000);
  await t.rejects(queue.complete(check.run()));
  t.same(loads, ['persistent://pulsar/b:1/healthcheck', 'persistent://pulsar/b:1/healthcheck']);
});
