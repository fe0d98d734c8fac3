import type { EntryId } from '@daybook/proto';
import t from 'tap';
import type { LedgerClientOptions } from './ledger-client-options.js';
import { ledgerOptions, pushAll, SimWorld, Told } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);

async function newWriter(world: SimWorld, options: Partial<LedgerClientOptions>) {
  const writer = await world.run(world.cluster.connect({ options }).client.create(e3));
  const told = new Told(writer);
  const ensemble = [...(writer.metadata.segments[0]?.ensemble ?? [])] as string[];
  return { writer, told, ensemble };
}

t.test(
  'ledger writer: delayed ensemble change → one failure is borne, a second one is not; a read-only bookie loses its place at once',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 6 });
    const { writer, told, ensemble } = await newWriter(world, { delayEnsembleChange: true });
    world.cluster.kill(ensemble[0] as string);
    pushAll(writer, ['entry 0']);
    await world.runFor(1_000);
    t.equal(told.confirmed, 0);
    t.ok(writer.isDegraded);
    t.equal(writer.metadata.segments.length, 1);
    t.same(writer.metadata.segments[0]?.ensemble, ensemble, 'spares are up, and nobody is replaced');
    world.cluster.kill(ensemble[1] as string);
    pushAll(writer, ['entry 1']);
    await world.runFor(1_000);
    t.equal(told.confirmed, 1);
    t.notOk(writer.isDegraded, 'both at once');
    const readOnly = writer.metadata.segments.at(-1)?.ensemble[0] as string;
    world.cluster.bookie(readOnly).refuseAppends = 'READ_ONLY';
    pushAll(writer, ['entry 2']);
    await world.runFor(1_000);
    t.not(writer.metadata.segments.at(-1)?.ensemble[0], readOnly);
  },
);

t.test(
  'ledger writer: delayed ensemble change, the bookie is back → its place is still its own, and it gets what it missed that nobody confirmed',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 4 });
    const { writer, ensemble } = await newWriter(world, { delayEnsembleChange: true });
    world.cluster.kill(ensemble[0] as string);
    pushAll(writer, ['entry 0']);
    await world.runFor(500);
    world.cluster.restart(ensemble[0] as string);
    await world.runFor(6_000);
    t.notOk(writer.isDegraded);
    t.same(writer.metadata.segments, [{ firstEntryId: 0, ensemble }]);
  },
);

t.test('ledger writer: more ensemble changes than allowed → fails and says which bound', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { writer, told, ensemble } = await newWriter(world, { maxAllowedEnsembleChanges: 1 });
  world.cluster.kill(ensemble[0] as string);
  pushAll(writer, ['entry 0']);
  await world.runFor(500);
  t.equal(told.confirmed, 0, 'the first one is made');
  world.cluster.kill(ensemble[1] as string);
  pushAll(writer, ['entry 1']);
  await world.runFor(500);
  t.equal(told.error?.code, 'LEDGER_APPEND_FAILED');
  t.match(told.error?.message, /maxAllowedEnsembleChanges/);
});

t.test('ledger writer: ensemble changes switched off → waits for the same bookie; switched on again → the spare is taken', async (t) => {
  const world = new SimWorld({ bookiesCount: 5 });
  let isDisabled = true;
  const { writer, told, ensemble } = await newWriter(world, { disableEnsembleChange: () => isDisabled });
  world.cluster.kill(ensemble[0] as string);
  world.cluster.kill(ensemble[1] as string);
  pushAll(writer, ['entry 0']);
  await world.runFor(2_000);
  t.equal(told.confirmed, -1, 'the ledger stalls instead of changing');
  world.cluster.restart(ensemble[1] as string);
  await world.runFor(2_000);
  t.equal(told.confirmed, 0);
  t.same(writer.metadata.segments, [{ firstEntryId: 0, ensemble }]);
  isDisabled = false;
  world.cluster.register('b1');
  await world.runFor(6_000);
  t.notOk(writer.isDegraded);
});

t.test('ledger writer: ensemble changes switched off for too long → an answer all the same, that names the bookies', async (t) => {
  const world = new SimWorld({ bookiesCount: 5 });
  const { writer, told, ensemble } = await newWriter(world, { disableEnsembleChange: true });
  world.cluster.kill(ensemble[0] as string);
  world.cluster.kill(ensemble[1] as string);
  pushAll(writer, ['entry 0']);
  await world.runFor(31_000);
  t.equal(told.error?.code, 'LEDGER_NOT_ENOUGH_BOOKIES');
  for (const name of ensemble.slice(0, 2)) t.match(told.error?.message, `${name} (UNAVAILABLE)`);
});

t.test(
  'ledger writer: append while the window is full → waits in order, bounded in bytes; beyond it LEDGER_OVERLOADED, with a copy of the payload',
  async (t) => {
    const world = new SimWorld({ delayMs: 10 });
    const { client } = world.cluster.connect({ options: { windowBytes: 2_000, waitingAppendBytesMax: 3_000 } });
    const writer = await world.run(client.create(e3));
    const payload = Buffer.alloc(1_000);
    const answers = Array.from({ length: 12 }, (_, i) => {
      payload.fill(i);
      return writer.append(payload).then(
        (id): EntryId | string => id,
        (error) => `${error.code} ${error.retry}`,
      );
    });
    const ids = await world.run(Promise.all(answers));
    const accepted = ids.filter((id) => typeof id === 'number');
    t.same(
      accepted,
      Array.from({ length: accepted.length }, (_, i) => i),
    );
    t.same([...new Set(ids.slice(accepted.length))], ['LEDGER_OVERLOADED later']);
    t.ok(accepted.length >= 4 && accepted.length <= 7, `${accepted.length} accepted`);
    await world.run(writer.close());
    const reader = await world.run(client.openWithRecovery(writer.ledgerId, e3));
    const entries = await world.run(reader.read(0 as EntryId, (accepted.length - 1) as EntryId));
    t.same(
      entries.map((entry) => entry.payload[0]),
      accepted,
      'each with what it was given',
    );
  },
);

t.test('ledger writer: fails while appends wait for room → they are answered too', async (t) => {
  const world = new SimWorld({ delayMs: 10 });
  const { client } = world.cluster.connect({ options: { windowBytes: 2_000 } });
  const writer = await world.run(client.create(e3));
  const answers = Array.from({ length: 10 }, () => writer.append(Buffer.alloc(1_000)).catch((error) => error.code));
  for (const bookie of world.cluster.bookies.values()) bookie.refuseAppends = 'FENCED';
  t.same([...new Set(await world.run(Promise.all(answers), 1_000))], ['LEDGER_FENCED']);
});

t.test('ledger writer: a bookie is killed → confirmations stand still for less than 100 ms', async (t) => {
  for (const bookiesCount of [3, 4]) {
    const world = new SimWorld({ bookiesCount, delayMs: 2 });
    const { client, records } = world.cluster.connect();
    records.delayMs = 10;
    const writer = await world.run(client.create(e3));
    let last = 0;
    let longestMs = 0;
    writer.listen({
      confirmed: () => {
        const nowMs = world.clock.monoMs();
        if (last > 0) longestMs = Math.max(longestMs, nowMs - last);
        last = nowMs;
      },
      failed: () => t.fail('it goes on'),
    });
    for (let i = 0; i < 200; i++) {
      if (i === 100) world.cluster.kill(writer.metadata.segments[0]?.ensemble[1] as string);
      pushAll(writer, ['x']);
      await world.runFor(5);
    }
    t.ok(longestMs < 100, `${bookiesCount} bookies: ${longestMs} ms`);
  }
});
