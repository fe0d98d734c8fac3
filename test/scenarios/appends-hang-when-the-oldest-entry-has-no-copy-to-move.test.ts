import { ledgerOptions, numbered, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger } from './open-ledger.js';

t.test('#1857 the oldest entry has no copy on the replaced bookie, and appends hang for ever (E > Qw)', async (t) => {
  const world = new SimWorld({ bookiesCount: 5, delayMs: 2 });
  const { writer, told, ensemble, records } = await openLedger(world, ledgerOptions(4, 2, 2));
  records.delayMs = 20;
  for (const name of ensemble.slice(0, 2)) world.cluster.bookie(name).delayMs = 40;
  pushAll(writer, numbered(4)); // Entry 0 is on indexes 0 and 1.
  world.cluster.kill(ensemble[3] as string);
  await world.runFor(500);
  t.equal(told.confirmed, 3);
});
