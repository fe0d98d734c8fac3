import t from 'tap';
import type { LogRecord } from './log-api.js';
import { LogWorld } from './testing/log-world.js';
import { endOfStreamTxId } from './transaction-id.js';

const texts = (records: readonly LogRecord[]) => records.map((record) => record.payload.toString());

t.test('log: create, write, read, close, open again → all there, in order, with transaction ids and positions', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('orders'));
  const writer = await world.run(log.openWriter({ owner: 'one' }));
  t.equal(writer.lastTxId, -1);
  const positions = await world.run(Promise.all([1, 2, 2, 5].map((txId) => writer.write(txId, Buffer.from(`record ${txId}`)))));
  t.same(
    positions,
    [0, 1, 2, 3].map((slot) => ({ sequence: 1, entryId: 0, slot })),
    'what is written in one turn shares an entry',
  );
  t.same(
    await world.run(
      writer.writeBulk([
        { txId: 6, payload: Buffer.from('six') },
        { txId: 7, payload: Buffer.from('seven') },
      ]),
    ),
    [
      { sequence: 1, entryId: 1, slot: 0 },
      { sequence: 1, entryId: 1, slot: 1 },
    ],
  );
  t.equal(await world.run(writer.flush()), 7);
  await world.run(writer.close());
  const again = await world.run(log.openWriter());
  t.equal(again.lastTxId, 7);
  t.same(await world.run(again.write(7, Buffer.from('eight'))), { sequence: 2, entryId: 0, slot: 0 });
  await world.run(again.close());

  const reader = await world.run(log.openReader());
  const records = await world.run(reader.read());
  const rest = await world.run(reader.read());
  t.same(texts([...records, ...rest]), ['record 1', 'record 2', 'record 2', 'record 5', 'six', 'seven', 'eight']);
  t.same(
    [...records, ...rest].map((record) => record.sequenceId),
    [0, 1, 2, 3, 4, 5, 6],
  );
  t.same(await world.run(reader.read()), []);
  t.equal(await world.run(log.recordsCount()), 7);
  t.match(await world.run(log.segments()), [
    { kind: 'completed', sequence: 1, firstTxId: 1, lastTxId: 7, recordsCount: 6, startSequenceId: 0 },
    { kind: 'completed', sequence: 2, firstTxId: 7, lastTxId: 7, recordsCount: 1, startSequenceId: 6 },
  ]);
});

t.test('log: ids, sizes, options that cannot be → coded errors, nothing is written, the writer goes on', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(10, Buffer.from('ten')));
  const code = async (promise: Promise<unknown>) => (await world.rejection(promise)).code;
  t.equal(await code(writer.write(9, Buffer.from('x'))), 'LOG_TRANSACTION_ID_OUT_OF_ORDER');
  t.equal(
    await code(
      writer.writeBulk([
        { txId: 12, payload: Buffer.from('x') },
        { txId: 11, payload: Buffer.from('y') },
      ]),
    ),
    'LOG_TRANSACTION_ID_OUT_OF_ORDER',
  );
  for (const txId of [-1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1, endOfStreamTxId])
    t.equal(await code(writer.write(txId, Buffer.from('x'))), 'LOG_BAD_TRANSACTION_ID');
  t.equal(await code(writer.write(11, Buffer.alloc(1024 * 1024))), 'LOG_RECORD_TOO_LARGE');
  t.equal(writer.lastTxId, 10);
  t.same(await world.run(writer.writeBulk([])), []);
  await world.run(writer.write(10, Buffer.alloc(0)));
  await world.run(writer.close());
  t.equal(await code(writer.write(11, Buffer.from('x'))), 'LOG_WRITER_CLOSED');
  t.equal(await world.run(log.recordsCount()), 2);
  t.throws(() => world.node({ windowBytes: 10 }), { code: 'LOG_BAD_OPTIONS' });
});

