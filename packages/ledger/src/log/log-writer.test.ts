import t from 'tap';
import type { LogRecord } from './log-api.js';
import { compareLogPositions } from './log-position.js';
import { LogWorld } from './testing/log-world.js';

const texts = (records: readonly LogRecord[]) => records.map((record) => record.payload.toString());

async function readAll(world: LogWorld, reader: { read(): Promise<LogRecord[]> }): Promise<LogRecord[]> {
  const out: LogRecord[] = [];
  for (;;) {
    const records = await world.run(reader.read());
    if (records.length === 0) return out;
    out.push(...records);
  }
}

t.test('log writer: segment has its bytes → rolls; records stay in order, the tailing reader sees each once', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ segmentBytesMax: 1_000, outputBufferBytes: 200 });
  const log = await world.run(logs.create('a'));
  const tail = await world.run((await world.run(world.node().logs.open('a'))).openReader());
  const seen: LogRecord[] = [];
  const stop = new AbortController();
  const tailing = (async () => {
    for await (const record of tail.records(stop.signal)) seen.push(record);
  })();
  const writer = await world.run(log.openWriter());
  const writes: Promise<unknown>[] = [];
  for (let txId = 1; txId <= 200; txId++) {
    writes.push(writer.write(txId, Buffer.from(`record ${txId}`)));
    if (txId % 7 === 0) await world.runFor(3);
  }
  await world.run(Promise.all(writes));
  await world.run(writer.close());
  await world.runFor(5_000);
  stop.abort();
  await world.run(tailing);
  const wanted = Array.from({ length: 200 }, (_, i) => `record ${i + 1}`);
  t.same(texts(seen), wanted);
  t.same(
    seen.map(({ sequenceId }) => sequenceId),
    wanted.map((_, i) => i),
  );
  const segments = await world.run(log.segments());
  t.ok(segments.length > 3, `${segments.length} segments`);
  t.same(
    segments.map(({ sequence, kind }) => [sequence, kind]),
    segments.map((_, i) => [i + 1, 'completed']),
  );
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (segment.kind === 'completed' && next !== undefined) {
      t.equal(next.firstTxId, segment.lastTxId + 1, 'a segment begins with the record behind the one before');
      t.equal(next.startSequenceId, segment.startSequenceId + segment.recordsCount);
    }
  }
  t.same(texts(await readAll(world, await world.run(log.openReader()))), wanted);
});

t.test('log writer: segment has its age → rolls also when nothing is written', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ segmentMsMax: 60_000 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  await world.runFor(59_000);
  t.match(await world.run(log.segments()), [{ kind: 'in progress' }]);
  await world.runFor(2_000);
  t.match(await world.run(log.segments()), [{ kind: 'completed', lastTxId: 1 }]);
  await world.run(writer.write(2, Buffer.from('y')));
  t.match(await world.run(log.segments()), [{ kind: 'completed' }, { kind: 'in progress', sequence: 2, firstTxId: 2 }]);
  await world.run(writer.close());
  t.equal(world.bookies.registry.list().length, 3);
  t.equal(world.tree.tree.get('/daybook/logs/a/<default>/ledgers')?.value.toString().split('\n').length, 1);
});

