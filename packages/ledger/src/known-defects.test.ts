import type { BookieId, EntryId, LedgerId } from '@daybook/proto';
import { entryLastAddConfirmed } from '@daybook/proto';
import t from 'tap';
import type { LedgerWriter } from './ledger-api.js';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld, Told } from './testing/sim-world.js';

/*
 * Defects that BookKeeper had, or has (reference 1.18): one scenario each, named after what went wrong there. Most have more tests beside the code in
 * question; these are run against whole clients.
 */

const e3 = ledgerOptions(3, 3, 2);

function segmentsOf(world: SimWorld, ledgerId: LedgerId) {
  return world.cluster.store.ledgers.get(ledgerId)?.metadata.segments ?? [];
}

async function open(world: SimWorld, options = e3, clientOptions = {}) {
  const { client, records } = world.cluster.connect({ options: clientOptions });
  const writer = await world.run(client.create(options));
  const ensemble = [...(writer.metadata.segments[0]?.ensemble ?? [])] as string[];
  return { writer, told: new Told(writer), ensemble, records };
}

function recover(world: SimWorld, ledgerId: LedgerId) {
  return world.run(world.cluster.connect().client.openWithRecovery(ledgerId, { password }), 120_000);
}

/** Bookies of the stored ensemble that have the entry. */
function copies(world: SimWorld, ledgerId: LedgerId, entryId: number): number {
  const segment = segmentsOf(world, ledgerId).findLast((one) => one.firstEntryId <= entryId);
  return (segment?.ensemble ?? []).filter((name) => world.cluster.bookie(name).holds(ledgerId, entryId)).length;
}

t.test('#2615 a ledger whose last segment is empty can never be recovered → it can, twice over', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { writer, told, ensemble } = await open(world);
  pushAll(writer, numbered(4));
  await world.runFor(20);
  world.cluster.kill(ensemble[0] as string);
  pushAll(writer, ['entry 4']);
  await world.runFor(1_000);
  t.equal(told.confirmed, 4);
  // As if the writer had died right after the change, before anything reached the new segment; and a rewrite fails, so that recovery changes it once more.
  const last = segmentsOf(world, writer.ledgerId).at(-1)?.ensemble ?? [];
  for (const name of last) world.cluster.bookie(name).forget(writer.ledgerId, 4);
  world.cluster.bookie(last[1] as string).refuseAppends = 'IO_ERROR';
  const reader = await recover(world, writer.ledgerId);
  t.equal(reader.lastAddConfirmed, 3);
  t.same(await world.run(readTexts(reader)), numbered(4));
});

t.test('#3005 an entry is acknowledged though the only bookie that had it was just replaced (E2 Qw1 Qa1)', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 5 });
  const { writer, told, ensemble, records } = await open(world, ledgerOptions(2, 1, 1));
  records.delayMs = 50;
  world.cluster.bookie(ensemble[0] as string).delayMs = 30;
  pushAll(writer, ['entry 0', 'entry 1']); // 0 to the slow bookie, 1 to the one that will die.
  await world.runFor(8);
  world.cluster.kill(ensemble[1] as string);
  for (let i = 0; i < 50; i++) {
    await world.runFor(5);
    for (let id = 0; id <= told.confirmed; id++) t.ok(copies(world, writer.ledgerId, id) >= 1, `entry ${id} is somewhere the metadata names`);
  }
  t.equal(told.confirmed, 1);
});

