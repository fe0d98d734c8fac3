import { ledgerOptions, numbered, pushAll, readTexts, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover, segmentsOf } from './open-ledger.js';

t.test('#2615 no bookie of the last segment knows of any entry, and recovery begins at entry 0 → it begins where that segment does', async (t) => {
  const world = new SimWorld({ bookiesCount: 6 });
  const { writer, told, ensemble } = await openLedger(world, ledgerOptions(2, 2, 2));
  pushAll(writer, numbered(4));
  await world.runFor(20);
  for (const name of ensemble) world.cluster.kill(name);
  pushAll(writer, ['entry 4']);
  await world.runFor(1_000);
  t.equal(told.confirmed, 4);
  const last = segmentsOf(world, writer.ledgerId).at(-1)?.ensemble ?? [];
  t.notOk(last.some((name) => ensemble.includes(name)));
  // As if the writer had died right after the change, before anything reached the new segment.
  for (const name of last) world.cluster.bookie(name).loseMemory();
  for (const name of ensemble) world.cluster.restart(name);
  const reader = await recover(world, writer.ledgerId);
  t.equal(reader.lastAddConfirmed, 3);
  t.same(await world.run(readTexts(reader)), numbered(4));
});