t.test('log writer: rolls → the new segment is in progress before the old one is completed', async (t) => {
  const world = new LogWorld({ delayMs: 5 });
  const node = world.node();
  const log = await world.run(node.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  const heads: number[] = [];
  node.store.beforeWrite = (path) => {
    const head = world.tree.tree.get('/daybook/logs/a/<default>/ledgers')?.value.toString() ?? '';
    if (path.includes('logrecs_')) heads.push(head.split('\n').length - 1);
  };
  const rolled = writer.roll();
  for (let txId = 2; txId < 40; txId++) {
    void writer.write(txId, Buffer.from('y'));
    await world.runFor(1);
  }
  await world.run(rolled);
  t.same(heads, [2]);
  t.match(await world.run(log.segments()), [{ kind: 'completed' }, { kind: 'in progress' }]);
  await world.run(writer.close());
});

t.test('log writer: no new segment can be had → the present one goes on, and it is tried again later', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ segmentBytesMax: 500, outputBufferBytes: 100 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.alloc(100)));
  world.bookies.register('b3', { isWritable: false });
  for (let txId = 2; txId < 20; txId++) await world.run(writer.write(txId, Buffer.alloc(100)));
  t.match(await world.run(log.segments()), [{ kind: 'in progress', sequence: 1 }]);
  world.bookies.register('b3');
  await world.runFor(6_000);
  await world.run(writer.write(20, Buffer.alloc(100)));
  t.match(await world.run(log.segments()), [
    { kind: 'completed', sequence: 1 },
    { kind: 'in progress', sequence: 2 },
  ]);
  await world.run(writer.close());
  t.equal((await readAll(world, await world.run(log.openReader()))).length, 20);
});

t.test('log writer: the answer to starting a segment is lost, the old one goes on → no record is numbered twice', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const log = await world.run(node.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  node.store.beforeWrite = (path) => {
    const head = world.tree.tree.get('/daybook/logs/a/<default>/ledgers')?.value.toString() ?? '';
    // The write after the one that names the allocated ledger.
    if (path.endsWith('/ledgers') && !head.split('\n')[0]?.endsWith(';-1')) node.session.setFaults({ lostReplies: 1000 });
  };
  const rolling = writer.roll();
  const second = writer.write(2, Buffer.from('y'));
  await world.runFor(20_000);
  node.store.beforeWrite = undefined;
  node.session.setFaults({ lostReplies: 0 });
  await world.run(rolling.catch(() => undefined));
  await world.run(second);
  await world.run(writer.write(3, Buffer.from('z')));
  await world.run(writer.roll());
  await world.run(writer.write(4, Buffer.from('4')));
  await world.run(writer.close());
  const records = await readAll(world, await world.run(log.openReader()));
  t.same(
    records.map(({ txId, sequenceId }) => [txId, sequenceId]),
    [
      [1, 0],
      [2, 1],
      [3, 2],
      [4, 3],
    ],
  );
});

t.test('log writer: too few bookies → LOG_WRITE_FAILED for the record and all behind it; opened again the log goes on', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ outputBufferBytes: 1 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  world.bookies.kill('b2');
  world.bookies.kill('b3');
  const failed = [2, 3, 4].map((txId) => writer.write(txId, Buffer.from('y')).catch((error) => error.code));
  t.same(await world.run(Promise.all(failed)), ['LOG_WRITE_FAILED', 'LOG_WRITE_FAILED', 'LOG_WRITE_FAILED']);
  t.equal((await world.rejection(writer.write(5, Buffer.from('z')))).code, 'LOG_WRITE_FAILED');
  await world.run(writer.close());
  world.bookies.restart('b2');
  world.bookies.restart('b3');
  await world.runFor(120_000);
  const again = await world.run(log.openWriter());
  t.ok(again.lastTxId >= 1 && again.lastTxId <= 4);
  await world.run(again.write(10, Buffer.from('later')));
  await world.run(again.close());
  const records = await readAll(world, await world.run(log.openReader()));
  t.equal(records.at(-1)?.txId, 10);
  t.equal(records.length, again.lastTxId === 10 ? records.length : 0);
});

