import type { DigestType, EntryId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

for (const digestType of ['CRC32C', 'CRC32', 'HMAC', 'DUMMY'] as DigestType[]) {
  t.test(`ledger client: create, append, close, open, read with digest ${digestType}`, async (t) => {
    const world = new SimWorld();
    const { client } = world.cluster.connect();
    const writer = await world.run(
      client.create({ ...ledgerOptions(3, 2, 2), digestType, customMetadata: new Map([['application', Buffer.from('test')]]) }),
    );
    t.equal(await world.run(writer.append(Buffer.from('Hello World!'))), 0);
    t.equal(await world.run(writer.append(Buffer.from('again'))), 1);
    t.same(await world.run(writer.close()), { lastEntryId: 1, length: 17 });
    const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password, digestType }));
    t.ok(reader.isClosed);
    t.equal(reader.lastAddConfirmed, 1);
    t.equal(reader.length, 17);
    t.same(await world.run(readTexts(reader)), ['Hello World!', 'again']);
    t.same(reader.metadata.customMetadata.get('application'), Buffer.from('test'));
    await client.close();
  });
}

t.test('ledger client: wrong quorum sizes → LEDGER_BAD_QUORUM before any I/O', async (t) => {
  const world = new SimWorld();
  const { client, records } = world.cluster.connect();
  records.isUnavailable = true;
  for (const [e, w, a] of [
    [2, 3, 1],
    [3, 2, 3],
    [1, 1, 0],
    [3, 2.5, 1],
    [Number.NaN, 1, 1],
    [65, 1, 1],
  ] as const) {
    t.equal((await world.rejection(client.create(ledgerOptions(e, w, a)))).code, 'LEDGER_BAD_QUORUM');
  }
});

t.test('ledger client: too few bookies → LEDGER_NOT_ENOUGH_BOOKIES that names them, no metadata; shrinkToAvailable takes what is up', async (t) => {
  const world = new SimWorld({ bookiesCount: 3 });
  const { client } = world.cluster.connect();
  world.cluster.kill('b2');
  world.cluster.register('b3', { isWritable: false });
  const error = await world.rejection(client.create(ledgerOptions(3, 3, 2)));
  t.equal(error.code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  t.match(error.message, /3 writable.*up: b1; not usable: b2 \(down\), b3 \(read-only\)/);
  t.equal((await world.rejection(client.create({ ...ledgerOptions(3, 3, 2), shrinkToAvailable: true }))).code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  t.equal(world.cluster.store.ledgers.size, 0);
  world.cluster.register('b3');
  const writer = await world.run(client.create({ ...ledgerOptions(3, 3, 2), shrinkToAvailable: true }));
  t.match(writer.metadata, { ensembleSize: 2, writeQuorumSize: 2, ackQuorumSize: 2 });
  t.equal(await world.run(writer.append(Buffer.from('x'))), 0);
});

t.test('ledger client: unknown ledger, wrong password, wrong digest → coded errors', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  const { ledgerId } = writer;
  t.equal((await world.rejection(client.openWithRecovery(99 as LedgerId, { password }))).code, 'LEDGER_NOT_FOUND');
  t.equal((await world.rejection(client.metadata(99 as LedgerId))).code, 'LEDGER_NOT_FOUND');
  t.equal((await world.rejection(client.openWithRecovery(ledgerId, { password: Buffer.from('guess') }))).code, 'LEDGER_UNAUTHORIZED');
  t.equal((await world.rejection(client.openWithoutRecovery(ledgerId, { password, digestType: 'CRC32' }))).code, 'LEDGER_WRONG_DIGEST');
  t.equal((await world.run(client.metadata(ledgerId))).state, 'OPEN');
});

t.test('ledger client: delete → gone, also when it is gone already; a reader is told', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  await world.run(writer.append(Buffer.from('x')));
  await world.run(client.delete(writer.ledgerId));
  await world.run(client.delete(writer.ledgerId));
  t.equal((await world.rejection(client.metadata(writer.ledgerId))).code, 'LEDGER_NOT_FOUND');
});

t.test('ledger client: list → the ids of all ledgers, ascending; a closed client refuses', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const ids: number[] = [];
  for (let i = 0; i < 3; i++) ids.push((await world.run(client.create(ledgerOptions(3, 3, 2)))).ledgerId);
  ids.push((await world.run(client.createAdv({ ...ledgerOptions(3, 3, 2), ledgerId: 70 as LedgerId }))).ledgerId);
  await world.run(client.delete(ids[1] as LedgerId));
  const listed = async () => {
    const found: number[] = [];
    for await (const id of client.list()) found.push(id);
    return found;
  };
  t.same(
    await world.run(listed()),
    ids.filter((_, i) => i !== 1),
  );
  await world.run(client.close());
  t.throws(() => client.list(), { code: 'LEDGER_CLIENT_CLOSED' });
});

t.test('ledger client: open without recovery → reads what is confirmed, the writer goes on', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  const told = new Told(writer);
  pushAll(writer, numbered(3));
  await world.runFor(10);
  const tailer = await world.run(client.openWithoutRecovery(writer.ledgerId, { password }));
  t.equal(tailer.lastAddConfirmed, -1, 'the last batch tells only of the one before');
  pushAll(writer, numbered(1, 3));
  await world.runFor(10);
  t.equal(await world.run(tailer.readLastAddConfirmed()), 2);
  t.same(await world.run(readTexts(tailer)), numbered(3));
  t.equal((await world.rejection(tailer.read(0 as EntryId, 3 as EntryId))).code, 'LEDGER_BAD_RANGE');
  t.equal((await world.run(tailer.readUnconfirmed(3 as EntryId, 3 as EntryId, 100)))[0]?.payload.toString(), 'entry 3');
  t.equal(told.confirmed, 3);
  await world.run(writer.close());
  t.equal(await world.run(tailer.readLastAddConfirmed()), 3, 'the closing record tells the end');
  t.ok(tailer.isClosed);
});

t.test('ledger client: closed → its writers fail, everything else is refused', async (t) => {
  const world = new SimWorld();
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(ledgerOptions(3, 3, 2)));
  const told = new Told(writer);
  pushAll(writer, ['x']);
  await client.close();
  t.equal(told.error?.code, 'LEDGER_CLIENT_CLOSED');
  t.throws(() => writer.push(Buffer.from('y')), { code: 'LEDGER_CLIENT_CLOSED' });
  t.equal((await world.rejection(client.create(ledgerOptions(3, 3, 2)))).code, 'LEDGER_CLIENT_CLOSED');
  await world.runFor(60_000);
  t.equal(world.queue.pendingCount, 0, 'no timer is left');
});