t.test('#4651 the stored ensemble is not the one that has the entries, after several changes in a row (E2 Qw2 Qa1)', async (t) => {
  const world = new SimWorld({ bookiesCount: 8, delayMs: 3 });
  const { writer, told, records } = await open(world, ledgerOptions(2, 2, 1));
  records.delayMs = 15;
  for (let round = 0; round < 6; round++) {
    const members = segmentsOf(world, writer.ledgerId).at(-1)?.ensemble ?? [];
    pushAll(writer, [`entry ${round}`]);
    await world.runFor(4);
    world.cluster.kill(members[round % 2] as string);
    pushAll(writer, ['in between']);
    for (let i = 0; i < 10; i++) {
      await world.runFor(5);
      const dead = [...world.cluster.bookies.values()].filter((bookie) => !bookie.isUp).map((bookie) => bookie.bookieId);
      for (let id = 0; id <= told.confirmed; id++) {
        const segment = segmentsOf(world, writer.ledgerId).findLast((one) => one.firstEntryId <= id);
        const holds = (segment?.ensemble ?? []).filter((name) => world.cluster.bookie(name).holds(writer.ledgerId, id));
        if (holds.length === 0) t.fail(`entry ${id} is not where the metadata says; down: ${dead}`);
      }
    }
  }
  t.ok(told.confirmed >= 10);
});

t.test('#4261 the same dead bookie fails twice, the second change finds nothing to do, and appends hang for ever', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { writer, told, ensemble, records } = await open(world);
  records.delayMs = 300;
  world.cluster.bookie(ensemble[0] as string).stall();
  pushAll(writer, ['entry 0']);
  await world.runFor(5_100); // The append time-out ...
  world.cluster.bookie(ensemble[0] as string).crash(); // ... and while the change is stored, its connection breaks too.
  pushAll(writer, numbered(3, 1));
  await world.runFor(2_000);
  t.equal(told.confirmed, 3);
  t.notOk(writer.isDegraded);
});

t.test('#1857 the oldest entry has no copy on the replaced bookie, and appends hang for ever (E > Qw)', async (t) => {
  const world = new SimWorld({ bookiesCount: 5, delayMs: 2 });
  const { writer, told, ensemble, records } = await open(world, ledgerOptions(4, 2, 2));
  records.delayMs = 20;
  for (const name of ensemble.slice(0, 2)) world.cluster.bookie(name).delayMs = 40;
  pushAll(writer, numbered(4)); // Entry 0 is on indexes 0 and 1.
  world.cluster.kill(ensemble[3] as string);
  await world.runFor(500);
  t.equal(told.confirmed, 3);
});

t.test('#4557 completions that race with each other get stuck: whoever is told of one appends, changes and closes from there', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { client } = world.cluster.connect();
  const writer: LedgerWriter = await world.run(client.create(e3));
  const confirmed: number[] = [];
  let closed: Promise<unknown> | undefined;
  writer.listen({
    confirmed: (upTo) => {
      confirmed.push(upTo);
      if (upTo < 200) for (let i = 0; i < 3; i++) writer.push(Buffer.from('x'));
      else closed ??= writer.close();
      if (confirmed.length === 20) world.cluster.kill(writer.metadata.segments[0]?.ensemble[1] as string);
    },
    failed: () => undefined,
  });
  writer.push(Buffer.from('first'));
  await world.runFor(5_000);
  t.ok(closed !== undefined);
  const end = (await world.run(closed as Promise<{ lastEntryId: number }>)) as { lastEntryId: number };
  t.equal(end.lastEntryId, confirmed.at(-1));
  t.same(
    confirmed,
    [...confirmed].sort((a, b) => a - b),
  );
});

t.test('#1390 a bookie fails after the entry was acknowledged: nobody cares until the next append, and entries stay short of a copy', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, told, ensemble } = await open(world);
  world.cluster.bookie(ensemble[2] as string).delayMs = 500;
  pushAll(writer, ['entry 0']);
  await world.runFor(100);
  t.equal(told.confirmed, 0);
  world.cluster.kill(ensemble[2] as string);
  await world.runFor(2_000);
  t.notOk(writer.isDegraded, 'replaced without another append');
  t.notOk(
    segmentsOf(world, writer.ledgerId)
      .at(-1)
      ?.ensemble.includes(ensemble[2] as BookieId),
  );
});

