import t from 'tap';
import { casLoop } from './cas-loop.js';
import { SimClock } from './sim/clock.js';
import { EventQueue } from './sim/event-queue.js';

/** A versioned value that takes simulated time to read and write. */
function world() {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const random = queue.random;
  const stored = { value: [] as number[], version: 0, reads: 0, conflicts: 0 };
  const target = {
    name: 'the list',
    read: async () => {
      await clock.sleep(random.between(1, 3));
      stored.reads++;
      return { value: stored.value, version: stored.version };
    },
    write: async (value: number[], version: number) => {
      await clock.sleep(random.between(1, 3));
      if (version !== stored.version) {
        stored.conflicts++;
        throw new Error('conflict');
      }
      stored.value = value;
      return ++stored.version;
    },
    isConflict: (error: unknown) => (error as Error).message === 'conflict',
  };
  return { queue, clock, random, stored, target };
}

t.test('casLoop: ten writers at once → every change is there, once', async (t) => {
  const { queue, clock, random, stored, target } = world();
  const add = (item: number) => casLoop({ target, clock, random, transform: (value) => [...value, item] });
  const results = await queue.complete(Promise.all(Array.from({ length: 10 }, (_, i) => add(i))));
  t.same(
    stored.value.toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  t.ok(stored.conflicts > 0, 'they did conflict');
  t.same(
    results.map(({ version }) => version).sort((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

t.test('casLoop: nothing to change → nothing written', async (t) => {
  const { queue, clock, random, target } = world();
  const result = await queue.complete(casLoop({ target, clock, random, transform: () => undefined }));
  t.same(result, { value: [], version: 0, isChanged: false });
});

t.test('casLoop: known value given → no read; when it is outdated → one', async (t) => {
  const { queue, clock, random, stored, target } = world();
  const run = (version: number) => casLoop({ target, clock, random, transform: (value) => [...value, 1], known: { value: [], version } });
  await queue.complete(run(0));
  t.equal(stored.reads, 0);
  await queue.complete(run(0));
  t.same([stored.reads, stored.value], [1, [1, 1]]);
});

t.test('casLoop: always a conflict → CONTENDED after the attempts; another error or a throwing transform → at once', async (t) => {
  const { queue, clock, random, stored, target } = world();
  const contended = { ...target, write: () => Promise.reject(new Error('conflict')) };
  await t.rejects(queue.complete(casLoop({ target: contended, clock, random, transform: (value) => value, attemptsMax: 3 })), {
    code: 'CAS_CONTENDED',
    retry: 'later',
    message: /the list was changed by others 3 times/,
  });
  t.equal(stored.reads, 3);
  const broken = { ...target, write: () => Promise.reject(new Error('lost')) };
  await t.rejects(queue.complete(casLoop({ target: broken, clock, random, transform: (value) => value })), { message: 'lost' });
  const refuse = () => {
    throw new Error('not allowed');
  };
  await t.rejects(queue.complete(casLoop({ target, clock, random, transform: refuse })), { message: 'not allowed' });
});
