import { type EntryId, entryPayloadBytesMax } from '@daybook/proto';
import t from 'tap';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);

t.test('ledger writer: pushes of one turn → one batch per bookie, confirmations per watermark', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  pushAll(writer, numbered(100));
  t.equal(writer.lastAddPushed, 99);
  t.equal(writer.lastAddConfirmed, -1, 'nothing is confirmed from inside push');
  await world.runFor(1);
  t.same(told.confirmations, [99]);
  t.same(
    [...world.cluster.bookies.values()].map((bookie) => bookie.appendsCount),
    [1, 1, 1],
  );
  t.equal(writer.pendingBytes, 0);
  await world.runFor(1_000);
  t.equal(world.queue.pendingCount, 0, 'an idle writer has no timer');
});

t.test('ledger writer: E > Qw → each bookie gets only its entries, all can be read', async (t) => {
  const world = new SimWorld({ bookiesCount: 5 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(5, 2, 2)));
  const told = new Told(writer);
  pushAll(writer, numbered(50));
  await world.runFor(1);
  t.equal(told.confirmed, 49);
  const { ensemble } = writer.metadata.segments[0] as (typeof writer.metadata.segments)[number];
  for (let id = 0; id < 50; id++) {
    const holders = ensemble.flatMap((name, index) => (world.cluster.bookie(name).holds(writer.ledgerId, id) ? [index] : []));
    t.same(
      holders.sort((a, b) => a - b),
      [id % 5, (id + 1) % 5].sort((a, b) => a - b),
    );
  }
  await world.run(writer.close());
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(reader)), numbered(50));
});

t.test('ledger writer: window full → isFull, onDrain once there is room; append waits by itself', async (t) => {
  const world = new SimWorld({ delayMs: 10 });
  const { client } = world.cluster.connect({ options: { windowBytes: 4_096 } });
  const writer = await world.run(client.create(e3));
  const appended = Array.from({ length: 40 }, (_, i) => writer.append(Buffer.alloc(1_000, i)));
  t.ok(writer.isFull);
  t.throws(() => writer.push(Buffer.from('x')), /onDrain/);
  let drainedAtBytes = -1;
  writer.onDrain(() => {
    drainedAtBytes = writer.pendingBytes;
  });
  t.equal(drainedAtBytes, -1);
  const ids = await world.run(Promise.all(appended));
  t.same(
    ids,
    Array.from({ length: 40 }, (_, i) => i),
  );
  t.ok(drainedAtBytes >= 0 && drainedAtBytes < 4_096);
  await world.runFor(50);
  t.equal(writer.pendingBytes, 0);
});

t.test('ledger writer: entry too large → refused, the ledger goes on', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  t.throws(() => writer.push(Buffer.alloc(entryPayloadBytesMax + 1)), { code: 'LEDGER_TOO_LARGE' });
  t.equal(await world.run(writer.append(Buffer.alloc(entryPayloadBytesMax))), 0);
  t.equal(writer.length, entryPayloadBytesMax);
});

