import { metadataErrors } from '@daybook/metadata';
import { AppendBatchBuilder, type BookieCode, type BookieId, createDigest, type EntryId, type LedgerId, masterKey } from '@daybook/proto';
import t from 'tap';
import type { LedgerWriter } from './ledger-api.js';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);

/** Puts entries straight on a bookie, as a writer would have that died before the others got them. */
async function plant(world: SimWorld, name: string, ledgerId: LedgerId, from: number, count: number, lac: number): Promise<BookieCode> {
  const builder = new AppendBatchBuilder({
    ledgerId,
    masterKey: masterKey(password),
    isRecovery: false,
    digest: createDigest('CRC32C', password),
  });
  for (let id = from; id < from + count; id++) builder.add(id as EntryId, lac as EntryId, lengthUpTo(id), Buffer.from(`entry ${id}`));
  const batch = builder.finish();
  return world.run(new Promise((resolve) => world.cluster.bookie(name).connect().service.append(batch, resolve)));
}

function lengthUpTo(id: number): number {
  return numbered(id + 1).reduce((sum, text) => sum + text.length, 0);
}

async function writerWith(world: SimWorld, count: number, options = e3): Promise<{ writer: LedgerWriter; told: Told }> {
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(options));
  const told = new Told(writer);
  pushAll(writer, numbered(count));
  await world.runFor(50);
  return { writer, told };
}

t.test('recovery: empty ledger, all bookies fresh → closed at -1 with length 0', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 0);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { state: 'CLOSED', lastEntryId: -1, length: 0 });
});

t.test('recovery: writer died → all it had confirmed is there, length counts it', async (t) => {
  const world = new SimWorld();
  const { writer, told } = await writerWith(world, 10);
  t.equal(told.confirmed, 9);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { state: 'CLOSED', lastEntryId: 9, length: lengthUpTo(9) });
  t.same(await world.run(readTexts(reader)), numbered(10));
});

t.test('recovery: entry on one bookie only → kept, and written to Qa again', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b2', writer.ledgerId, 3, 2, 1);
  world.cluster.bookie('b3').refuseReads = 'IO_ERROR'; // One negative alone (b1) proves nothing.
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { lastEntryId: 4, length: lengthUpTo(4) });
  // Closed when two have it; the third was sent it too.
  await world.runFor(50);
  for (const name of ['b1', 'b2', 'b3']) for (const id of [3, 4]) t.ok(world.cluster.bookie(name).holds(writer.ledgerId, id), `${id} on ${name}`);
});

t.test('recovery: tail of some hundred entries on all bookies → each is read once, only the end is asked of all of them', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  for (const name of ['b1', 'b2', 'b3']) await plant(world, name, writer.ledgerId, 3, 700, 2);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { lastEntryId: 702, length: lengthUpTo(702) });
  const readsCount = [...world.cluster.bookies.values()].reduce((sum, bookie) => sum + bookie.readsCount, 0);
  t.equal(readsCount, 3 + 3, 'three chunks, and the entry after the last from three bookies');
});

t.test('recovery: writer goes on until the fences → what it confirmed meanwhile is kept', async (t) => {
  for (const more of [1, 5, 300, 2_000]) {
    const world = new SimWorld({ delayMs: 2 });
    const { writer, told } = await writerWith(world, 3);
    const other = world.cluster.connect();
    other.records.beforeWrite = async () => {
      pushAll(writer, numbered(more, 3));
      await world.clock.sleep(20);
    };
    const reader = await world.run(other.client.openWithRecovery(writer.ledgerId, { password }));
    t.equal(told.confirmed, 2 + more);
    t.match(reader.metadata, { lastEntryId: 2 + more, length: lengthUpTo(2 + more) });
    t.same(await world.run(readTexts(reader)), numbered(3 + more));
  }
});

t.test('recovery: one bookie is silent, then another → chunks come from those that answer', async (t) => {
  for (const silent of ['b1', 'b2', 'b3']) {
    const world = new SimWorld();
    const { writer } = await writerWith(world, 3);
    for (const name of ['b1', 'b2', 'b3']) await plant(world, name, writer.ledgerId, 3, 900, 2);
    world.cluster.bookie(silent).intercept = (request) => (request === 'read' ? 'IO_ERROR' : undefined);
    world.cluster.bookie(silent).delayMs = 400;
    const beganMs = world.clock.monoMs();
    const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
    t.match(reader.metadata, { lastEntryId: 902, length: lengthUpTo(902) });
    t.ok(world.clock.monoMs() - beganMs < 300, `${world.clock.monoMs() - beganMs} ms`);
  }
});

