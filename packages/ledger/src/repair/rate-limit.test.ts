import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { RateLimit } from './rate-limit.js';

async function msFor(limit: { bytesPerSecond?: number; entriesPerSecond?: number }, batches: number): Promise<number> {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const rate = new RateLimit({ clock, ...limit });
  const pass = async () => {
    for (let i = 0; i < batches; i++) await rate.pass({ bytes: 100_000, entries: 100 });
  };
  await queue.complete(pass());
  return clock.monoMs();
}

t.test('rate limit: none → no waiting', async (t) => {
  t.equal(await msFor({}, 1_000), 0);
  t.equal(await msFor({ bytesPerSecond: 0, entriesPerSecond: -1 }, 1_000), 0);
});

t.test('rate limit: bytes, entries, both → the slower one decides', async (t) => {
  const near = (ms: number, expected: number) => Math.abs(ms - expected) <= 250;
  t.ok(near(await msFor({ bytesPerSecond: 1_000_000 }, 100), 10_000));
  t.ok(near(await msFor({ entriesPerSecond: 500 }, 100), 20_000));
  t.ok(near(await msFor({ bytesPerSecond: 1_000_000, entriesPerSecond: 500 }, 100), 20_000));
});

t.test('rate limit: idle for long → no burst afterwards', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const rate = new RateLimit({ clock, bytesPerSecond: 1_000_000 });
  await queue.complete(rate.pass({ bytes: 100_000, entries: 1 }));
  await queue.runFor(60_000);
  const startMs = clock.monoMs();
  const some = async () => {
    for (let i = 0; i < 10; i++) await rate.pass({ bytes: 100_000, entries: 1 });
  };
  await queue.complete(some());
  t.ok(clock.monoMs() - startMs >= 750, `${clock.monoMs() - startMs} ms`);
});