t.test('log writer: more than the window → writes wait in order; more than twice of it → LOG_OVER_CAPACITY, nothing is taken', async (t) => {
  const world = new LogWorld();
  const windowBytes = 2 * 1024 * 1024;
  const { logs } = world.node({ windowBytes });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  const payload = Buffer.alloc(100 * 1024);
  const writes: Promise<unknown>[] = [];
  let refused: Error & { code?: string } = new Error('none');
  for (let txId = 1; txId <= 100; txId++) {
    const write = writer.write(txId, payload);
    if (writer.lastTxId === txId) writes.push(write);
    else
      refused = await write.then(
        () => new Error('accepted'),
        (error) => error,
      );
  }
  t.equal(refused.code, 'LOG_OVER_CAPACITY');
  t.equal(writes.length, 2 * Math.floor(windowBytes / (payload.length + 20)));
  await world.run(Promise.all(writes));
  t.same(await world.run(Promise.all([writer.write(200, payload)])), [{ sequence: 1, entryId: writes.length, slot: 0 }]);
  await world.run(writer.close());
  const records = await readAll(world, await world.run(log.openReader()));
  t.same(
    records.map(({ txId }) => txId),
    [...writes.map((_, i) => i + 1), 200],
  );
});

t.test('log writer: aborted → writes under way fail, the lock is free, the next writer recovers', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('x')));
  const under = writer.write(2, Buffer.from('y')).catch((error) => error.code);
  await world.run(writer.abort());
  t.equal(await under, 'LOG_WRITER_CLOSED');
  t.match(await world.run(log.segments()), [{ kind: 'in progress' }]);
  const next = await world.run(log.openWriter({ lockWaitMs: 0 }));
  t.ok(next.lastTxId >= 1);
  await world.run(next.close());
});

t.test('log writer: opened and closed without a record → no segment, no ledger is left', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('a'));
  for (let i = 0; i < 3; i++) await world.run((await world.run(log.openWriter())).close());
  t.same(await world.run(log.segments()), []);
  t.same(
    world.tree.tree.children('/ledgers').filter((name) => /^\d/.test(name)),
    [],
  );
  const reader = await world.run(log.openReader());
  t.same(await world.run(reader.read()), []);
});

t.test('log writer: closing while it rolls → both segments are completed', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node({ segmentBytesMax: 300, outputBufferBytes: 100 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  const positions = Array.from({ length: 30 }, (_, i) => writer.write(i, Buffer.alloc(50)));
  await world.run(writer.close());
  const all = await world.run(Promise.all(positions));
  t.ok(all.every((position, i) => i === 0 || compareLogPositions(all[i - 1] as (typeof all)[number], position) < 0));
  const segments = await world.run(log.segments());
  t.ok(segments.every(({ kind }) => kind === 'completed'));
  t.ok(segments.length >= 1);
});

t.test('log writer: rolls while the bookies of the old segment stand still → what is behind is not acknowledged before', async (t) => {
  const world = new LogWorld({ bookiesCount: 6 });
  const node = world.node();
  const log = await world.run(node.logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('1')));
  const [segment] = await world.run(log.segments());
  const { segments } = await world.run(node.ledgers.metadata(segment?.ledgerId as NonNullable<typeof segment>['ledgerId']));
  const ensemble = segments.flatMap((part) => part.ensemble);
  for (const bookie of ensemble) world.bookies.bookie(bookie).stall();
  const answered: number[] = [];
  const writes = [2, 3].map((txId) => writer.write(txId, Buffer.from(`${txId}`)).then(() => answered.push(txId)));
  // The next ledger lies elsewhere: the stalled ones are not writable.
  for (const bookie of ensemble) world.bookies.register(bookie, { isWritable: false });
  const rolling = writer.roll();
  await world.runFor(200);
  writes.push(writer.write(4, Buffer.from('4')).then(() => answered.push(4)));
  await world.runFor(200);
  t.same(answered, []);
  for (const bookie of ensemble) world.bookies.bookie(bookie).resume();
  await world.run(Promise.all([...writes, rolling]));
  t.same(answered, [2, 3, 4]);
  t.same(
    (await world.run(log.segments())).map(({ sequence, kind }) => [sequence, kind]),
    [
      [1, 'completed'],
      [2, 'in progress'],
    ],
  );
  await world.run(writer.close());
});