t.test('logs: create twice, open, exists, list, delete → as a directory does', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const names = ['b', 'a/b c', 'ü', '..'];
  for (const name of names) await world.run(logs.create(name));
  t.equal((await world.rejection(logs.create('b'))).code, 'LOG_EXISTS');
  t.equal((await world.rejection(logs.open('c'))).code, 'LOG_NOT_FOUND');
  t.same(await world.run(logs.list()), [...names].sort());
  const log = await world.run(logs.open('b'));
  const writer = await world.run(log.openWriter({ owner: 'me' }));
  await world.run(writer.write(1, Buffer.from('x')));
  t.equal((await world.rejection(logs.delete('b', { lockWaitMs: 10 }))).code, 'LOG_LOCKED');
  await world.run(writer.close());
  await world.run(logs.delete('b'));
  t.equal(await world.run(logs.exists('b')), false);
  t.equal((await world.rejection(logs.delete('b'))).code, 'LOG_NOT_FOUND');
  t.equal((await world.rejection(log.openReader())).code, 'LOG_NOT_FOUND');
  t.equal((await world.rejection(log.openWriter())).code, 'LOG_NOT_FOUND');
  t.same(world.tree.tree.children('/daybook/logs').length, 3, 'no key is left');
  t.same(await world.run(logs.list()), names.filter((name) => name !== 'b').sort());
  await world.run(logs.create('b'));
  t.equal(await world.run((await world.run(logs.open('b'))).recordsCount()), 0);
});

t.test('log: two want to write → the second waits for the first, or is told who it is', async (t) => {
  const world = new LogWorld();
  const first = await world.run(world.node().logs.create('a'));
  const second = await world.run(world.node().logs.open('a'));
  const writer = await world.run(first.openWriter({ owner: 'the first' }));
  const error = await world.rejection(second.openWriter({ lockWaitMs: 500 }));
  t.equal(error.code, 'LOG_LOCKED');
  t.match(error.message, /the first/);
  const waiting = second.openWriter({ lockWaitMs: 10_000 });
  await world.runFor(100);
  await world.run(writer.write(1, Buffer.from('x')));
  await world.run(writer.close());
  const next = await world.run(waiting);
  t.equal(next.lastTxId, 1);
  await world.run(next.close());
});

t.test('log: the writer lost its session → LOG_LOCK_LOST; the next one goes on after what was acknowledged', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const log = await world.run(node.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  node.session.expire();
  t.equal((await world.rejection(writer.write(2, Buffer.from('y')))).code, 'LOG_LOCK_LOST');
  await world.run(writer.close());
  const next = await world.run(log.openWriter());
  t.equal(next.lastTxId, 1);
  await world.run(next.close());
});

t.test('log: somebody took over while the old writer still believes in itself → it is fenced, nothing of it is in the log', async (t) => {
  const world = new LogWorld();
  const old = world.node({ outputBufferBytes: 1 });
  const log = await world.run(old.logs.create('a'));
  const writer = await world.run(log.openWriter({ owner: 'old' }));
  await world.run(writer.write(1, Buffer.from('old 1')));
  // Its lock goes, but nobody tells it.
  for (const member of world.tree.tree.children('/daybook/logs/a/<default>/lock'))
    world.tree.tree.delete(`/daybook/logs/a/<default>/lock/${member}`, 'any', []);
  const taker = world.node();
  const next = await world.run((await world.run(taker.logs.open('a'))).openWriter({ owner: 'new' }));
  t.equal(next.lastTxId, 1);
  const late = world.rejection(writer.write(2, Buffer.from('old 2')));
  t.equal((await late).code, 'LOG_FENCED');
  t.equal((await world.rejection(writer.roll())).code, 'LOG_FENCED');
  await world.run(next.write(2, Buffer.from('new 2')));
  await world.run(writer.close());
  await world.run(next.close());
  const reader = await world.run(log.openReader());
  t.same(texts([...(await world.run(reader.read())), ...(await world.run(reader.read()))]), ['old 1', 'new 2']);
});

