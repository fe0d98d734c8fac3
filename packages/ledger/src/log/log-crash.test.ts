import { ledgerIdOfPath } from '@daybook/metadata';
import t, { type Test } from 'tap';
import { decodeHead } from './head-format.js';
import type { Log, LogRecord } from './log-api.js';
import type { CrashPoint } from './testing/crashing-store.js';
import { type LogNode, LogWorld } from './testing/log-world.js';

const options = { outputBufferBytes: 1, segmentMsMax: 60_000 };
const head = '/daybook/logs/a/<default>/ledgers';

/** What one writer did: which records it began to write, and how many of them were acknowledged. */
class Writes {
  readonly begun: string[] = [];
  acknowledged = 0;
}

/** The life of a writer: it opens, writes, rolls with writes under way, truncates, purges, closes. Ends early when its process dies. */
async function life(node: LogNode, writes: Writes): Promise<void> {
  const log = (await node.logs.exists('a')) ? await node.logs.open('a') : await node.logs.create('a');
  const writer = await log.openWriter({ owner: node.name });
  let txId = Math.max(0, writer.lastTxId);
  const write = async () => {
    const text = `${node.name} ${++txId}`;
    writes.begun.push(text);
    await writer.write(txId, Buffer.from(text));
    writes.acknowledged++;
  };
  await write();
  await write();
  await Promise.all([writer.roll(), write(), write()]);
  await node.clock.sleep(20);
  await Promise.all([write(), writer.roll()]);
  await write();
  await writer.close();
}

async function readAll(world: LogWorld, log: Log): Promise<LogRecord[]> {
  const reader = await world.run(log.openReader());
  const out: LogRecord[] = [];
  for (let records = await world.run(reader.read()); records.length > 0; records = await world.run(reader.read())) out.push(...records);
  await world.run(reader.close());
  return out;
}

/** Runs until it is done or dead. */
async function live(world: LogWorld, node: LogNode, writes: Writes): Promise<void> {
  let isDone = false;
  const running = life(node, writes).then(() => {
    isDone = true;
  });
  await world.queue.run({ until: () => isDone || node.store.isCrashed, untilMs: world.queue.nowMs + 60_000 });
  if (isDone) await running;
}

function ledgersOf(world: LogWorld): Set<number> {
  const found = new Set<number>();
  const walk = (path: string) => {
    const id = ledgerIdOfPath(path);
    if (id !== undefined) found.add(Number(id));
    for (const name of world.tree.tree.children(path)) walk(`${path}/${name}`);
  };
  walk('/ledgers');
  return found;
}

/** After a crash: the next writer finds everything in order, whatever it was; nothing acknowledged is missing; nothing that is not needed stays. */
async function check(t: Test, world: LogWorld, all: readonly Writes[], what: string): Promise<void> {
  const last = world.node(options);
  const log = (await world.run(last.logs.exists('a'))) ? await world.run(last.logs.open('a')) : await world.run(last.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1_000, Buffer.from('the last')));
  await world.run(writer.close());
  const records = await readAll(world, log);
  const texts = records.map((record) => record.payload.toString());
  // Each writer's records that are there: all that were acknowledged, and perhaps one that was under way; in order, once, and after those of the writer before.
  let at = 0;
  for (const writes of all) {
    let count = 0;
    while (at + count < texts.length && texts[at + count] === writes.begun[count]) count++;
    t.ok(count >= writes.acknowledged, `${what}: ${count} of ${writes.begun.length} are there, ${writes.acknowledged} were acknowledged`);
    at += count;
  }
  t.same(texts.slice(at), ['the last'], what);
  t.same(
    records.map(({ sequenceId }) => sequenceId),
    records.map((_, i) => i),
    what,
  );

  const segments = await world.run(log.segments());
  t.ok(
    segments.every(({ kind }) => kind === 'completed'),
    what,
  );
  const value = world.tree.tree.get(head)?.value as Buffer;
  t.match(decodeHead(value, 'head'), { allocated: undefined, inProgress: [] }, what);
  // A ledger that was created but not yet named by the head is the one thing that may be left.
  const left = [...ledgersOf(world)].filter((id) => !segments.some(({ ledgerId }) => ledgerId === id));
  t.ok(left.length <= all.length, `${what}: ledgers ${left} are left`);
}

