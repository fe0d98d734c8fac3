import { createLedgerRecords, MemoryTree } from '@daybook/metadata';
import type { EntryId } from '@daybook/proto';
import t from 'tap';
import { createLedgerClient } from './ledger-client.js';
import { ledgerOptions, numbered, password, pushAll, SimWorld } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);
const id = (n: number) => n as EntryId;

async function written(world: SimWorld, count: number, options = e3) {
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(options));
  if (count > 0) pushAll(writer, numbered(count));
  await world.runFor(20);
  return writer;
}

async function reading(world: SimWorld, ledgerId: Awaited<ReturnType<typeof written>>['ledgerId']) {
  return world.run(world.cluster.connect().client.openWithoutRecovery(ledgerId, { password }));
}

t.test('tailing: waits on the bookies → the next entry as soon as its confirmation gets there, the other waiters gone', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const writer = await written(world, 2);
  const reader = await reading(world, writer.ledgerId);
  t.equal(reader.lastAddConfirmed, -1, 'nothing said so yet');
  const startMs = world.clock.monoMs();
  const tail = reader.readLastAddConfirmedAndEntry(id(-1), 10_000);
  await world.runFor(500);
  const readsBefore = world.cluster.bookie('b1').readsCount;
  pushAll(writer, ['entry 2']); // Carries that entry 1 is confirmed.
  const { lastAddConfirmed, entry } = await world.run(tail);
  t.equal(lastAddConfirmed, 1);
  t.equal(entry?.payload.toString(), 'entry 0');
  t.ok(world.clock.monoMs() - startMs < 510, 'no polling interval');
  t.equal(world.cluster.bookie('b1').readsCount, readsBefore, 'no read was needed');
  for (const name of ['b1', 'b2', 'b3']) t.equal(world.cluster.bookie(name).waitersCount, 0, name);
  const known = await world.run(reader.readLastAddConfirmedAndEntry(id(0), 10_000));
  t.equal(known.entry?.payload.toString(), 'entry 1', 'known already: no waiting');
});

t.test('tailing: nothing comes → the time-out, with what is known', async (t) => {
  const world = new SimWorld();
  const writer = await written(world, 0);
  const reader = await reading(world, writer.ledgerId);
  const startMs = world.clock.monoMs();
  t.same(await world.run(reader.readLastAddConfirmedAndEntry(id(-1), 3_000)), { lastAddConfirmed: -1 });
  t.equal(world.clock.monoMs() - startMs, 3_000);
  await t.rejects(reader.readLastAddConfirmedAndEntry(id(-2), 3_000), { code: 'LEDGER_BAD_RANGE' });
});

t.test('tailing: ensemble changes while somebody waits → goes on with the new bookies', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const writer = await written(world, 3);
  const reader = await reading(world, writer.ledgerId);
  const first = writer.metadata.segments[0]?.ensemble ?? [];
  const tail = reader.readLastAddConfirmedAndEntry(id(5), 60_000);
  for (const name of first) {
    world.cluster.kill(name);
    pushAll(writer, ['more']);
    await world.runFor(500);
  }
  const last = writer.metadata.segments.at(-1)?.ensemble ?? [];
  t.same(
    last.filter((name) => first.includes(name)),
    [],
    'no bookie of the beginning is left',
  );
  pushAll(writer, ['entry 6']);
  await world.runFor(20);
  pushAll(writer, ['entry 7']);
  const { lastAddConfirmed, entry } = await world.run(tail);
  t.equal(lastAddConfirmed, 6);
  t.equal(entry?.payload.toString(), 'entry 6');
});

t.test('tailing: ledger is closed while somebody waits → its end, at once', async (t) => {
  const world = new SimWorld();
  const writer = await written(world, 2);
  const reader = await reading(world, writer.ledgerId);
  const startMs = world.clock.monoMs();
  const tails = [reader.readLastAddConfirmedAndEntry(id(0), 60_000), reader.readLastAddConfirmedAndEntry(id(1), 60_000)];
  await world.run(writer.close());
  const [next, end] = await world.run(Promise.all(tails));
  t.same([next?.lastAddConfirmed, next?.entry?.payload.toString()], [1, 'entry 1']);
  t.same(end, { lastAddConfirmed: 1 }, 'there is nothing after it');
  t.ok(world.clock.monoMs() - startMs < 1_000);
});

t.test('tailing: a bookie that the writer gave up, one that is down, damaged proofs → the others tell', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const writer = await written(world, 1);
  const reader = await reading(world, writer.ledgerId);
  const [first, second] = writer.metadata.segments[0]?.ensemble ?? [];
  world.cluster.bookie(first as string).crash();
  const tail = reader.readLastAddConfirmedAndEntry(id(0), 5_000);
  pushAll(writer, ['entry 1']);
  await world.runFor(20);
  pushAll(writer, ['entry 2']);
  t.equal((await world.run(tail)).entry?.payload.toString(), 'entry 1');
  world.cluster.bookie(second as string).damage(writer.ledgerId, 2);
  t.same(await world.run(reader.readLastAddConfirmedAndEntry(id(1), 1_000)), { lastAddConfirmed: 1 }, 'a damaged entry proves nothing');
});

t.test('tailing: all bookies away → asked again and again, but not in a loop without rest', async (t) => {
  const world = new SimWorld();
  const writer = await written(world, 1);
  const reader = await reading(world, writer.ledgerId);
  let askedCount = 0;
  for (const bookie of world.cluster.bookies.values()) {
    bookie.intercept = (request) => {
      if (request !== 'await-lac') return undefined;
      askedCount++;
      return 'TOO_MANY_REQUESTS';
    };
  }
  t.same(await world.run(reader.readLastAddConfirmedAndEntry(id(0), 2_000)), { lastAddConfirmed: -1 });
  t.ok(askedCount >= 15 && askedCount <= 45, `${askedCount} times`);
});

