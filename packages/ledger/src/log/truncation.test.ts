import t from 'tap';
import type { Log, LogRecord } from './log-api.js';
import { LogWorld } from './testing/log-world.js';

/** A log with `segments` segments of ten records each, transaction ids 10, 20, 30, ...: one per entry. */
async function filled(world: LogWorld, segments: number, isOpen = false): Promise<{ log: Log; close(): Promise<void> }> {
  const { logs } = world.node({ outputBufferBytes: 1 });
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  let txId = 0;
  for (let segment = 1; segment <= segments; segment++) {
    for (let i = 0; i < 10; i++) {
      txId += 10;
      await world.run(writer.write(txId, Buffer.from(`${txId}`)));
    }
    if (segment < segments || !isOpen) await world.run(writer.roll());
  }
  await world.run(writer.commit());
  return { log, close: () => world.run(writer.close()) };
}

async function txIds(world: LogWorld, log: Log, from?: Parameters<Log['openReader']>[0]): Promise<number[]> {
  const reader = await world.run(log.openReader(from));
  const out: LogRecord[] = [];
  for (let records = await world.run(reader.read()); records.length > 0; records = await world.run(reader.read())) out.push(...records);
  await world.run(reader.close());
  return out.map(({ txId }) => txId);
}

const upTo = (first: number, last: number) => Array.from({ length: (last - first) / 10 + 1 }, (_, i) => first + 10 * i);

t.test('log: read from a transaction id, from a position → the first record not before it', async (t) => {
  const world = new LogWorld();
  const { log, close } = await filled(world, 3, true);
  for (const [txId, first] of [
    [0, 10],
    [10, 10],
    [11, 20],
    [100, 100],
    [101, 110],
    [205, 210],
    [300, 300],
  ] as const) {
    t.same(await txIds(world, log, { from: { txId } }), upTo(first, 300), `from ${txId}`);
    const position = await world.run(log.positionNotBefore(txId));
    t.same(
      await txIds(world, log, { from: { position: position as NonNullable<typeof position> } }),
      upTo(first, 300),
      `from the position of ${txId}`,
    );
  }
  t.equal(await world.run(log.positionNotBefore(301)), undefined);
  t.same(await txIds(world, log, { from: { txId: 301 } }), []);
  t.same(await txIds(world, log, { from: 'end' }), []);
  t.same(await txIds(world, log, { from: { position: { sequence: 2, entryId: 3, slot: 1 } } }), upTo(150, 300), 'between two records');
  t.equal(await world.run(log.firstTxId()), 10);
  t.equal(await world.run(log.lastTxId()), 300);
  t.same(await world.run(log.firstPosition()), { sequence: 1, entryId: 0, slot: 0 });
  t.match(await world.run(log.lastPosition()), { sequence: 3 });
  t.equal((await world.run(log.lastRecord())).sequenceId, 29);
  await close();
});

t.test('log: read from a transaction id that is still to come → waits for it, passes over lower ones', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('1')));
  await world.run(writer.commit());
  const reader = await world.run(log.openReader({ from: { txId: 5 } }));
  const reading = reader.read({ waitMs: 60_000 });
  for (let txId = 2; txId <= 6; txId++) {
    await world.run(writer.write(txId, Buffer.from(`${txId}`)));
    await world.run(writer.roll());
  }
  t.same(
    (await world.run(reading)).map(({ txId }) => txId),
    [5],
  );
  await world.run(writer.close());
});

t.test('log: truncated → readers begin behind, an earlier position is refused or skipped; in progress stays; counts follow', async (t) => {
  const world = new LogWorld();
  const { log, close } = await filled(world, 3, true);
  const old = await world.run(log.openReader());
  const position = await world.run(log.positionNotBefore(150));
  await world.run(log.truncate(position as NonNullable<typeof position>));
  t.match(await world.run(log.segments()), [
    { sequence: 1, status: 'truncated' },
    { sequence: 2, status: 'partially truncated', firstActiveEntryId: position?.entryId, firstActiveSlot: 0 },
    { sequence: 3, status: 'active' },
  ]);
  t.same(await txIds(world, log), upTo(150, 300));
  t.equal(await world.run(log.firstTxId()), 150);
  t.equal(await world.run(log.recordsCount()), 16);
  const before = { from: { position: { sequence: 1, entryId: 5, slot: 0 } } };
  const refused = await world.run(log.openReader(before));
  t.equal((await world.rejection(refused.read())).code, 'LOG_TRUNCATED');
  t.equal((await world.rejection(old.read())).code, 'LOG_TRUNCATED');
  t.same(await txIds(world, log, { ...before, ifTruncated: 'skip' }), upTo(150, 300));
  t.same(await txIds(world, log, { from: { txId: 20 } }), upTo(150, 300), 'by transaction id: what is there');

  await world.run(log.truncate({ sequence: 1, entryId: 0, slot: 0 }));
  t.same(await txIds(world, log), upTo(150, 300), 'nothing comes back');
  await world.run(log.truncate({ sequence: 3, entryId: 2, slot: 0 }));
  t.same(await txIds(world, log), upTo(210, 300), 'what is in progress stays');
  await close();
});

