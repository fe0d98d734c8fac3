import { deepEqual } from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Disk, DiskFile } from '../disk.js';
import { SimClock } from './clock.js';
import { SimDisk, type SimDiskOptions } from './disk.js';
import { EventQueue } from './event-queue.js';

function newDisk(seed: number, options: Partial<SimDiskOptions> = {}) {
  const queue = new EventQueue({ seed });
  const clock = new SimClock(queue);
  return { queue, clock, disk: new SimDisk({ clock, ...options }) };
}

// The model: what must and what may be there after a crash, kept apart from the disk's own bookkeeping.
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('write' as const, 'durable-write' as const),
      name: fc.nat(2),
      at: fc.nat(1500),
      length: fc.integer({ min: 1, max: 1200 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate' as const), name: fc.nat(2), at: fc.nat(1500) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sync' as const), name: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('rename' as const, 'remove' as const), name: fc.nat(2), to: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sync-directory' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class ModelFile {
  current: Buffer = Buffer.alloc(0);
  durable: Buffer = Buffer.alloc(0);
  /** Every content byte any unsynced change may have left, by position. */
  readonly possible = new Map<number, Set<number>>();

  write(at: number, data: Buffer, isDurable: boolean): void {
    this.current = patched(this.current, at, data);
    if (isDurable) this.durable = patched(this.durable, at, data);
    for (const [i, byte] of data.entries()) this.#mayBe(at + i, byte);
  }

  truncate(bytes: number): void {
    for (let i = 0; i < Math.max(bytes, this.current.length, 3000); i++) this.#mayBe(i, 0);
    this.current = Buffer.concat([this.current.subarray(0, bytes), Buffer.alloc(Math.max(0, bytes - this.current.length))]);
  }

  sync(): void {
    this.durable = this.current;
    this.possible.clear();
  }

  allows(position: number, byte: number): boolean {
    return byte === (this.durable[position] ?? 0) || (this.possible.get(position)?.has(byte) ?? false);
  }

  #mayBe(position: number, byte: number): void {
    const bytes = this.possible.get(position) ?? new Set();
    this.possible.set(position, bytes.add(byte));
  }
}

function patched(before: Buffer, at: number, data: Buffer): Buffer {
  const after = Buffer.alloc(Math.max(before.length, at + data.length));
  before.copy(after);
  data.copy(after, at);
  return after;
}

interface Model {
  names: Map<string, ModelFile>;
  durableNames: Map<string, ModelFile>;
  /** Names touched since the last sync of the directory. */
  unsure: Set<string>;
}

async function play(disk: Disk, steps: readonly Step[]): Promise<Model> {
  const model: Model = { names: new Map(), durableNames: new Map(), unsure: new Set() };
  let fill = 0;
  for (const s of steps) {
    if (s.kind === 'sync-directory') {
      await disk.syncDirectory('/');
      model.durableNames = new Map(model.names);
      model.unsure.clear();
      continue;
    }
    const path = `/f${s.name}`;
    const known = model.names.get(path);
    if (s.kind === 'remove') {
      await disk.remove(path);
      model.names.delete(path);
      model.unsure.add(path);
    } else if (s.kind === 'rename') {
      if (known === undefined || s.to === s.name) continue;
      await disk.rename(path, `/f${s.to}`);
      model.names.delete(path);
      model.names.set(`/f${s.to}`, known);
      model.unsure.add(path).add(`/f${s.to}`);
    } else {
      const modelFile = known ?? new ModelFile();
      if (known === undefined) {
        model.names.set(path, modelFile);
        model.unsure.add(path);
      }
      const file = await disk.open(path, { syncEachWrite: s.kind === 'durable-write' });
      await change(file, modelFile, s, ++fill);
      await file.close();
    }
  }
  return model;
}

async function change(file: DiskFile, model: ModelFile, s: Step, fill: number): Promise<void> {
  if (s.kind === 'write' || s.kind === 'durable-write') {
    const data = Buffer.alloc(s.length, (fill % 255) + 1);
    await file.writeAt(s.at, data);
    model.write(s.at, data, s.kind === 'durable-write');
  } else if (s.kind === 'truncate') {
    await file.truncate(s.at);
    model.truncate(s.at);
  } else {
    await file.sync();
    model.sync();
  }
}

/** Contents after the reboot, by path. */
async function survivors(disk: Disk): Promise<Map<string, Buffer>> {
  const out = new Map<string, Buffer>();
  for (const name of await disk.list('/')) {
    const file = await disk.open(`/${name}`, { mode: 'read' });
    const content = Buffer.alloc(await file.bytes());
    await file.readAt(0, content);
    out.set(`/${name}`, content);
  }
  return out;
}

async function crashed(seed: number, steps: readonly Step[], keep: 'random' | 'all' | 'none') {
  const { queue, disk } = newDisk(seed);
  const model = await queue.complete(play(disk, steps));
  disk.crash({ keep });
  return { model, found: await queue.complete(survivors(disk.boot())) };
}

t.test('SimDisk.crash: keeps nothing unsynced → exactly what was synced', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 30 }), async (seed, steps) => {
      const { model, found } = await crashed(seed, steps, 'none');
      deepEqual(found, new Map([...model.durableNames].map(([path, file]) => [path, file.durable])));
    }),
    { numRuns: 100 },
  );
});