t.test('BOOKKEEPER-584 a record is overwritten with what somebody knew before → every write names the version it replaces', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, records } = await open(world);
  pushAll(writer, numbered(2));
  await world.runFor(10);
  const recoverer = world.cluster.connect().client;
  records.beforeWrite = async () => {
    await recoverer.openWithRecovery(writer.ledgerId, { password });
  };
  const error = await world.rejection(writer.close());
  const stored = world.cluster.store.ledgers.get(writer.ledgerId)?.metadata;
  t.equal(stored?.state, 'CLOSED');
  t.equal(stored?.lastEntryId, 1);
  t.equal(error.message, 'it was not rejected', 'somebody else closed it at the very same end');
  t.equal(world.cluster.store.history.filter((one) => one.metadata.state === 'CLOSED').length, 1);
});

t.test('BOOKKEEPER-150 recovery goes on with too few bookies and drops an entry that was acknowledged', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const { writer, told, ensemble } = await open(world);
  world.cluster.bookie(ensemble[0] as string).refuseAppends = 'IO_ERROR'; // Has nothing.
  pushAll(writer, numbered(3));
  await world.runFor(50);
  t.equal(told.confirmed, 2);
  for (const name of ensemble.slice(1)) world.cluster.kill(name);
  const error = await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(error.code, 'LEDGER_RECOVERY_FAILED');
  t.equal(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.state, 'IN_RECOVERY');
  world.cluster.bookie(ensemble[0] as string).refuseAppends = undefined;
  world.cluster.restart(ensemble[2] as string);
  t.equal((await recover(world, writer.ledgerId)).lastAddConfirmed, 2);
});

t.test('BOOKKEEPER-112 repair moves a bookie of an older segment while the ledger is open, and the writer cannot close it any more', async (t) => {
  const world = new SimWorld({ bookiesCount: 5, delayMs: 1 });
  const { writer, ensemble } = await open(world);
  pushAll(writer, numbered(2));
  await world.runFor(10);
  world.cluster.kill(ensemble[0] as string);
  pushAll(writer, ['entry 2']);
  await world.runFor(1_000);
  const before = world.cluster.store.ledgers.get(writer.ledgerId);
  const [first, ...rest] = before?.metadata.segments ?? [];
  const spare = [...world.cluster.bookies.keys()].find((name) => !before?.metadata.segments.some((segment) => segment.ensemble.includes(name)));
  const repaired = { ...(first as NonNullable<typeof first>), ensemble: [spare ?? ensemble[0], ...ensemble.slice(1)] as BookieId[] };
  world.cluster.store.set(
    writer.ledgerId,
    { ...(before?.metadata as NonNullable<typeof before>['metadata']), segments: [repaired, ...rest] },
    (before?.version ?? 0) + 1,
  );
  t.same(await world.run(writer.close()), { lastEntryId: 2, length: 21 });
  t.same(segmentsOf(world, writer.ledgerId)[0], repaired, 'and what repair wrote is still there');
});

t.test('BOOKKEEPER-795 fenced with appends under way: some of them are never answered', async (t) => {
  const world = new SimWorld({ delayMs: 5 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const answers: string[] = [];
  const pushing: Promise<void>[] = [];
  const recovering = world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password });
  for (let i = 0; i < 40; i++) {
    pushing.push(
      writer.append(Buffer.from(`entry ${i}`)).then(
        (id) => void answers.push(`${id}`),
        (error) => void answers.push(error.code),
      ),
    );
    await world.runFor(1);
  }
  await world.run(Promise.all(pushing), 1_000);
  const { lastAddConfirmed } = await world.run(recovering);
  t.equal(answers.length, 40);
  const acknowledged = answers.filter((answer) => answer !== 'LEDGER_FENCED');
  t.ok(acknowledged.length < 40 && acknowledged.every((id) => Number(id) <= lastAddConfirmed));
});

t.test(
  'BOOKKEEPER-742 an empty ledger whose bookies are gone: opening it never ends → it says that it cannot tell, and can once they answer',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 5 });
    const { writer, ensemble } = await open(world);
    for (const name of ensemble) world.cluster.kill(name);
    t.equal((await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }))).code, 'LEDGER_RECOVERY_FAILED');
    for (const name of ensemble.slice(1)) world.cluster.restart(name);
    t.equal((await recover(world, writer.ledgerId)).lastAddConfirmed, -1);
  },
);

