import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { testMetadataStore } from './conformance.js';
import { type EmbeddedStore, openEmbeddedStore } from './embedded-store.js';

const bytes = (text: string) => Buffer.from(text);
const directory = '/data/metadata';

function world(seed: number | string = 1) {
  const queue = new EventQueue({ seed });
  const disk = new SimDisk({ clock: new SimClock(queue) });
  return { queue, disk };
}

await testMetadataStore(t, 'embedded store', async () => {
  const { queue, disk } = world();
  const driver = queue.drive();
  const first = await openEmbeddedStore({ disk, directory });
  let last: EmbeddedStore = first;
  return {
    first,
    second: first,
    endFirst: async () => {
      disk.kill();
      last = await openEmbeddedStore({ disk: disk.boot(new SimClock(queue)), directory });
      return last;
    },
    close: async () => {
      await last.close();
      driver.stop();
    },
  };
});

t.test('embedded store: 1,000 puts at once -> a handful of log writes, and all are there after a crash', async (tt) => {
  const { queue, disk } = world();
  let writes = 0;
  const store = await queue.complete(openEmbeddedStore({ disk, directory }));
  disk.afterOperation = ({ kind }) => {
    if (kind === 'write' || kind === 'sync') writes++;
  };
  await queue.complete(Promise.all(Array.from({ length: 1000 }, (_, i) => store.put(`/n/${i}`, bytes(`${i}`), 'absent'))));
  tt.ok(writes <= 3, `${writes} writes and syncs`);
  disk.crash({ keep: 'none' });
  const again = await queue.complete(openEmbeddedStore({ disk: disk.boot(new SimClock(queue)), directory }));
  tt.equal((await queue.complete(again.children('/n'))).length, 1000);
  await queue.complete(again.close());
});

t.test('embedded store: writes that trickle in during a sync -> come along in the next one', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory }));
  disk.setFaults({ writeMs: { from: 1, to: 1 } });
  let writes = 0;
  disk.afterOperation = () => writes++;
  const all: Promise<unknown>[] = [];
  for (let i = 0; i < 100; i++) {
    all.push(store.put('/n', bytes(`${i}`), 'any'));
    await queue.runFor(0.1);
  }
  await queue.complete(Promise.all(all));
  tt.ok(writes >= 5 && writes <= 15, `${writes} writes for 100 puts over 10 ms with 1 ms each`);
  await queue.complete(store.close());
});

t.test('embedded store: crash at any disk operation -> every acknowledged write is there, in order, none by half', async (tt) => {
  let runs = 0;
  let cut = 0;
  for (const keep of ['random', 'none', 'all'] as const) {
    for (let operation = 0; ; operation++) {
      const result = await runAndCrash(operation, keep);
      runs += 1;
      if (result.problem !== undefined) {
        tt.fail(`crash in disk operation ${operation}, unsynced changes kept: ${keep}: ${result.problem}`);
        break;
      }
      if (!result.crashed) break;
      cut += 1;
    }
  }
  tt.ok(cut > 150, `${cut} crashes in ${runs} runs`);
});

interface Model {
  values: Map<string, { value: string; version: number }>;
  sequence: number;
}

/** A workload with several generations, cut at one disk operation; then what is found must be the state after some call, no earlier than the last answered one. */
async function runAndCrash(operation: number, keep: 'random' | 'none' | 'all'): Promise<{ crashed: boolean; problem?: string }> {
  const { queue, disk } = world(`${keep} ${operation}`);
  disk.crashAfter(operation, { keep });
  const states: string[] = [describe({ values: new Map(), sequence: 0 })];
  let answered = 0;
  const workload = async () => {
    const store = await openEmbeddedStore({ disk, directory, logBytesMax: 1_500 });
    const model: Model = { values: new Map(), sequence: 0 };
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 4 }, async (_, i) => {
          const done = issue(store, model, round * 4 + i);
          states.push(describe(model));
          const position = states.length - 1;
          await done;
          answered = Math.max(answered, position);
        }),
      );
    }
    await store.close();
  };
  const running = workload();
  running.catch(() => undefined);
  let finished = false;
  running.then(
    () => {
      finished = true;
    },
    () => undefined,
  );
  await queue.run({ until: () => disk.isDead || finished });
  const crashed = disk.isDead;
  await queue.runFor(100);
  if (!crashed) disk.crashAfter(Number.POSITIVE_INFINITY);
  const rebooted = crashed ? await crashInRecovery(queue, disk, { operation: operation % 14, keep }) : disk;
  try {
    const store = await queue.complete(openEmbeddedStore({ disk: rebooted, directory, logBytesMax: 1_500 }));
    const found = await queue.complete(read(store));
    const position = states.lastIndexOf(found);
    if (position < 0) return { crashed, problem: `found ${found}, which never was` };
    if (position < answered) return { crashed, problem: `found state ${position}, but ${answered} was answered` };
    await queue.complete(store.put('/after', bytes('x'), 'absent'));
    await queue.complete(store.close());
    const again = await queue.complete(openEmbeddedStore({ disk: rebooted, directory }));
    if ((await queue.complete(again.get('/after'))) === undefined) return { crashed, problem: 'a write after the recovery was lost' };
    await queue.complete(again.close());
  } catch (error) {
    return { crashed, problem: (error as Error).message };
  }
  return { crashed };
}