t.test('recovery: entries beyond a hole → dropped, they were never acknowledged', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b2', writer.ledgerId, 5, 1, 1);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { lastEntryId: 2, length: lengthUpTo(2) });
});

t.test('recovery: nothing to rewrite → the length is that of the last confirmed entry, not of the newest one seen', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b1', writer.ledgerId, 5, 1, 2);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { lastEntryId: 2, length: lengthUpTo(2) });
});

t.test('recovery: last segment is empty → starts at the end of the one before (P4), with its length', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { writer } = await writerWith(world, 5);
  const stored = world.cluster.store.ledgers.get(writer.ledgerId) as { metadata: typeof writer.metadata; version: number };
  const others = [...world.cluster.bookies.keys()].filter((name) => !stored.metadata.segments[0]?.ensemble.includes(name));
  const segments = [...stored.metadata.segments, { firstEntryId: 5 as EntryId, ensemble: others }];
  world.cluster.store.set(writer.ledgerId, { ...stored.metadata, segments }, stored.version + 1);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { state: 'CLOSED', lastEntryId: 4, length: lengthUpTo(4) });
  t.same(await world.run(readTexts(reader)), numbered(5));
});

t.test('recovery: one of three bookies away, no spare → recovers with Qa copies', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b2', writer.ledgerId, 3, 20, 1);
  world.cluster.kill('b3');
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.match(reader.metadata, { lastEntryId: 22, length: lengthUpTo(22) });
  t.equal(reader.metadata.segments.length, 1, 'the bookie that is away keeps its place');
  t.ok(world.cluster.bookie('b1').holds(writer.ledgerId, 22));
  t.same(await world.run(readTexts(reader)), numbered(23));
});

t.test('recovery: too few bookies answer → LEDGER_RECOVERY_FAILED, in recovery; works once they are back', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  world.cluster.kill('b2');
  world.cluster.kill('b3');
  const { client } = world.cluster.connect();
  const error = await world.rejection(client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(error.code, 'LEDGER_RECOVERY_FAILED');
  t.match(error.message, /b2: UNAVAILABLE, b3: UNAVAILABLE/);
  t.equal((await world.run(client.metadata(writer.ledgerId))).state, 'IN_RECOVERY');
  world.cluster.restart('b2');
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(reader)), numbered(3));
});

t.test('recovery: bookies that do not know (limbo, I/O errors) → no truncation, recovery fails', async (t) => {
  for (const code of ['UNKNOWN_LEDGER_STATE', 'IO_ERROR', 'TIMEOUT'] as const) {
    const world = new SimWorld();
    const { writer } = await writerWith(world, 3);
    world.cluster.bookie('b1').refuseReads = code;
    world.cluster.bookie('b2').refuseReads = code;
    const error = await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
    t.equal(error.code, 'LEDGER_RECOVERY_FAILED', code);
  }
});

t.test('recovery: damaged copies → neither proof nor absence', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b1', writer.ledgerId, 3, 1, 2);
  await plant(world, 'b2', writer.ledgerId, 3, 1, 2);
  world.cluster.bookie('b1').damage(writer.ledgerId, 3);
  world.cluster.bookie('b2').damage(writer.ledgerId, 3);
  const error = await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(error.code, 'LEDGER_RECOVERY_FAILED');
  t.match(error.message, /entry 3 \(.*DAMAGED/);
});

t.test('recovery: writer stalls, recoverer closes, writer goes on → fenced, close says so', async (t) => {
  const world = new SimWorld();
  const { writer, told } = await writerWith(world, 3);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  pushAll(writer, ['too late']);
  await world.runFor(100);
  t.equal(told.error?.code, 'LEDGER_FENCED');
  t.ok(told.confirmed <= reader.lastAddConfirmed);
  // It had confirmed exactly what the recoverer found: then closing is a success.
  t.same(await world.run(writer.close()), { lastEntryId: 2, length: lengthUpTo(2) });
});

