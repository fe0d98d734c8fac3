import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { SimClock } from './clock.js';
import { SimDisk } from './disk.js';
import { EventQueue } from './event-queue.js';

/** Three nodes that write, sleep, pause and crash by chance; gives the trace. */
async function world(seed: number | string): Promise<{ hash: string; events: number; lines: string[] }> {
  const queue = new EventQueue({ seed });
  const nodes = ['a', 'b', 'c'].map(async (name) => {
    const clock = new SimClock(queue, { name });
    const random = queue.random.fork(name);
    const disk = new SimDisk({ clock, faults: { stallChance: 0.1, writeFailChance: 0.05 } });
    const file = await disk.open('/file');
    for (let i = 0; i < 40; i++) {
      await clock.sleep(random.between(0, 10));
      await file.writeAt(i * 100, random.bytes(100)).catch(() => queue.trace.record(name, 'write failed', i));
      if (random.chance(0.1)) clock.pause();
      if (clock.state === 'paused') queue.schedule(random.between(0, 50), () => clock.resume(), `${name} resume`);
      if (random.chance(0.3)) await file.sync();
    }
    if (random.chance(0.5)) disk.crash();
  });
  void Promise.all(nodes);
  await queue.run({ untilIdle: true });
  return { hash: queue.trace.hash, events: queue.eventsCount, lines: queue.trace.lastLines(10) };
}

if (process.env.DAYBOOK_TEST_SEED !== undefined) {
  console.log((await world(Number(process.env.DAYBOOK_TEST_SEED))).hash);
  process.exit(0);
}

t.test('simulation: one seed twice, also in another process → one trace; another seed → another', async (t) => {
  const first = await world(42);
  t.ok(first.events > 200, `${first.events} events`);
  t.same(await world(42), first);
  t.not((await world(43)).hash, first.hash);
  const elsewhere = execFileSync(process.execPath, [fileURLToPath(import.meta.url)], {
    encoding: 'utf8',
    env: { ...process.env, DAYBOOK_TEST_SEED: '42' },
  });
  t.equal(elsewhere.trim(), first.hash);
});

t.test('EventQueue: events by time, then in the order they were made; promises settle between them', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const seen: string[] = [];
  const say = (text: string) => () => {
    seen.push(`${text}@${queue.nowMs}`);
    void Promise.resolve()
      .then(() => undefined)
      .then(() => seen.push(`${text} settled`));
  };
  queue.schedule(5, say('late'), '');
  queue.schedule(1, say('first'), '');
  queue.schedule(1, say('second'), '');
  await queue.run();
  t.same(seen, ['first@1', 'first settled', 'second@1', 'second settled', 'late@5', 'late settled']);
  t.equal(queue.pendingCount, 0);
});

t.test('EventQueue: 20,000 events in random order, half of them cancelled → the others, sorted', async (t) => {
  const queue = new EventQueue({ seed: 7 });
  const times: number[] = [];
  const events = Array.from({ length: 20_000 }, () => queue.schedule(queue.random.between(0, 1000), () => times.push(queue.nowMs), 'e'));
  events.forEach((event, i) => {
    if (i % 2 === 0) queue.cancel(event);
    queue.cancel(events[0] as (typeof events)[0]);
  });
  t.equal(queue.pendingCount, 10_000);
  await queue.run();
  t.equal(times.length, 10_000);
  t.same(
    times,
    times.toSorted((a, b) => a - b),
  );
});

t.test('EventQueue.run: untilMs → stands at that time, what is later waits; until → stops right after', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  let count = 0;
  for (const delay of [1, 2, 3, 10]) queue.schedule(delay, () => count++, '');
  await queue.run({ untilMs: 2 });
  t.same([count, queue.nowMs], [2, 2]);
  await queue.runFor(3);
  t.same([count, queue.nowMs], [3, 5]);
  queue.schedule(1, () => count++, '');
  await queue.run({ until: () => count === 4 });
  t.same([count, queue.nowMs], [4, 6]);
});

t.test('EventQueue: an event throws, or they never end → fails with seed and last events', async (t) => {
  const queue = new EventQueue({ seed: 99 });
  queue.schedule(1, () => undefined, 'harmless');
  queue.schedule(2, () => JSON.parse('{'), 'the culprit');
  await t.rejects(queue.run(), { name: 'SimulationFailure', message: /seed 99[\s\S]*harmless[\s\S]*the culprit/ });
  const again = () => void queue.schedule(1, again, 'again');
  again();
  await t.rejects(queue.run({ eventsMax: 100 }), { message: /not idle after 100 events/ });
});

t.test('EventQueue.complete: settled promise → its outcome; nothing that could settle it, or too late → fails', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  t.equal(await queue.complete(clock.sleep(10).then(() => 'done')), 'done');
  await t.rejects(queue.complete(clock.sleep(10).then(() => Promise.reject(new Error('own')))), { message: 'own' });
  await t.rejects(queue.complete(new Promise(() => undefined)), { message: /nothing is due any more/ });
  await t.rejects(queue.complete(clock.sleep(1000), { withinMs: 10 }), { message: /still pending after 10 ms/ });
});

t.test('EventQueue.drive → what is awaited happens without anybody running the queue', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const driver = queue.drive();
  await clock.sleep(100_000);
  await clock.sleep(5);
  t.equal(queue.nowMs, 100_005);
  driver.stop();
  let slept = false;
  void clock.sleep(1).then(() => {
    slept = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(slept, false);
});

t.test('EventQueue: many events → thousands per real second', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const startMs = performance.now();
  const loop = async () => {
    for (let i = 0; i < 2000; i++) await clock.sleep(1);
  };
  await queue.complete(Promise.all(Array.from({ length: 10 }, loop)));
  const perSecond = Math.round(queue.eventsCount / ((performance.now() - startMs) / 1000));
  t.comment(`${perSecond} events/s`);
  t.ok(perSecond > 5000, `${perSecond} events/s`);
});
