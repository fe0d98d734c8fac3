import t from 'tap';
import type { StoredEntry } from '../managed-ledger/managed-ledger-api.js';
import { EntryReader } from './entry-reader.js';
import { names, TopicWorld } from './testing/topic-world.js';

async function open(): Promise<{ world: TopicWorld; reader: EntryReader; received: StoredEntry[][]; wakes: { count: number } }> {
  const world = await TopicWorld.open();
  const received: StoredEntry[][] = [];
  const wakes = { count: 0 };
  const reader: EntryReader = new EntryReader({
    clock: world.clock,
    log: world.log,
    start: world.log.beforeFirst,
    entriesMax: 4,
    bytesMax: 1024,
    received: (entries) => {
      received.push([...entries]);
      reader.position = entries.at(-1)!.position;
    },
    wake: () => {
      wakes.count++;
    },
    failed: () => {},
  });
  return { world, reader, received, wakes };
}

t.test('entry reader: a backlog → one read at a time, each twice as large as the last, up to ten times; at the end small again', async (t) => {
  const { world, reader, received } = await open();
  await world.publish(...names('m', 300));
  while (!reader.isWaitingForAppend) {
    reader.readNew(1000);
    t.equal(reader.canRead, reader.isWaitingForAppend);
    await world.settle();
  }
  t.same(
    received.map((entries) => entries.length),
    [4, 8, 16, 32, 40, 40, 40, 40, 40, 40],
  );
  t.equal(reader.entriesMax, 4);
});

t.test('entry reader: at the end → woken once by the next append; closed → never', async (t) => {
  const { world, reader, wakes } = await open();
  reader.readNew(10);
  reader.readNew(10);
  await world.publish('a', 'b');
  t.equal(wakes.count, 1);
  reader.readNew(10);
  await world.settle();
  reader.readNew(10);
  reader.close();
  await world.publish('c');
  t.equal(wakes.count, 1);
  t.equal(world.log.waitingCount, 0);
});

t.test('entry reader: closed during a read → what comes is not handed on', async (t) => {
  const { world, reader, received } = await open();
  await world.publish('a');
  reader.readNew(10);
  reader.close();
  await world.settle();
  t.same(received, []);
});