t.test('ledger writer: close → entries not confirmed fail with LEDGER_CLOSED, the length counts only confirmed ones', async (t) => {
  const world = new SimWorld({ delayMs: 50 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  pushAll(writer, ['12345']);
  await world.runFor(100);
  pushAll(writer, ['lost', 'too']);
  const closing = writer.close();
  t.equal(told.error?.code, 'LEDGER_CLOSED');
  t.equal(told.confirmedAtFailure, 0);
  t.same(await world.run(closing), { lastEntryId: 0, length: 5 });
  t.same(await world.run(writer.close()), { lastEntryId: 0, length: 5 }, 'idempotent');
  t.throws(() => writer.push(Buffer.from('x')), { code: 'LEDGER_CLOSED' });
  t.match((await world.run(client.metadata(writer.ledgerId))).state, 'CLOSED');
});

t.test('ledger writer: close while the metadata store is away → rejected, works when called again', async (t) => {
  const world = new SimWorld();
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  records.isUnavailable = true;
  t.equal((await world.rejection(writer.close())).code, 'METADATA_UNAVAILABLE');
  records.isUnavailable = false;
  t.same(await world.run(writer.close()), { lastEntryId: -1, length: 0 });
});

t.test('ledger writer: bookie dies, a spare is up → ensemble change at lastConfirmed + 1, unconfirmed entries go to the spare', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 5 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  pushAll(writer, numbered(10));
  await world.runFor(20);
  const before = writer.metadata.segments[0]?.ensemble ?? [];
  const dead = before[1] as string;
  const spare = [...world.cluster.bookies.keys()].find((name) => !before.includes(name)) as string;
  world.cluster.bookie(dead).crash(); // Still registered: its session has not timed out.
  pushAll(writer, numbered(5, 10));
  await world.runFor(500);
  t.equal(told.confirmed, 14);
  t.same(
    writer.metadata.segments.map((segment) => segment.firstEntryId),
    [0, 10],
  );
  t.equal(writer.metadata.segments[1]?.ensemble[1], spare);
  t.notOk(writer.isDegraded);
  for (let id = 10; id < 15; id++) t.ok(world.cluster.bookie(spare).holds(writer.ledgerId, id));
  t.same(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.segments, writer.metadata.segments);
});

t.test(
  'ledger writer: several bookies fail one after the other, also the one just taken in → all entries end up on Qa of the stored ensemble',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 7, delayMs: 5 });
    const { client, records } = world.cluster.connect();
    records.delayMs = 20;
    const writer = await world.run(client.create(e3));
    const told = new Told(writer);
    pushAll(writer, numbered(3));
    await world.runFor(2);
    const [first, second] = writer.metadata.segments[0]?.ensemble ?? [];
    world.cluster.bookie(first as string).crash();
    await world.runFor(15);
    world.cluster.bookie(second as string).crash(); // While the change for the first is being stored.
    pushAll(writer, numbered(3, 3));
    await world.runFor(200);
    const joined = writer.metadata.segments.at(-1)?.ensemble[0] as string;
    t.not(joined, first);
    world.cluster.bookie(joined).crash();
    pushAll(writer, numbered(3, 6));
    await world.runFor(1_000);
    t.equal(told.confirmed, 8);
    t.notOk(writer.isDegraded);
    await world.run(writer.close());
    const { metadata } = writer;
    for (let id = 0; id <= 8; id++) {
      const segment = metadata.segments.findLast((one) => one.firstEntryId <= id);
      const copies = segment?.ensemble.filter((name) => world.cluster.bookie(name).holds(writer.ledgerId, id)).length ?? 0;
      t.ok(copies >= 2, `entry ${id} has ${copies} copies`);
    }
  },
);

t.test('ledger writer: no spare → goes on degraded without a change, readmits the bookie when it is back', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  world.cluster.kill('b2');
  pushAll(writer, numbered(5));
  await world.runFor(100);
  t.equal(told.confirmed, 4, 'Qa of 2 are left');
  t.ok(writer.isDegraded);
  t.same(writer.failedBookies, ['b2']);
  t.equal(writer.metadata.segments.length, 1, 'it keeps its place');
  world.cluster.restart('b2');
  await world.runFor(100);
  t.notOk(writer.isDegraded);
  pushAll(writer, numbered(5, 5));
  await world.runFor(20);
  t.equal(told.confirmed, 9);
  t.ok(world.cluster.bookie('b2').holds(writer.ledgerId, 5));
  t.notOk(world.cluster.bookie('b2').holds(writer.ledgerId, 4), 'what was confirmed meanwhile is for repair to copy');
  t.equal(writer.pendingBytes, 0);
});

t.test('ledger writer: no spare at first → changes to one when it comes up', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  new Told(writer);
  world.cluster.kill('b3');
  pushAll(writer, numbered(2));
  await world.runFor(100);
  t.ok(writer.isDegraded);
  world.cluster.addBookie('b4');
  await world.runFor(50);
  t.notOk(writer.isDegraded);
  t.ok(writer.metadata.segments.at(-1)?.ensemble.includes('b4' as never));
});