/** Opens once and crashes again meanwhile: recovery itself may be cut anywhere. */
async function crashInRecovery(queue: EventQueue, disk: SimDisk, how: { operation: number; keep: 'random' | 'none' | 'all' }): Promise<SimDisk> {
  const booted = disk.boot(new SimClock(queue));
  booted.crashAfter(how.operation, { keep: how.keep });
  openEmbeddedStore({ disk: booted, directory, logBytesMax: 1_500 }).catch(() => undefined);
  await queue.runFor(100);
  if (!booted.isDead) booted.kill();
  return booted.boot(new SimClock(queue));
}

function issue(store: EmbeddedStore, model: Model, n: number): Promise<unknown> {
  const path = `/v/${n % 7}`;
  const before = model.values.get(path);
  if (n % 5 === 4 && before !== undefined) {
    model.values.delete(path);
    return store.delete(path, before.version);
  }
  if (n % 3 === 2) {
    const name = `/v/s-${String(model.sequence).padStart(10, '0')}`;
    model.sequence += 1;
    model.values.set(name, { value: `${n}`, version: 0 });
    return store.put('/v/s-', bytes(`${n}`), 'absent', { sequential: true });
  }
  const value = `${n} ${'x'.repeat((n * 37) % 200)}`;
  model.values.set(path, { value, version: before === undefined ? 0 : before.version + 1 });
  return store.put(path, bytes(value), before === undefined ? 'absent' : before.version);
}

function describe(model: Model): string {
  const values = [...model.values].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, { value, version }]) => [path, value, version]);
  return JSON.stringify(values);
}

async function read(store: EmbeddedStore): Promise<string> {
  const out: unknown[] = [];
  for (const name of await store.children('/v')) {
    const found = await store.get(`/v/${name}`);
    out.push([`/v/${name}`, found?.value.toString(), found?.version]);
  }
  return JSON.stringify(out);
}

t.test('embedded store: log folded into snapshots -> files stay small, everything is found, counters too', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory, logBytesMax: 10_000 }));
  for (let i = 0; i < 2_000; i++) await queue.complete(store.put('/hot', bytes(`${i} ${'y'.repeat(50)}`), 'any'));
  const { path } = await queue.complete(store.put('/q/n-', bytes(''), 'absent', { sequential: true }));
  await queue.complete(store.delete(path, 'any'));
  for (let i = 0; i < 200; i++) await queue.complete(store.put('/hot', bytes(`last ${i} ${'z'.repeat(50)}`), 'any'));
  await queue.complete(store.close());
  const names = await queue.complete(disk.list(directory));
  tt.equal(names.filter((name) => name.startsWith('log-')).length, 1, names.join(' '));
  let total = 0;
  for (const name of names) total += disk.peek(`${directory}/${name}`)?.length ?? 0;
  tt.ok(total < 25_000, `${total} bytes in ${names.join(' ')}`);
  const again = await queue.complete(openEmbeddedStore({ disk, directory }));
  const hot = await queue.complete(again.get('/hot'));
  tt.equal(hot?.version, 2_199);
  tt.equal((await queue.complete(again.put('/q/n-', bytes(''), 'absent', { sequential: true }))).path, '/q/n-0000000001');
  await queue.complete(again.close());
});

t.test('embedded store: damaged byte -> in the last record it ends the replay, anywhere else opening is refused with file and offset', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory, logBytesMax: 600 }));
  for (let i = 0; i < 20; i++) await queue.complete(store.put(`/n/${i}`, bytes(`value ${i}`), 'absent'));
  await queue.complete(store.close());
  const names = (await queue.complete(disk.list(directory))).filter((name) => name !== 'lock');
  tt.equal(names.length, 2, 'a snapshot and a log');
  let refused = 0;
  let shortened = 0;
  for (const name of names) {
    const path = `${directory}/${name}`;
    const length = disk.peek(path)?.length ?? 0;
    for (let position = 0; position < length; position++) {
      // Bytes 20-23 of a header are padding that nothing depends on.
      if (position >= 20 && position < 24) continue;
      const { disk: copy, queue: time } = await copyOf(disk, queue);
      copy.flipBit(path, position, position % 8);
      try {
        const damaged = await time.complete(openEmbeddedStore({ disk: copy, directory }));
        const count = (await time.complete(damaged.children('/n'))).length;
        tt.equal(count, 19, `${name} ${position}: only the last record may go`);
        shortened += 1;
        await time.complete(damaged.close());
      } catch (error) {
        tt.match(error, { code: 'METADATA_CORRUPT', message: new RegExp(`${path}, offset \\d+`) }, `${name} ${position}`);
        refused += 1;
      }
    }
  }
  tt.ok(refused > 500, `${refused} refused`);
  tt.ok(shortened > 20 && shortened < 80, `${shortened} taken for a torn last record`);
});

