import { numbered, pushAll, readTexts, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover, segmentsOf } from './open-ledger.js';

t.test('#2615 a ledger whose last segment is empty can never be recovered → it can, twice over', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { writer, told, ensemble } = await openLedger(world);
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