t.test('recovery: recoverer closes beyond what the writer confirmed → the writer’s close is LEDGER_FENCED', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b2', writer.ledgerId, 3, 1, 1);
  await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.equal((await world.rejection(writer.close())).code, 'LEDGER_FENCED');
});

t.test('recovery: writer closes while a recoverer is at work → refused, the recoverer finishes', async (t) => {
  const world = new SimWorld({ delayMs: 20 });
  const { writer } = await writerWith(world, 3);
  const opening = world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password });
  await world.runFor(5);
  t.equal(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.state, 'IN_RECOVERY');
  t.equal((await world.rejection(writer.close())).code, 'LEDGER_FENCED');
  t.equal((await world.run(opening)).lastAddConfirmed, 2);
});

t.test('recovery: begins while the writer stores an ensemble change → the writer is fenced', async (t) => {
  const world = new SimWorld({ bookiesCount: 4 });
  const { client, records } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const told = new Told(writer);
  pushAll(writer, numbered(3));
  await world.runFor(10);
  const other = world.cluster.connect();
  let opening: Promise<unknown> = Promise.resolve();
  records.beforeWrite = async () => {
    opening = other.client.openWithRecovery(writer.ledgerId, { password });
    await world.clock.sleep(1);
  };
  world.cluster.bookie(writer.metadata.segments[0]?.ensemble[0] as string).crash();
  pushAll(writer, numbered(1, 3));
  await world.runFor(100);
  await world.run(opening);
  t.equal(told.error?.code, 'LEDGER_FENCED');
  t.ok(told.confirmed <= (world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.lastEntryId ?? -2));
});

t.test('recovery: the writer’s ensemble change is stored just before → the new last segment is fenced', async (t) => {
  const world = new SimWorld({ bookiesCount: 4 });
  const { writer, told } = await writerWith(world, 3);
  const other = world.cluster.connect();
  const [first] = writer.metadata.segments[0]?.ensemble ?? [];
  other.records.beforeWrite = async () => {
    world.cluster.bookie(first as string).crash();
    pushAll(writer, numbered(2, 3));
    await world.clock.sleep(50);
  };
  const reader = await world.run(other.client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(told.confirmed, 4);
  t.equal(reader.lastAddConfirmed, 4);
  t.equal(reader.metadata.segments.length, 2);
  for (const name of reader.metadata.segments[1]?.ensemble ?? []) t.ok(world.cluster.bookie(name).isFenced(writer.ledgerId), name);
});

t.test('recovery: two recoverers at once → one closes, the other adopts it', async (t) => {
  const world = new SimWorld({ delayMs: 3 });
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b2', writer.ledgerId, 3, 5, 1);
  const one = world.cluster.connect();
  const two = world.cluster.connect();
  two.records.delayMs = 1;
  const readers = await world.run(Promise.all([one, two].map(({ client }) => client.openWithRecovery(writer.ledgerId, { password }))));
  t.same(
    readers.map((reader) => [reader.lastAddConfirmed, reader.length]),
    [
      [7, lengthUpTo(7)],
      [7, lengthUpTo(7)],
    ],
  );
  const ends = world.cluster.store.history.filter(({ metadata }) => metadata.state === 'CLOSED');
  t.equal(ends.length, 1);
});

t.test(
  'recovery: recoverer dies after a private ensemble change → the store still names the old ensemble, the next one starts over (R8)',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 4, delayMs: 5 });
    const { writer } = await writerWith(world, 3, ledgerOptions(3, 3, 3));
    const ensemble = writer.metadata.segments[0]?.ensemble ?? [];
    for (const name of ensemble) await plant(world, name, writer.ledgerId, 3, 2, 2);
    const bad = world.cluster.bookie(ensemble[2] as string);
    bad.refuseAppends = 'IO_ERROR';
    const dying = world.cluster.connect();
    dying.records.beforeWrite = () => {
      // Right before its second write, the close.
      dying.records.beforeWrite = () => {
        throw metadataErrors.UNAVAILABLE('it is dead');
      };
    };
    const opening = dying.client.openWithRecovery(writer.ledgerId, { password });
    const spare = [...world.cluster.bookies.keys()].find((name) => !ensemble.includes(name)) as BookieId;
    t.equal((await world.rejection(opening)).code, 'METADATA_UNAVAILABLE');
    t.ok(world.cluster.bookie(spare).holds(writer.ledgerId, 3), 'it had rewritten to the spare');
    t.notOk(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.segments.some((segment) => segment.ensemble.includes(spare)));
    bad.refuseAppends = undefined;
    const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
    t.equal(reader.lastAddConfirmed, 4);
  },
);