t.test('embedded store: log cut at every length -> opens with what is whole', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory }));
  const ends: number[] = [];
  for (let i = 0; i < 8; i++) {
    await queue.complete(store.put('/n', bytes(`${i}`), 'any'));
    ends.push(disk.peek(`${directory}/log-0`)?.length ?? 0);
  }
  await queue.complete(store.close());
  for (let length = 0; length <= (ends.at(-1) as number); length++) {
    const { disk: copy, queue: time } = await copyOf(disk, queue);
    const file = await time.complete(copy.open(`${directory}/log-0`));
    await time.complete(file.truncate(length));
    const cut = await time.complete(openEmbeddedStore({ disk: copy, directory }));
    const whole = ends.filter((end) => end <= length).length;
    tt.equal((await time.complete(cut.get('/n')))?.version, whole === 0 ? undefined : whole - 1, `${length} bytes`);
    await time.complete(cut.close());
  }
});

t.test('embedded store: log or snapshot missing -> refused, never taken for a new store', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory, logBytesMax: 100 }));
  for (let i = 0; i < 20; i++) await queue.complete(store.put('/n', bytes(`${i}`), 'any'));
  await queue.complete(store.close());
  const names = (await queue.complete(disk.list(directory))).filter((name) => name !== 'lock');
  for (const name of names) {
    const { disk: copy, queue: time } = await copyOf(disk, queue);
    await time.complete(copy.remove(`${directory}/${name}`));
    await tt.rejects(time.complete(openEmbeddedStore({ disk: copy, directory })), { code: 'METADATA_CORRUPT' }, name);
  }
});

t.test('embedded store: disk full -> METADATA_UNAVAILABLE, nothing changed, works again with room', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory, onFailure: (error) => tt.fail(error.message) }));
  await queue.complete(store.put('/a', bytes('0'), 'absent'));
  disk.setCapacityBytes(500);
  const results = await queue.complete(
    Promise.allSettled([
      store.put('/a', Buffer.alloc(1000), 0),
      store.put('/a', bytes('2'), 1),
      store.put('/new/x', bytes('x'), 'absent'),
      store.delete('/a', 2),
    ]),
  );
  for (const each of results) tt.match(each, { status: 'rejected', reason: { code: 'METADATA_UNAVAILABLE', retry: 'later' } });
  tt.strictSame((await queue.complete(store.get('/a')))?.value, bytes('0'));
  tt.strictSame(await queue.complete(store.children('/')), ['a']);
  disk.setCapacityBytes(1_000_000);
  tt.equal((await queue.complete(store.put('/a', bytes('1'), 0))).version, 1);
  await queue.complete(store.close());
  const again = await queue.complete(openEmbeddedStore({ disk, directory }));
  tt.strictSame((await queue.complete(again.get('/a')))?.value, bytes('1'));
  await queue.complete(again.close());
});

t.test('embedded store: failing disk -> the write and all later calls reject, onFailure is told, the session is lost', async (tt) => {
  const { queue, disk } = world();
  const failures: Error[] = [];
  const store = await queue.complete(openEmbeddedStore({ disk, directory, onFailure: (error) => failures.push(error) }));
  await queue.complete(store.put('/a', bytes('0'), 'absent'));
  disk.failNextWrite();
  await tt.rejects(queue.complete(store.put('/a', bytes('1'), 0)), { code: 'METADATA_UNAVAILABLE' });
  await tt.rejects(queue.complete(store.get('/a')), { code: 'METADATA_UNAVAILABLE' });
  await tt.rejects(queue.complete(store.put('/b', bytes('1'), 'any')), { code: 'METADATA_UNAVAILABLE' });
  tt.equal(failures.length, 1);
  tt.equal(store.session, 'lost');
});

t.test('embedded store: opened twice -> the second one is refused until the first one is closed', async (tt) => {
  const { queue, disk } = world();
  const store = await queue.complete(openEmbeddedStore({ disk, directory }));
  await tt.rejects(queue.complete(openEmbeddedStore({ disk: disk.boot(new SimClock(queue)), directory })), { code: 'DISK_LOCKED' });
  await queue.complete(store.close());
  const again = await queue.complete(openEmbeddedStore({ disk, directory }));
  await queue.complete(again.close());
});

async function copyOf(disk: SimDisk, queue: EventQueue): Promise<{ disk: SimDisk; queue: EventQueue }> {
  const names = await queue.complete(disk.list(directory));
  const copy = world();
  await copy.queue.complete(copy.disk.makeDirectory(directory));
  for (const name of names.filter((each) => each !== 'lock')) {
    const content = disk.peek(`${directory}/${name}`) ?? Buffer.alloc(0);
    const file = await copy.queue.complete(copy.disk.open(`${directory}/${name}`));
    await copy.queue.complete(file.writeAt(0, content));
    await copy.queue.complete(file.sync());
    await copy.queue.complete(file.close());
  }
  return copy;
}