t.test('tailing: reader closed → whoever waits is let go, bookies too', async (t) => {
  const world = new SimWorld();
  const writer = await written(world, 1);
  const reader = await reading(world, writer.ledgerId);
  const tail = reader.readLastAddConfirmedAndEntry(id(0), 60_000);
  await world.runFor(100);
  const startMs = world.clock.monoMs();
  await world.run(reader.close());
  await world.run(tail);
  t.ok(world.clock.monoMs() - startMs < 100);
  for (const bookie of world.cluster.bookies.values()) t.equal(bookie.waitersCount, 0);
});

t.test('tailing: metadata session lost and begun anew → a later ensemble change and the end are still noticed (#1126)', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const tree = new MemoryTree();
  const connect = () => {
    const store = tree.openSession({ clock: world.clock });
    const { pool } = world.cluster.connect();
    const parts = { clock: world.clock, random: world.queue.random, registry: world.cluster.registry, bookies: pool };
    return { store, client: createLedgerClient({ ...parts, records: createLedgerRecords(store) }) };
  };
  const writing = connect();
  const reading = connect();
  const writer = await world.run(writing.client.create(e3));
  pushAll(writer, numbered(2));
  await world.runFor(50);
  const reader = await world.run(reading.client.openWithoutRecovery(writer.ledgerId, { password }));
  const tail = reader.readLastAddConfirmedAndEntry(id(4), 60_000);
  await world.runFor(100);
  reading.store.expire();
  await world.runFor(1_000);
  for (const name of writer.metadata.segments[0]?.ensemble ?? []) {
    world.cluster.kill(name);
    pushAll(writer, ['more']);
    await world.runFor(500);
  }
  pushAll(writer, ['entry 5']);
  await world.runFor(100);
  pushAll(writer, ['entry 6']);
  t.equal((await world.run(tail)).entry?.payload.toString(), 'entry 5');
  await world.runFor(100);
  const end = reader.readLastAddConfirmedAndEntry(id(6), 60_000);
  await world.run(writer.close());
  t.same(await world.run(end, 5_000), { lastAddConfirmed: 6 });
});

t.test('tailing: idle writer with an explicit LAC interval → readers see its last entry; without, they do not', async (t) => {
  for (const explicitLacInterval of [0, 200]) {
    const world = new SimWorld();
    const { client } = world.cluster.connect({ options: { explicitLacInterval } });
    const writer = await world.run(client.create(e3));
    pushAll(writer, numbered(3));
    await world.runFor(1_000);
    const reader = await reading(world, writer.ledgerId);
    t.equal(reader.lastAddConfirmed, explicitLacInterval === 0 ? -1 : 2, 'opened later');
    const waiting = reader.readLastAddConfirmedAndEntry(id(2), 2_000);
    pushAll(writer, ['entry 3']);
    t.equal((await world.run(waiting)).entry?.payload.toString(), explicitLacInterval === 0 ? undefined : 'entry 3');
  }
});

t.test('explicit LAC: told once, not while entries carry it, again after too few took it', async (t) => {
  const world = new SimWorld();
  const told: string[] = [];
  let refuse = false;
  for (const bookie of world.cluster.bookies.values()) {
    bookie.intercept = (request) => {
      if (request === 'write-lac') told.push(bookie.bookieId);
      return request === 'write-lac' && refuse ? 'IO_ERROR' : undefined;
    };
  }
  const { client } = world.cluster.connect({ options: { explicitLacInterval: 100 } });
  const writer = await world.run(client.create(e3));
  for (let i = 0; i < 20; i++) {
    pushAll(writer, [`entry ${i}`]);
    await world.runFor(50);
  }
  const whileWriting = told.length;
  t.ok(whileWriting <= 30, `${whileWriting} while writing`);
  await world.runFor(500);
  const atRest = told.length;
  t.same(told.slice(-3).sort(), ['b1', 'b2', 'b3'], 'once to each');
  await world.runFor(5_000);
  t.equal(told.length, atRest, 'never again while nothing happens');
  refuse = true;
  pushAll(writer, ['one more']);
  await world.runFor(450);
  refuse = false;
  const refused = told.length;
  t.ok(refused >= atRest + 9, 'tried again');
  await world.runFor(1_000);
  t.equal(told.length, refused + 3);
  await world.run(writer.close());
  await world.runFor(1_000);
  t.equal(told.length, refused + 3, 'the timer is gone with the writer');
});

t.test('try read last-add-confirmed: the first better answer is enough; no bookie at all → LEDGER_LAC_UNKNOWN', async (t) => {
  const world = new SimWorld();
  const writer = await written(world, 2);
  pushAll(writer, ['entry 2']);
  await world.runFor(20);
  const reader = await reading(world, writer.ledgerId);
  t.equal(reader.lastAddConfirmed, 1);
  pushAll(writer, ['entry 3']);
  await world.runFor(20);
  for (const name of ['b1', 'b2']) world.cluster.bookie(name).stall();
  t.equal(await world.run(reader.tryReadLastAddConfirmed(), 100), 2, 'does not wait for those who are silent');
  world.cluster.bookie('b3').crash();
  t.equal((await world.rejection(reader.tryReadLastAddConfirmed())).code, 'LEDGER_LAC_UNKNOWN');
});