t.test(
  '#2612 a bookie with wiped disks says "nothing here", and acknowledged entries are cut off → in limbo it says that it does not know',
  async (t) => {
    for (const isInLimbo of [true, false]) {
      const world = new SimWorld({ delayMs: 1 });
      const { writer, told, ensemble } = await open(world);
      world.cluster.bookie(ensemble[0] as string).refuseAppends = 'IO_ERROR'; // Never had it ...
      pushAll(writer, numbered(3));
      await world.runFor(50);
      t.equal(told.confirmed, 2);
      const forgetful = world.cluster.bookie(ensemble[1] as string); // ... and this one has lost it.
      forgetful.loseMemory();
      forgetful.isInLimbo = isInLimbo;
      world.cluster.bookie(ensemble[2] as string).stall();
      const opening = world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password });
      if (!isInLimbo) {
        t.equal((await world.run(opening, 120_000)).lastAddConfirmed, -1, 'what limbo is for: two honest-looking negatives are taken for a proof');
        continue;
      }
      t.equal((await world.rejection(opening)).code, 'LEDGER_RECOVERY_FAILED');
      world.cluster.bookie(ensemble[2] as string).resume();
      t.equal((await recover(world, writer.ledgerId)).lastAddConfirmed, 2);
    }
  },
);

t.test('#4812 bookies are replaced by fresh ones under the same name, and the old writer is acknowledged after the ledger was closed', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, told, ensemble } = await open(world, ledgerOptions(2, 2, 2));
  pushAll(writer, ['entry 0']);
  await world.runFor(10);
  await recover(world, writer.ledgerId);
  for (const name of ensemble) {
    world.cluster.kill(name);
    world.cluster.bookie(name).wipe();
    world.cluster.restart(name);
  }
  pushAll(writer, ['entry 1']);
  await world.runFor(10_000);
  t.equal(told.confirmed, 0);
  t.equal(told.error?.code, 'LEDGER_FENCED');
});

t.test(
  'BP-46 scenario 1: a bookie forgets its fence, and the old writer is acknowledged after the close → in limbo it takes nothing from writers',
  async (t) => {
    const world = new SimWorld({ delayMs: 1 });
    const { writer, told, ensemble } = await open(world, ledgerOptions(2, 2, 1));
    pushAll(writer, ['entry 0']);
    await world.runFor(10);
    const forgetful = world.cluster.bookie(ensemble[1] as string);
    const reader = await recover(world, writer.ledgerId);
    t.equal(reader.lastAddConfirmed, 0);
    forgetful.loseMemory();
    forgetful.isInLimbo = true;
    world.cluster.bookie(ensemble[0] as string).stall();
    pushAll(writer, ['entry 1']);
    await world.runFor(60_000);
    t.equal(told.confirmed, 0);
    t.equal(told.error?.code, 'LEDGER_FENCED');
  },
);

t.test('TLA+ "freeze LAC of recovery writes": rewritten entries vouch for an end that another recoverer does not reach', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const { writer, told, ensemble } = await open(world);
  pushAll(writer, ['entry 0']);
  await world.runFor(10);
  pushAll(writer, numbered(4, 1)); // Carry LAC 0.
  await world.runFor(10);
  t.equal(told.confirmed, 4);
  await recover(world, writer.ledgerId);
  for (const name of ensemble) {
    const reply = await world.run(
      world.cluster
        .bookie(name)
        .connect()
        .service.read({ ledgerId: writer.ledgerId, entryIds: [1, 2, 3, 4] as EntryId[], bytesMax: 1e6 }),
    );
    t.same(
      reply.entries.map((entry) => entryLastAddConfirmed(entry)),
      [0, 0, 0, 0],
      name,
    );
  }
});