t.test('log: end of stream marked → nothing can be written, readers reach the end, also after opening again', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  for (const records of [0, 3]) {
    const log = await world.run(logs.create(`ended after ${records}`));
    t.equal(await world.run(log.isEndOfStreamMarked()), false);
    const writer = await world.run(log.openWriter());
    for (let txId = 1; txId <= records; txId++) await world.run(writer.write(txId, Buffer.from(`${txId}`)));
    await world.run(writer.markEndOfStream());
    await world.run(writer.markEndOfStream());
    t.equal((await world.rejection(writer.write(9, Buffer.from('x')))).code, 'LOG_END_OF_STREAM');
    t.equal(await world.run(log.isEndOfStreamMarked()), true);
    await world.run(writer.close());
    const again = await world.run(log.openWriter());
    t.equal(again.lastTxId, endOfStreamTxId);
    t.equal((await world.rejection(again.write(9, Buffer.from('x')))).code, 'LOG_END_OF_STREAM');
    await world.run(again.close());
    const reader = await world.run(log.openReader());
    const all: LogRecord[] = [];
    const reading = (async () => {
      for await (const record of reader.records()) all.push(record);
    })();
    await world.run(reading);
    t.equal(all.length, records);
    t.equal((await world.rejection(reader.read())).code, 'LOG_END_OF_STREAM');
    if (records > 0) t.equal(await world.run(log.lastTxId()), records, 'the mark is no record');
    else t.equal((await world.rejection(log.lastRecord())).code, 'LOG_EMPTY');
  }
});

t.test('log: writer died before completing → recovered by the next one, or by recover(); nothing acknowledged is missing', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const log = await world.run(node.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(Promise.all([1, 2, 3].map((txId) => writer.write(txId, Buffer.from(`${txId}`)))));
  node.crash();
  const other = await world.run(world.node().logs.open('a'));
  t.match(await world.run(other.segments()), [{ kind: 'in progress', sequence: 1 }]);
  await world.run(other.recover());
  t.match(await world.run(other.segments()), [{ kind: 'completed', sequence: 1, lastTxId: 3, recordsCount: 3 }]);
  t.equal(await world.run(other.lastTxId()), 3);
});

t.test('log: commit → visible at once; without it → visible after the delay; a reader does not see more than that', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ commitDelayMs: 1_000 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  const reader = await world.run(log.openReader());
  await world.run(writer.write(1, Buffer.from('one')));
  t.same(texts(await world.run(reader.read())), []);
  t.equal(await world.run(writer.commit()), 1);
  t.same(texts(await world.run(reader.read())), ['one']);
  await world.run(writer.write(2, Buffer.from('two')));
  t.same(texts(await world.run(reader.read({ waitMs: 500 }))), []);
  t.same(texts(await world.run(reader.read({ waitMs: 5_000 }))), ['two']);
  // However long nothing came: bookies tell at once.
  let seenMs = 0;
  const waiting = reader.read({ waitMs: 600_000 }).then(() => {
    seenMs = world.queue.nowMs;
  });
  await world.runFor(60_000);
  await world.run(writer.write(3, Buffer.from('three')));
  await world.run(writer.commit());
  const committedMs = world.queue.nowMs;
  await world.run(waiting);
  t.ok(seenMs - committedMs < 20, `${seenMs - committedMs} ms after the commit`);
  await world.run(writer.close());
});

t.test('log: deleted and made again under the eyes of an old writer → that is fenced, and does not get into the new one', async (t) => {
  const world = new LogWorld();
  const log = await world.run(world.node().logs.create('a'));
  const writer = await world.run(log.openWriter({ owner: 'old' }));
  await world.run(writer.write(1, Buffer.from('old')));
  for (const member of world.tree.tree.children('/daybook/logs/a/<default>/lock')) {
    world.tree.tree.delete(`/daybook/logs/a/<default>/lock/${member}`, 'any', []);
  }
  const { logs } = world.node();
  await world.run(logs.delete('a'));
  const again = await world.run(logs.create('a'));
  const next = await world.run(again.openWriter({ owner: 'new' }));
  await world.run(next.write(1, Buffer.from('new')));
  t.match(await world.rejection(writer.roll()), { code: 'LOG_FENCED' });
  t.match(await world.rejection(writer.write(2, Buffer.from('late'))), { code: /^LOG_(FENCED|WRITE_FAILED)$/ });
  await world.run(writer.close());
  await world.run(next.close());
  const reader = await world.run(again.openReader());
  t.same(texts(await world.run(reader.read())), ['new']);
});
