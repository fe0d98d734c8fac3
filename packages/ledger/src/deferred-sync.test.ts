import t from 'tap';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

const deferred = { ...ledgerOptions(3, 3, 2), writeFlags: ['DEFERRED_SYNC'] as const };

async function written(count: number, options = deferred, world = new SimWorld()) {
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(options));
  const told = new Told(writer);
  pushAll(writer, numbered(count));
  await world.runFor(20);
  return { world, writer, told };
}

t.test('deferred sync: acknowledged, but the last-add-confirmed moves only with force', async (t) => {
  const { world, writer, told } = await written(5);
  t.equal(told.confirmed, 4);
  t.equal(writer.lastAddConfirmed, -1);
  t.equal(await world.run(writer.force()), 4);
  t.equal(writer.lastAddConfirmed, 4);
  pushAll(writer, ['entry 5']);
  await world.runFor(20);
  const reader = await world.run(world.cluster.connect().client.openWithoutRecovery(writer.ledgerId, { password }));
  t.equal(reader.lastAddConfirmed, 4, 'entries carry what was forced');
  t.same(await world.run(writer.close()), { lastEntryId: 4, length: 35 }, 'what was never forced is not part of the ledger');
});

t.test('deferred sync: nothing written, nothing new → force answers without asking anybody', async (t) => {
  const { world, writer } = await written(0);
  let forcesCount = 0;
  for (const bookie of world.cluster.bookies.values()) {
    bookie.intercept = (request) => {
      if (request === 'force') forcesCount++;
      return undefined;
    };
  }
  t.equal(await world.run(writer.force()), -1);
  t.equal(forcesCount, 0);
  pushAll(writer, ['x']);
  await world.runFor(20);
  await world.run(writer.force());
  t.equal(forcesCount, 3);
  await world.run(writer.force());
  t.equal(forcesCount, 3);
  const plain = await world.run(world.cluster.connect().client.create(ledgerOptions(3, 3, 2)));
  await world.run(plain.append(Buffer.from('x')));
  t.equal(await world.run(plain.force()), 0, 'without the flag everything acknowledged is durable');
  t.equal(forcesCount, 3);
});

t.test('deferred sync: E > Qw → force asks all E for what each of them stores', async (t) => {
  const { world, writer } = await written(
    7,
    { ...deferred, ensembleSize: 4, writeQuorumSize: 2, ackQuorumSize: 2 },
    new SimWorld({ bookiesCount: 4 }),
  );
  t.equal(await world.run(writer.force()), 6);
  for (const bookie of world.cluster.bookies.values()) bookie.crash();
  for (const name of world.cluster.bookies.keys()) world.cluster.restart(name);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(reader)), numbered(7), 'a power cut of all bookies takes nothing');
});

t.test('deferred sync: one bookie cannot prove it → LEDGER_FORCE_FAILED names it, the mark stays; works once it can', async (t) => {
  const { world, writer } = await written(3);
  world.cluster.bookie('b2').intercept = (request) => (request === 'force' ? 'IO_ERROR' : undefined);
  const error = await world.rejection(writer.force());
  t.equal(error.code, 'LEDGER_FORCE_FAILED');
  t.match(error.message, /b2: IO_ERROR/);
  t.equal(writer.lastAddConfirmed, -1);
  world.cluster.bookie('b2').intercept = undefined;
  t.equal(await world.run(writer.force()), 2);
});

t.test('deferred sync: force while a bookie still owes answers → waits for them, never overtakes', async (t) => {
  const { world, writer, told } = await written(1);
  world.cluster.bookie('b3').delayMs = 300;
  pushAll(writer, ['entry 1']);
  await world.runFor(20);
  t.equal(told.confirmed, 1, 'two of three have it');
  const startMs = world.clock.monoMs();
  t.equal(await world.run(writer.force()), 1);
  t.ok(world.clock.monoMs() - startMs >= 300);
});

t.test('deferred sync: a bookie fails → no ensemble change, the ledger fails with the reason (1.10)', async (t) => {
  const { world, writer, told } = await written(3, deferred, new SimWorld({ bookiesCount: 4 }));
  const [first] = writer.metadata.segments[0]?.ensemble ?? [];
  world.cluster.kill(first as string);
  pushAll(writer, ['entry 3']);
  await world.runFor(50);
  t.equal(told.error?.code, 'LEDGER_APPEND_FAILED');
  t.match(told.error?.message, /DEFERRED_SYNC/);
  await t.rejects(writer.force(), { code: 'LEDGER_APPEND_FAILED' });
  t.equal(writer.metadata.segments.length, 1);
  t.same(writer.metadata.segments[0]?.ensemble, world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.segments[0]?.ensemble);
});

t.test('deferred sync: bookie lost power between append and force, and is back → neither force nor append takes it for granted', async (t) => {
  for (const next of ['force', 'append'] as const) {
    const { world, writer, told } = await written(3);
    world.cluster.bookie('b1').crash();
    world.cluster.restart('b1');
    if (next === 'force') {
      t.equal((await world.rejection(writer.force())).code, 'LEDGER_FORCE_FAILED');
    } else {
      pushAll(writer, ['entry 3']);
      await world.runFor(50);
      t.equal(told.error?.code, 'LEDGER_APPEND_FAILED');
    }
    t.equal(writer.lastAddConfirmed, -1);
  }
});
