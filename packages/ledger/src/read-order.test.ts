import type { BookieId, EntryId } from '@daybook/proto';
import t from 'tap';
import type { LedgerClientOptions } from './ledger-client-options.js';
import { ledgerOptions, numbered, password, pushAll, SimWorld } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);

async function closedLedger(world: SimWorld, options: Partial<LedgerClientOptions> = {}, racks: Record<string, string> = {}, sizes = e3) {
  const topology = { locationOf: (id: BookieId) => racks[id], bookieIds: () => [], close: () => undefined };
  const { client, pool } = world.cluster.connect({ options, topology });
  const writer = await world.run(client.create(sizes));
  pushAll(writer, numbered(60));
  await world.runFor(50);
  await world.run(writer.close());
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  const readOne = async (n: number) => {
    const before = new Map([...world.cluster.bookies.values()].map((bookie) => [bookie.bookieId as string, bookie.readsCount]));
    await world.run(reader.read(n as EntryId, n as EntryId));
    return [...world.cluster.bookies.values()]
      .filter((bookie) => bookie.readsCount > (before.get(bookie.bookieId) ?? 0))
      .map((bookie) => bookie.bookieId as string);
  };
  return { reader, readOne, pool };
}

t.test('read order: sticky → one replica as long as it answers, after an error another one; not sticky → all in turn', async (t) => {
  const world = new SimWorld();
  const { readOne } = await closedLedger(world);
  const [first] = await readOne(0);
  for (let n = 1; n < 6; n++) t.same(await readOne(n), [first]);
  world.cluster.bookie(first as string).refuseReads = 'IO_ERROR';
  t.equal((await readOne(6)).length, 2, 'asked, failed, the next one');
  world.cluster.bookie(first as string).refuseReads = undefined;
  const [other] = await readOne(7);
  t.not(other, first);
  const spread = await closedLedger(new SimWorld(), { stickyReadsEnabled: false });
  const asked = new Set<string>();
  for (let n = 0; n < 6; n++) for (const name of await spread.readOne(n)) asked.add(name);
  t.equal(asked.size, 3);
});

t.test('read order: a replica that let somebody wait → goes behind the others for a minute', async (t) => {
  const world = new SimWorld();
  const { readOne } = await closedLedger(world, { speculativeReadTimeoutMs: 100 });
  const [slow] = await readOne(0);
  world.cluster.bookie(slow as string).delayMs = 300;
  const startMs = world.clock.monoMs();
  await readOne(1);
  t.ok(world.clock.monoMs() - startMs <= 110, 'the speculative read won');
  await world.runFor(1_000);
  world.cluster.bookie(slow as string).delayMs = 0;
  t.notOk((await readOne(2)).includes(slow as string));
  await world.runFor(60_000);
  t.same(await readOne(3), [slow]);
});

t.test('read order: region known → the nearest healthy replica; order by health before distance', async (t) => {
  const racks = { b1: '/us/1', b2: '/eu/2', b3: '/eu/1' };
  for (const [networkLocation, nearest, next] of [
    ['/eu/1', 'b3', 'b2'],
    ['/eu/2', 'b2', 'b3'],
    ['/us/1', 'b1', undefined],
  ] as const) {
    const world = new SimWorld();
    const { readOne, pool } = await closedLedger(world, { networkLocation, stickyReadsEnabled: false }, racks);
    for (let n = 0; n < 4; n++) t.same(await readOne(n), [nearest]);
    pool.report(nearest as BookieId, 'TIMEOUT');
    const [other] = await readOne(5);
    if (next === undefined) t.not(other, nearest);
    else t.equal(other, next);
  }
});

t.test('read order: own region in trouble → after two of it one of another region, then the rest of it', async (t) => {
  const racks = { b1: '/eu/1', b2: '/eu/2', b3: '/eu/3', b4: '/eu/4', b5: '/us/1' };
  const world = new SimWorld({ bookiesCount: 5, delayMs: 1 });
  const { readOne } = await closedLedger(world, { networkLocation: '/eu/1' }, racks, ledgerOptions(5, 5, 3));
  for (const name of ['b1', 'b2', 'b3', 'b4']) world.cluster.bookie(name).refuseReads = 'TOO_MANY_REQUESTS';
  const asked = await readOne(0);
  t.equal(asked.length, 3);
  t.ok(asked.includes('b1') && asked.includes('b5'));
});

t.test('read order: reordering switched off → the order of the write set, whatever is known', async (t) => {
  const world = new SimWorld();
  const { readOne, pool } = await closedLedger(world, { reorderReadSequenceEnabled: false });
  const [first] = await readOne(0);
  pool.report(first as BookieId, 'TIMEOUT');
  t.same(await readOne(1), [first]);
});

t.test('bookie pool: fails to append but answers reads → stays quarantined until an append succeeds; any answer ends the others', async (t) => {
  const world = new SimWorld();
  const { pool } = world.cluster.connect();
  const b1 = 'b1' as BookieId;
  pool.report(b1, 'IO_ERROR', true);
  pool.report(b1, 'OK');
  t.ok(pool.isQuarantined(b1));
  pool.report(b1, 'OK', true);
  t.notOk(pool.isQuarantined(b1));
  pool.report(b1, 'TIMEOUT');
  pool.report(b1, 'NO_LEDGER');
  t.notOk(pool.isQuarantined(b1), 'it knows nothing of that ledger, but it is there');
  pool.report(b1, 'TIMEOUT');
  pool.report(b1, 'TOO_MANY_REQUESTS');
  t.ok(pool.isQuarantined(b1));
});