t.test('ledger writer: fewer than Qa left → appends wait, go on when one is back in time', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  world.cluster.kill('b1');
  world.cluster.kill('b2');
  pushAll(writer, numbered(5));
  await world.runFor(20_000);
  t.equal(told.confirmed, -1);
  t.equal(told.error, undefined);
  world.cluster.restart('b1');
  await world.runFor(1_000);
  t.equal(told.confirmed, 4);
});

t.test('ledger writer: fewer than Qa left for too long → LEDGER_NOT_ENOUGH_BOOKIES that names who is missing', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  world.cluster.kill('b1');
  world.cluster.kill('b2');
  pushAll(writer, numbered(5));
  await world.runFor(31_000);
  t.equal(told.error?.code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  t.match(told.error?.message, /2 writable bookies are needed; up: b3; not usable: .*b1 \(UNAVAILABLE\)/);
  t.equal(told.confirmedAtFailure, -1);
  t.same(await world.run(writer.close()), { lastEntryId: -1, length: 0 }, 'and it can be closed');
});

t.test('ledger writer: bookie never answers → fails after the append time-out, confirmations do not wait for it', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  world.cluster.bookie('b2').loseReplies = true;
  pushAll(writer, numbered(2));
  await world.runFor(10);
  t.equal(told.confirmed, 1);
  await world.runFor(4_000);
  t.notOk(writer.isDegraded);
  t.ok(writer.pendingBytes > 0, 'kept for it');
  await world.runFor(1_500);
  t.equal(writer.pendingBytes, 0);
});

t.test('ledger writer: this process stood still → nobody is judged by the first late tick', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 300 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  new Told(writer);
  pushAll(writer, numbered(1));
  await world.runFor(100);
  world.clock.pause();
  await world.runFor(60_000);
  world.clock.resume();
  await world.runFor(1_000);
  t.notOk(writer.isDegraded);
  t.equal(writer.lastAddConfirmed, 0);
});

t.test('ledger writer: slow bookie falls behind by the byte bound → counts as failed, memory stays bounded (P15)', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect({ options: { windowBytes: 100_000, lagBytesMax: 50_000 } });
  const writer = await world.run(client.create(e3));
  new Told(writer);
  world.cluster.bookie('b3').delayMs = 3_000;
  let peakBytes = 0;
  for (let i = 0; i < 300; i++) {
    if (!writer.isFull) writer.push(Buffer.alloc(1_000));
    peakBytes = Math.max(peakBytes, writer.pendingBytes);
    await world.runFor(10);
  }
  t.ok(peakBytes <= 102_000, `at most the window, ${peakBytes}`);
  t.ok(writer.lastAddConfirmed > 200, `${writer.lastAddConfirmed} confirmed: it did not stop for the slow one`);
});

t.test('ledger writer: bookie is busy → waits for it instead of moving its place', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  const busy = world.cluster.bookie(writer.metadata.segments[0]?.ensemble[0] as string);
  busy.refuseAppends = 'TOO_MANY_REQUESTS';
  pushAll(writer, numbered(2));
  await world.runFor(50);
  t.ok(writer.isDegraded);
  busy.refuseAppends = undefined;
  await world.runFor(500);
  t.notOk(writer.isDegraded);
  t.equal(writer.metadata.segments.length, 1);
  t.equal(told.confirmed, 1);
});

t.test('ledger writer: READ_ONLY bookie → replaced by a spare', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  const name = writer.metadata.segments[0]?.ensemble[0] as string;
  world.cluster.bookie(name).refuseAppends = 'READ_ONLY';
  world.cluster.register(name, { isWritable: false });
  pushAll(writer, numbered(2));
  await world.runFor(50);
  t.equal(told.confirmed, 1);
  t.notOk(writer.metadata.segments.at(-1)?.ensemble.includes(name as never));
});

t.test('ledger writer: bookies come back with other disks after the ledger was closed elsewhere → fenced, not acknowledged (P6)', async (t) => {
  const world = new SimWorld({ bookiesCount: 2 });
  const { client } = world.cluster.connect();
  const other = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(2, 2, 2)));
  const told = new Told(writer);
  pushAll(writer, numbered(1));
  await world.runFor(10);
  await world.run(other.client.openWithRecovery(writer.ledgerId, { password }));
  for (const name of ['b1', 'b2']) {
    world.cluster.kill(name);
    world.cluster.bookie(name).wipe();
    world.cluster.restart(name);
  }
  pushAll(writer, ['never']);
  await world.runFor(1_000);
  t.equal(told.error?.code, 'LEDGER_FENCED');
  t.equal(told.confirmed, 0);
});