t.test('recovery: a member refuses the rewrite, a spare is up → private ensemble from there, stored with the close', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 5 });
  const { writer } = await writerWith(world, 3, ledgerOptions(3, 3, 3));
  const ensemble = writer.metadata.segments[0]?.ensemble ?? [];
  for (const name of ensemble) await plant(world, name, writer.ledgerId, 3, 2, 2);
  world.cluster.bookie(ensemble[2] as string).refuseAppends = 'IO_ERROR';
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.same(
    reader.metadata.segments.map((segment) => segment.firstEntryId),
    [0, 3],
  );
  const joined = reader.metadata.segments[1]?.ensemble[2] as string;
  t.notOk(ensemble.includes(joined as BookieId));
  t.ok(world.cluster.bookie(joined).holds(writer.ledgerId, 4));
});

t.test(
  'recovery: silent member the LAC step did without, writer still connected to it → the read of the entry fences it before it can vote',
  async (t) => {
    const world = new SimWorld({ delayMs: 2 });
    const { writer, told } = await writerWith(world, 3);
    world.cluster.bookie('b3').delayMs = 40;
    const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
    pushAll(writer, ['late']);
    await world.runFor(500);
    t.equal(told.confirmed, 2);
    t.equal(told.error?.code, 'LEDGER_FENCED');
    t.equal(reader.lastAddConfirmed, 2);
    t.ok(world.cluster.bookie('b3').isFenced(writer.ledgerId));
  },
);

t.test('recovery: entry ruled absent → can never be acknowledged afterwards, also by a bookie the fencing step did not reach (R5)', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  await plant(world, 'b1', writer.ledgerId, 3, 1, 2); // One copy, one short of Qa.
  world.cluster.bookie('b1').intercept = (request) => (request === 'read' ? 'IO_ERROR' : undefined);
  world.cluster.bookie('b3').intercept = (request) => (request === 'fence' ? 'IO_ERROR' : undefined);
  const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(reader.lastAddConfirmed, 2);
  t.equal(await plant(world, 'b3', writer.ledgerId, 3, 1, 2), 'FENCED');
});

t.test('recovery: wrong key on the bookies → LEDGER_UNAUTHORIZED', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 1);
  const stored = world.cluster.store.ledgers.get(writer.ledgerId) as { metadata: typeof writer.metadata; version: number };
  const other = Buffer.from('other');
  world.cluster.store.set(writer.ledgerId, { ...stored.metadata, password: other }, stored.version + 1);
  const error = await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password: other }));
  t.equal(error.code, 'LEDGER_UNAUTHORIZED');
});

t.test('recovery: reply to the closing write is lost → next try adopts the record', async (t) => {
  const world = new SimWorld();
  const { writer } = await writerWith(world, 3);
  const { client, records } = world.cluster.connect();
  await world.run(
    (async () => {
      records.beforeWrite = () => {
        records.beforeWrite = () => {
          records.loseWriteReplies = 1;
        };
      };
      await t.rejects(client.openWithRecovery(writer.ledgerId, { password }), { code: 'METADATA_UNAVAILABLE' });
    })(),
  );
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(reader.lastAddConfirmed, 2);
});

t.test('recovery: E > Qw, long tail with Qa copies each, one bookie away → all of it kept', async (t) => {
  for (let away = 0; away < 5; away++) {
    const world = new SimWorld({ bookiesCount: 5, seed: away });
    const { writer } = await writerWith(world, 7, ledgerOptions(5, 3, 2));
    const ensemble = writer.metadata.segments[0]?.ensemble ?? [];
    for (let id = 7; id < 40; id++) {
      const skipped = id % 3;
      for (let i = 0; i < 3; i++) if (i !== skipped) await plant(world, ensemble[(id + i) % 5] as string, writer.ledgerId, id, 1, 5);
    }
    world.cluster.kill(ensemble[away] as string);
    const reader = await world.run(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
    t.match(reader.metadata, { lastEntryId: 39, length: lengthUpTo(39) });
    t.same(await world.run(readTexts(reader)), numbered(40));
  }
});
