import type { EntryId } from '@daybook/proto';
import t from 'tap';
import { ledgerOptions, password, readTexts, SimWorld } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);
const id = (n: number) => n as EntryId;

async function newWriter(world: SimWorld, windowBytes = 1 << 20) {
  return world.run(world.cluster.connect({ options: { windowBytes } }).client.createAdv(e3));
}

t.test('adv writer: entries in any order → acknowledged in theirs, read back in theirs', async (t) => {
  const world = new SimWorld({ delayMs: 3 });
  const writer = await newWriter(world);
  const order: number[] = [];
  const written = [3, 1, 0, 4, 2].map((n) => writer.write(id(n), Buffer.from(`entry ${n}`)).then((done) => void order.push(done)));
  await world.run(Promise.all(written));
  t.same(order, [0, 1, 2, 3, 4]);
  t.same(await world.run(writer.close()), { lastEntryId: 4, length: 35 });
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(reader)), ['entry 0', 'entry 1', 'entry 2', 'entry 3', 'entry 4']);
});

t.test('adv writer: a gap → holds up what is behind it and nothing else; closing it lets them go', async (t) => {
  const world = new SimWorld();
  const writer = await newWriter(world);
  const told: number[] = [];
  for (const n of [0, 2, 3])
    writer.write(id(n), Buffer.from('x')).then(
      (done) => told.push(done),
      () => undefined,
    );
  await world.runFor(60_000);
  t.same(told, [0], 'waiting for the caller is no failure');
  t.equal(writer.lastAddPushed, 0);
  await world.run(writer.write(id(1), Buffer.from('x')));
  await world.runFor(10);
  t.same(told, [0, 2, 3]);
});

t.test('adv writer: an id given before → LEDGER_DUPLICATE_ENTRY, acknowledged, pending or held alike; no id → LEDGER_BAD_RANGE', async (t) => {
  const world = new SimWorld({ delayMs: 5 });
  const writer = await newWriter(world);
  await world.run(writer.write(id(0), Buffer.from('first')));
  const pending = writer.write(id(1), Buffer.from('second'));
  const held = writer.write(id(5), Buffer.from('sixth'));
  for (const n of [0, 1, 5]) await t.rejects(writer.write(id(n), Buffer.from('again')), { code: 'LEDGER_DUPLICATE_ENTRY', retry: 'never' });
  for (const n of [-1, 1.5, 2 ** 53]) await t.rejects(writer.write(id(n), Buffer.from('x')), { code: 'LEDGER_BAD_RANGE' });
  await world.run(pending);
  const failed = held.catch((error) => error.code);
  t.same(await world.run(writer.close()), { lastEntryId: 1, length: 11 });
  t.equal(await failed, 'LEDGER_CLOSED');
  await t.rejects(writer.write(id(2), Buffer.from('x')), { code: 'LEDGER_CLOSED' });
});

t.test('adv writer: too much behind a gap → LEDGER_OVERLOADED; the missing entry always goes in; then all of it', async (t) => {
  const world = new SimWorld({ delayMs: 2 });
  const writer = await newWriter(world, 4_096);
  const written: Promise<EntryId>[] = [];
  let refused = 0;
  for (let n = 1; n <= 10; n++) {
    written.push(writer.write(id(n), Buffer.alloc(1_000, n)));
    written.at(-1)?.catch((error) => {
      t.equal(error.code, 'LEDGER_OVERLOADED');
      refused++;
    });
  }
  await world.runFor(1);
  t.equal(refused, 6);
  written.unshift(writer.write(id(0), Buffer.alloc(5_000)));
  t.same(await world.run(Promise.all(written.slice(0, 5))), [0, 1, 2, 3, 4]);
});

t.test('adv writer: fenced → everything that was given to it hears so', async (t) => {
  const world = new SimWorld();
  const writer = await newWriter(world);
  await world.run(writer.write(id(0), Buffer.from('x')));
  const held = writer.write(id(5), Buffer.from('x')).catch((error) => error.code);
  await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  const next = writer.write(id(1), Buffer.from('x')).catch((error) => error.code);
  t.same(await world.run(Promise.all([next, held])), ['LEDGER_FENCED', 'LEDGER_FENCED']);
});

t.test('create adv: own ledger id → taken as asked; taken already → LEDGER_EXISTS; ids given out go around it', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const mine = await world.run(client.createAdv({ ...e3, ledgerId: 2 as never }));
  t.equal(mine.ledgerId, 2);
  t.equal((await world.rejection(client.createAdv({ ...e3, ledgerId: 2 as never }))).code, 'LEDGER_EXISTS');
  const others = [await world.run(client.create(e3)), await world.run(client.createAdv(e3))];
  t.same(
    others.map((writer) => writer.ledgerId),
    [1, 3],
  );
  await world.run(mine.write(id(0), Buffer.from('still mine')));
});