t.test(
  'ledger writer: bookie comes back with other disks, ledger still open → taken in by a compare-and-set, its old acks do not count',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
    const { client } = world.cluster.connect();
    const writer = await world.run(client.create(e3));
    const told = new Told(writer);
    pushAll(writer, numbered(3));
    await world.runFor(10);
    const versionBefore = world.cluster.store.ledgers.get(writer.ledgerId)?.version as number;
    world.cluster.kill('b1');
    world.cluster.bookie('b1').wipe();
    world.cluster.restart('b1');
    await world.runFor(1_000);
    t.notOk(writer.isDegraded);
    t.equal(world.cluster.store.ledgers.get(writer.ledgerId)?.version, versionBefore + 1);
    pushAll(writer, numbered(2, 3));
    await world.runFor(10);
    t.equal(told.confirmed, 4);
    t.ok(world.cluster.bookie('b1').holds(writer.ledgerId, 4));
  },
);

t.test('ledger writer: readmission finds the ledger closed → fenced (P6)', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client } = world.cluster.connect();
  const other = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  pushAll(writer, numbered(1));
  await world.runFor(10);
  world.cluster.kill('b1');
  pushAll(writer, numbered(1, 1));
  await world.runFor(10);
  await world.run(other.client.openWithRecovery(writer.ledgerId, { password }));
  world.cluster.restart('b1');
  await world.runFor(200);
  t.equal(told.error?.code, 'LEDGER_FENCED');
});

t.test('ledger writer: reply to the ensemble change is lost → read again and settled, nothing confirmed meanwhile', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  records.loseWriteReplies = 1;
  const name = writer.metadata.segments[0]?.ensemble[2] as string;
  world.cluster.bookie(name).crash();
  pushAll(writer, numbered(3));
  await world.runFor(100);
  t.equal(told.confirmed, -1, 'unknown whom the metadata names');
  await world.runFor(500);
  t.equal(told.confirmed, 2);
  t.same(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.segments, writer.metadata.segments);
});

t.test('ledger writer: metadata store away while a change is needed → waits, then fails with the reason', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  records.isUnavailable = true;
  world.cluster.bookie(writer.metadata.segments[0]?.ensemble[2] as string).crash();
  pushAll(writer, numbered(3));
  await world.runFor(25_000);
  t.equal(told.error, undefined);
  await world.runFor(10_000);
  t.equal(told.error?.code, 'LEDGER_APPEND_FAILED');
});

t.test('ledger writer: metadata store away, no spare → appends go on with who is left', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 2 });
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  records.isUnavailable = true;
  world.cluster.kill('b1');
  pushAll(writer, numbered(3));
  await world.runFor(100);
  world.cluster.restart('b1');
  await world.runFor(10_000);
  t.equal(told.confirmed, 2);
  t.ok(writer.isDegraded, 'nobody is let in without a look at the metadata');
  records.isUnavailable = false;
  await world.runFor(6_000);
  t.notOk(writer.isDegraded);
});

t.test('ledger writer: ledger deleted under it → told when it touches the metadata', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  await world.run(client.delete(writer.ledgerId));
  world.cluster.bookie(writer.metadata.segments[0]?.ensemble[0] as string).crash();
  pushAll(writer, numbered(1));
  await world.runFor(500);
  t.equal(told.error?.code, 'LEDGER_NOT_FOUND');
});

t.test('ledger writer: closing while an ensemble change is being stored → closes at lastConfirmed', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  new Told(writer);
  pushAll(writer, numbered(2));
  await world.runFor(10);
  records.delayMs = 50;
  world.cluster.bookie(writer.metadata.segments[0]?.ensemble[0] as string).crash();
  pushAll(writer, numbered(1, 2));
  await world.runFor(20);
  t.same(await world.run(writer.close()), { lastEntryId: 1, length: 14 });
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(reader, 0, 1 as EntryId)), numbered(2));
});