t.test('log: purged by transaction id → the oldest segments go with their ledgers, the last completed one stays', async (t) => {
  const world = new LogWorld();
  const { log, close } = await filled(world, 4);
  const ledgerIds = (await world.run(log.segments())).map(({ ledgerId }) => ledgerId);
  const tail = await world.run(log.openReader());
  await world.run(tail.read({ recordsMax: 3 }));
  await world.run(log.purgeOlderThan(100));
  t.same(
    (await world.run(log.segments())).map(({ sequence }) => sequence),
    [1, 2, 3, 4],
    '100 itself is kept',
  );
  await world.run(log.purgeOlderThan(201));
  t.same(
    (await world.run(log.segments())).map(({ sequence }) => sequence),
    [3, 4],
  );
  t.same(await txIds(world, log), upTo(210, 400));
  t.same((await world.run(log.firstRecord())).sequenceId, 20);
  const node = world.node();
  for (const [index, ledgerId] of ledgerIds.entries()) {
    const found = await world.run(
      node.ledgers.metadata(ledgerId).then(
        () => true,
        (error) => error.code,
      ),
    );
    t.equal(found, index < 2 ? 'LEDGER_NOT_FOUND' : true);
  }
  await world.run(log.purgeOlderThan(1_000_000));
  t.same(
    (await world.run(log.segments())).map(({ sequence }) => sequence),
    [4],
  );
  const passed = await world.rejection(
    (async () => {
      for (;;) if ((await tail.read()).length === 0) return;
    })(),
  );
  t.equal(passed.code, 'LOG_TRUNCATED', 'a reader that is behind is told');
  await close();
  const writer = await world.run((await world.run(node.logs.open('a'))).openWriter());
  t.equal(writer.lastTxId, 400);
  t.equal((await world.run(writer.write(500, Buffer.from('x')))).sequence, 5);
  await world.run(writer.close());
  t.equal((await world.run(log.lastRecord())).sequenceId, 40);
});

for (const explicitTruncationOnly of [false, true]) {
  t.test(`log: retention, explicit truncation only ${explicitTruncationOnly} → old segments are purged when one is completed`, async (t) => {
    const world = new LogWorld();
    const { logs } = world.node({ retentionMs: 60_000, explicitTruncationOnly });
    const log = await world.run(logs.create('a'));
    const writer = await world.run(log.openWriter());
    for (let txId = 1; txId <= 5; txId++) {
      await world.run(writer.write(txId, Buffer.from('x')));
      await world.run(writer.roll());
      if (txId === 2) await world.run(writer.truncate({ sequence: 2, entryId: 0, slot: 0 }));
      await world.runFor(40_000);
    }
    const sequences = (await world.run(log.segments())).map(({ sequence }) => sequence);
    t.same(sequences, explicitTruncationOnly ? [2, 3, 4, 5] : [4, 5]);
    await world.run(writer.close());
  });
}

t.test('log: reader that waits at the end of a segment → goes on when it is completed and purged; one that looks too late is told', async (t) => {
  const world = new LogWorld();
  const { logs } = world.node();
  const log = await world.run(logs.create('a'));
  const writer = await world.run(log.openWriter());
  await world.run(writer.write(1, Buffer.from('1')));
  await world.run(writer.commit());
  const [waiting, late] = [await world.run(log.openReader()), await world.run(log.openReader())];
  for (const reader of [waiting, late]) t.equal((await world.run(reader.read())).length, 1);
  const next = waiting.read({ waitMs: 60_000 });
  await world.run(late.read());
  await world.run(writer.roll());
  await world.run(writer.write(2, Buffer.from('2')));
  await world.run(writer.roll());
  await world.run(log.purgeOlderThan(2));
  t.same(
    (await world.run(next)).map(({ txId }) => txId),
    [2],
  );
  t.equal((await world.rejection(late.read())).code, 'LOG_TRUNCATED', 'it cannot know that it has seen all of the segment');
  await world.run(writer.close());
});
