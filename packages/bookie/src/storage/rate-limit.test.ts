import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { RateLimit } from './rate-limit.js';

async function took(perSecond: number, counts: readonly number[], pauseMs = 0): Promise<number> {
  const queue = new EventQueue({ seed: 1 });
  const limit = new RateLimit(new SimClock(queue), perSecond);
  const { signal } = new AbortController();
  for (const count of counts) {
    await queue.complete(limit.take(count, signal));
    if (pauseMs > 0) await queue.runFor(pauseMs);
  }
  return queue.nowMs;
}

t.test('rate limit: many small steps → the rate holds', async (t) => {
  const ms = await took(
    1000,
    Array.from({ length: 500 }, () => 7),
  );
  t.ok(ms > 3470 && ms < 3500, `${ms} ms for 3500 units`);
});

t.test('rate limit: after a pause → no burst', async (t) => {
  const ms = await took(100, [10, 10, 10, 10], 1000);
  t.ok(ms >= 4000 && ms < 4100, `${ms} ms`);
  const burst = await took(100, [100, 100, 100]);
  t.ok(burst >= 2000, `${burst} ms`);
});

t.test('rate limit: 0 → none; told to stop → ends at once', async (t) => {
  t.equal(await took(0, [1e9, 1e9]), 0);
  const queue = new EventQueue({ seed: 1 });
  const limit = new RateLimit(new SimClock(queue), 1);
  const stop = new AbortController();
  await queue.complete(limit.take(100, stop.signal));
  const waiting = limit.take(1, stop.signal);
  stop.abort();
  await queue.complete(waiting);
  t.ok(queue.nowMs < 1);
  t.equal(limit.stepMax, 1);
  t.equal(new RateLimit(new SimClock(queue), 1000).stepMax, 50);
});
