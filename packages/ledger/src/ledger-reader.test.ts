import type { EntryId } from '@daybook/proto';
import t from 'tap';
import type { LedgerReader } from './ledger-api.js';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

const id = (value: number) => value as EntryId;

async function closedLedger(world: SimWorld, count = 20, sizes: readonly [number, number, number] = [3, 3, 2]): Promise<LedgerReader> {
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(...sizes)));
  new Told(writer);
  pushAll(writer, numbered(count));
  await world.runFor(50);
  await world.run(writer.close());
  return world.run(client.openWithRecovery(writer.ledgerId, { password }));
}

t.test('ledger reader: bad ranges → LEDGER_BAD_RANGE without asking anybody', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  for (const [first, last] of [
    [-1, 3],
    [3, 2],
    [0, 20],
    [0.5, 1],
  ] as const) {
    t.equal((await world.rejection(reader.read(id(first), id(last)))).code, 'LEDGER_BAD_RANGE', `${first}..${last}`);
  }
  t.equal(
    [...world.cluster.bookies.values()].reduce((sum, bookie) => sum + bookie.readsCount, 0),
    0,
  );
});

t.test('ledger reader: readBatch → a first part within the byte bound, at least one entry', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  t.equal((await world.run(reader.readBatch(id(0), id(19), 1))).length, 1);
  const some = await world.run(reader.readBatch(id(5), id(19), 200));
  t.ok(some.length > 1 && some.length < 15);
  t.equal(some[0]?.entryId, 5);
});

t.test('ledger reader: replica is down, damaged or has a hole → the next one is asked', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  const { ledgerId } = reader;
  world.cluster.bookie('b1').crash();
  world.cluster.bookie('b2').damage(ledgerId, 4);
  world.cluster.bookie('b3').forget(ledgerId, 9);
  t.same(await world.run(readTexts(reader)), numbered(20));
});

t.test('ledger reader: every replica says no → LEDGER_NO_SUCH_ENTRY; one cannot tell → LEDGER_READ_FAILED', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  for (const name of ['b1', 'b2', 'b3']) world.cluster.bookie(name).forget(reader.ledgerId, 7);
  t.equal((await world.rejection(reader.read(id(7), id(7)))).code, 'LEDGER_NO_SUCH_ENTRY');
  world.cluster.bookie('b2').refuseReads = 'IO_ERROR';
  const error = await world.rejection(reader.read(id(7), id(7)));
  t.equal(error.code, 'LEDGER_READ_FAILED');
  t.match(error.message, /b2: IO_ERROR/);
});

t.test('ledger reader: all copies damaged → LEDGER_READ_FAILED, never wrong bytes', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  for (const name of ['b1', 'b2', 'b3']) world.cluster.bookie(name).damage(reader.ledgerId, 3);
  t.same(await world.run(readTexts(reader, 0, 2)), numbered(3));
  const error = await world.rejection(reader.read(id(0), id(5)));
  t.equal(error.code, 'LEDGER_READ_FAILED');
  t.match(error.message, /DIGEST_MISMATCH/);
});

for (const sizes of [
  [3, 3, 2],
  [5, 3, 2],
] as const) {
  t.test(`ledger reader: replica is silent, E${sizes[0]} → another one is asked after the speculative delay`, async (t) => {
    const world = new SimWorld({ bookiesCount: sizes[0] });
    const reader = await closedLedger(world, 20, sizes);
    for (const name of ['b1', 'b2']) world.cluster.bookie(name).stall();
    const startMs = world.clock.monoMs();
    t.same(await world.run(readTexts(reader, 0, 0)), numbered(1));
    t.ok(world.clock.monoMs() - startMs <= 6_000);
    t.same(await world.run(readTexts(reader)), numbered(20));
    for (const name of ['b1', 'b2']) world.cluster.bookie(name).resume();
    await world.runFor(6_000); // The stalled requests time out.
    t.equal(world.queue.pendingCount, 0, 'no timer is left');
  });
}

t.test('ledger reader: different ledgers → begin at different replicas', async (t) => {
  const world = new SimWorld();
  const readers = [await closedLedger(world, 1), await closedLedger(world, 1), await closedLedger(world, 1)];
  for (const reader of readers) await world.run(readTexts(reader));
  const asked = new Set(readers.map((reader) => reader.metadata.segments[0]?.ensemble[reader.ledgerId % 3]));
  for (const [name, bookie] of world.cluster.bookies) t.equal(bookie.readsCount > 0, asked.has(name), name);
});

t.test('ledger reader: replaced ensemble → a long-lived reader looks at the metadata again', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  new Told(writer);
  pushAll(writer, numbered(3));
  await world.runFor(50);
  const tailer = await world.run(client.openWithoutRecovery(writer.ledgerId, { password }));
  for (const name of writer.metadata.segments[0]?.ensemble ?? []) world.cluster.bookie(name).refuseAppends = 'IO_ERROR';
  for (let i = 3; i < 6; i++) {
    pushAll(writer, numbered(1, i));
    await world.runFor(500);
  }
  t.equal(writer.lastAddConfirmed, 5);
  t.equal(await world.run(tailer.readLastAddConfirmed()), 4);
  t.same(await world.run(readTexts(tailer)), numbered(5));
  await tailer.close();
});

t.test('ledger reader: too few bookies answer → LEDGER_LAC_UNKNOWN, the known end stays', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  await world.run(writer.append(Buffer.from('a')));
  await world.run(writer.append(Buffer.from('b')));
  const tailer = await world.run(client.openWithoutRecovery(writer.ledgerId, { password }));
  t.equal(tailer.lastAddConfirmed, 0);
  world.cluster.bookie('b1').crash();
  t.equal(await world.run(tailer.readLastAddConfirmed()), 0);
  world.cluster.bookie('b2').crash();
  t.equal((await world.rejection(tailer.readLastAddConfirmed())).code, 'LEDGER_LAC_UNKNOWN');
  t.equal(tailer.lastAddConfirmed, 0);
});

t.test('ledger reader: opened while too few bookies answer → the owner can read what it knows to be there', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  await world.run(writer.append(Buffer.from('a')));
  world.cluster.bookie('b1').crash();
  world.cluster.bookie('b2').crash();
  const reader = await world.run(client.openWithoutRecovery(writer.ledgerId, { password }));
  t.equal(reader.lastAddConfirmed, -1);
  const [entry] = await world.run(reader.readUnconfirmed(id(0), id(0), 100));
  t.equal(entry?.payload.toString(), 'a');
});

t.test('ledger reader: ledger deleted → LEDGER_NOT_FOUND once the replicas cannot help', async (t) => {
  const world = new SimWorld();
  const reader = await closedLedger(world);
  world.cluster.store.ledgers.delete(reader.ledgerId);
  t.same(await world.run(readTexts(reader)), numbered(20), 'as long as bookies have it');
  for (const bookie of world.cluster.bookies.values()) bookie.wipe();
  t.equal((await world.rejection(reader.read(id(0), id(1)))).code, 'LEDGER_NOT_FOUND');
});