t.test('SimDisk.crash: keeps all → exactly what was there before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 30 }), async (seed, steps) => {
      const { model, found } = await crashed(seed, steps, 'all');
      deepEqual(found, new Map([...model.names].map(([path, file]) => [path, file.current])));
    }),
    { numRuns: 100 },
  );
});

t.test('SimDisk.crash: by chance → synced names stay, each byte is the synced one or one written since', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 30 }), async (seed, steps) => {
      const { model, found } = await crashed(seed, steps, 'random');
      for (const [path, file] of model.durableNames) {
        if (model.unsure.has(path)) continue;
        const content = found.get(path);
        if (content === undefined) throw new Error(`${path} is lost`);
        for (const [position, byte] of content.entries()) {
          if (!file.allows(position, byte)) throw new Error(`${path} has ${byte} at ${position}`);
        }
      }
      for (const path of found.keys()) {
        if (!model.durableNames.has(path) && !model.unsure.has(path)) throw new Error(`${path} came from nowhere`);
      }
    }),
    { numRuns: 200 },
  );
});

/** Replaces a file so that it is the old or the new one after any crash; without `sync` a step that this needs is left out. */
async function replace(disk: Disk, content: Buffer, sync: boolean): Promise<void> {
  const file = await disk.open('/data.new');
  await file.truncate(0);
  await file.writeAt(0, content);
  if (sync) await file.sync();
  await file.close();
  await disk.rename('/data.new', '/data');
  await disk.syncDirectory('/');
}

/** Crashes a replacement at every step, under many seeds; gives what was found wrong. */
async function crashEverywhere(sync: boolean): Promise<string[]> {
  const old = Buffer.alloc(1000, 'o');
  const fresh = Buffer.alloc(3000, 'n');
  const wrong: string[] = [];
  for (let seed = 0; seed < 40; seed++) {
    for (let count = 0; ; count++) {
      const { queue, disk } = newDisk(seed);
      await queue.complete(replace(disk, old, true));
      let done = false;
      disk.crashAfter(count);
      void replace(disk, fresh, sync).then(() => {
        done = true;
      });
      await queue.run();
      if (!disk.isDead) disk.crash();
      const found = (await queue.complete(survivors(disk.boot()))).get('/data');
      const isOld = found?.equals(old) ?? false;
      const isNew = found?.equals(fresh) ?? false;
      if (!(isNew || (isOld && !done))) wrong.push(`seed ${seed}, crash after ${count}: ${found?.length} bytes, done ${done}`);
      if (done) break;
    }
  }
  return wrong;
}

t.test('SimDisk.crashAfter: an atomic replacement crashed at every step → old or new, new once done', async (t) => {
  t.same(await crashEverywhere(true), []);
});

t.test('SimDisk.crashAfter: the same without the sync of the data → the disk shows the mistake', async (t) => {
  t.ok((await crashEverywhere(false)).length > 0);
});

t.test('SimDisk: a new file synced, its folder not → the whole name may be lost', async (t) => {
  const outcomes = new Set<string | undefined>();
  for (let seed = 0; seed < 30; seed++) {
    const { queue, disk } = newDisk(seed);
    const write = async () => {
      const file = await disk.open('/new', { mode: 'create' });
      await file.writeAt(0, Buffer.from('x'));
      await file.sync();
    };
    await queue.complete(write());
    disk.crash();
    outcomes.add(disk.boot().peek('/new')?.toString());
  }
  t.same([...outcomes].sort(), ['x', undefined]);
});

t.test('SimDisk: an unsynced write of several sectors → all, none, or a beginning that ends at a sector', async (t) => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 200; seed++) {
    const { queue, disk } = newDisk(seed);
    const file = await queue.complete(disk.open('/f'));
    await queue.complete(disk.syncDirectory('/'));
    await queue.complete(file.writeAt(100, Buffer.alloc(1000, 1)));
    disk.crash();
    const found = disk.boot().peek('/f') as Buffer;
    t.ok(found.subarray(100).every((byte) => byte === 1));
    lengths.add(found.length);
  }
  t.same(
    [...lengths].sort((a, b) => a - b),
    [0, 512, 1024, 1100],
  );
});

t.test('SimDisk: a write racing with a sync → kept in some crashes, lost in others', async (t) => {
  const kept = new Set<boolean>();
  for (let seed = 0; seed < 40; seed++) {
    const { queue, disk } = newDisk(seed, { faults: { syncMs: { from: 5, to: 5 } } });
    const file = await queue.complete(disk.open('/f'));
    await queue.complete(disk.syncDirectory('/'));
    await queue.complete(file.writeAt(0, Buffer.from('a')));
    const sync = file.sync();
    await queue.complete(file.writeAt(1, Buffer.from('b')));
    await queue.complete(sync);
    disk.crash({ keep: 'none' });
    const found = disk.boot().peek('/f')?.toString();
    t.match(found, /^ab?$/);
    kept.add(found === 'ab');
  }
  t.equal(kept.size, 2);
});