/** How many writes to the metadata a life has. */
async function writesOf(before: (world: LogWorld) => Promise<void>): Promise<number> {
  const world = new LogWorld();
  await before(world);
  const node = world.node(options);
  await live(world, node, new Writes());
  return node.store.writesCount;
}

const points = (count: number): CrashPoint[] =>
  Array.from({ length: count }, (_, i) => [
    { call: i + 1, when: 'before' as const },
    { call: i + 1, when: 'after' as const },
  ]).flat();

t.test('log: writer dies at each write to the metadata, before or after it takes effect → the next one finds everything in order', async (t) => {
  const count = await writesOf(async () => undefined);
  t.ok(count > 20, `${count} writes`);
  for (const point of points(count)) {
    const world = new LogWorld();
    const node = world.node(options);
    node.store.crashAt(point);
    const writes = new Writes();
    await live(world, node, writes);
    t.ok(node.store.isCrashed, 'it died');
    await check(t, world, [writes], `${point.when} write ${point.call}`);
  }
});

t.test(
  'log: writer dies while it rolls, and so does the one that recovers, at each of its writes → the third finds everything in order',
  async (t) => {
    const count = await writesOf(async () => undefined);
    for (const first of points(count).filter(({ call }) => call > count / 2 && call % 5 === 0)) {
      const dies = async (world: LogWorld) => {
        const node = world.node(options);
        node.store.crashAt(first);
        const writes = new Writes();
        await live(world, node, writes);
        return writes;
      };
      const recovering = await writesOf(async (world) => void (await dies(world)));
      for (const second of points(Math.min(recovering, 10))) {
        const world = new LogWorld();
        const writes = [await dies(world), new Writes()];
        const node = world.node(options);
        node.store.crashAt(second);
        await live(world, node, writes[1] as Writes);
        await check(t, world, writes, `${first.when} write ${first.call}, then ${second.when} write ${second.call}`);
      }
    }
  },
);

t.test('log: purging or deleting dies at each write → done again, nothing is left', async (t) => {
  const prepared = async () => {
    const world = new LogWorld();
    const node = world.node(options);
    const log = await world.run(node.logs.create('a'));
    const writer = await world.run(log.openWriter());
    for (let txId = 1; txId <= 3; txId++) {
      await world.run(writer.write(txId, Buffer.from(`${txId}`)));
      await world.run(writer.roll());
    }
    await world.run(writer.close());
    return world;
  };
  const attempt = async (world: LogWorld, point: CrashPoint | undefined, work: (node: LogNode) => Promise<void>) => {
    const node = world.node(options);
    node.store.crashAt(point ?? { call: Number.POSITIVE_INFINITY, when: 'before' });
    let isDone = false;
    const running = work(node).then(() => {
      isDone = true;
    });
    await world.queue.run({ until: () => isDone || node.store.isCrashed, untilMs: world.queue.nowMs + 60_000 });
    if (isDone) await running;
    return node.store.writesCount;
  };
  const recover = async (node: LogNode) => (await node.logs.open('a')).recover();
  const purge = async (node: LogNode) => (await node.logs.open('a')).purgeOlderThan(3);
  for (const point of points(await attempt(await prepared(), undefined, purge))) {
    const world = await prepared();
    await attempt(world, point, purge);
    const isBegun = decodeHead(world.tree.tree.get(head)?.value as Buffer, 'head').firstSequence === 3;
    // What was begun the next owner ends, too.
    await attempt(world, undefined, isBegun ? recover : purge);
    const log = await world.run(world.node().logs.open('a'));
    t.same(
      (await readAll(world, log)).map(({ txId }) => txId),
      [3],
    );
    t.equal(ledgersOf(world).size, 1, `${point.when} write ${point.call}`);
    t.same(world.tree.tree.children(head), ['logrecs_000000000000000003']);
  }
  const remove = (node: LogNode) => node.logs.delete('a');
  for (const point of points(await attempt(await prepared(), undefined, remove))) {
    const world = await prepared();
    await attempt(world, point, remove);
    // Deleting again, or making a new log of that name, ends what was begun.
    const node = world.node();
    if (await world.run(node.logs.exists('a'))) await world.run(node.logs.delete('a'));
    await world.run(node.logs.create('a'));
    t.equal(ledgersOf(world).size, 0, `${point.when} write ${point.call}`);
    t.same(world.tree.tree.children(head), []);
  }
});
