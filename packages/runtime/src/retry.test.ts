import t from 'tap';
import { defineErrors } from './errors.js';
import { Backoff, retry } from './retry.js';
import { SimClock } from './sim/clock.js';
import { EventQueue } from './sim/event-queue.js';
import { SimRandom } from './sim/random.js';

const errors = defineErrors('TEST_RETRY', {
  BUSY: { retry: 'later', text: () => 'busy' },
  GONE: { retry: 'never', text: () => 'gone' },
});

function world() {
  const queue = new EventQueue({ seed: 1 });
  return { queue, clock: new SimClock(queue), random: queue.random };
}

t.test('Backoff: delays double up to their bound, each at least half of its value; reset → small again', async (t) => {
  const backoff = new Backoff({ random: new SimRandom(1), delayMsMin: 10, delayMsMax: 100 });
  for (const whole of [10, 20, 40, 80, 100, 100]) {
    const delay = backoff.nextDelayMs();
    t.ok(delay >= whole / 2 && delay < whole, `${delay} of ${whole}`);
  }
  t.equal(backoff.attempts, 6);
  backoff.reset();
  t.ok(backoff.nextDelayMs() < 10);
});

t.test('retry: fails with `later` twice → third result, after growing waits', async (t) => {
  const { queue, clock, random } = world();
  const seen: number[] = [];
  const task = async (attempt: number) => {
    if (attempt < 3) throw errors.BUSY();
    return attempt;
  };
  t.equal(await queue.complete(retry(task, { clock, random, attemptsMax: 5, onRetry: (_, attempt) => seen.push(attempt) })), 3);
  t.same(seen, [1, 2]);
  t.ok(clock.monoMs() >= 15);
});

t.test('retry: `never`, an unexpected error, too many attempts, or stopped → that error at once', async (t) => {
  const { queue, clock, random } = world();
  let calls = 0;
  const failing = (error: Error) => () => {
    calls++;
    return Promise.reject(error);
  };
  await t.rejects(queue.complete(retry(failing(errors.GONE()), { clock, random, attemptsMax: 5 })), { code: 'TEST_RETRY_GONE' });
  await t.rejects(queue.complete(retry(failing(new Error('bug')), { clock, random, attemptsMax: 5 })), { message: 'bug' });
  t.equal(calls, 2);
  await t.rejects(queue.complete(retry(failing(errors.BUSY()), { clock, random, attemptsMax: 3 })), { code: 'TEST_RETRY_BUSY' });
  t.equal(calls, 5);
  const stop = new AbortController();
  const beforeMs = clock.monoMs();
  clock.after(1, () => stop.abort());
  const stopped = retry(failing(errors.BUSY()), { clock, random, attemptsMax: 3, delayMsMin: 1000, stop: stop.signal });
  await t.rejects(queue.complete(stopped), { code: 'TEST_RETRY_BUSY' });
  t.equal(clock.monoMs(), beforeMs + 1);
  t.equal(calls, 6);
});
