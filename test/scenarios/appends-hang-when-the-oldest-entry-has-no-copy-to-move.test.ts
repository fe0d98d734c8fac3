import { ledgerOptions, numbered, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger } from './open-ledger.js';

t.test('#1857 a bookie is replaced that has no part in the oldest entry, which is complete by then: nobody looks at it again (E > Qw)', async (t) => {
  const world = new SimWorld({ bookiesCount: 5, delayMs: 2 });
  const { writer, told, ensemble, records } = await openLedger(world, ledgerOptions(4, 2, 2));
  records.delayMs = 200;
  for (const name of ensemble.slice(0, 2)) world.cluster.bookie(name).delayMs = 40;
  pushAll(writer, ['entry 0']); // To the first two, and nothing else is under way.
  await world.runFor(1);
  const unconcerned = ensemble[3] as string;
  world.cluster.kill(unconcerned);
  world.cluster.bookie(unconcerned).wipe(); // Other disks: it is replaced although nothing was sent to it.
  world.cluster.restart(unconcerned);
  await world.runFor(100);
  t.equal(told.confirmed, -1, 'not while the change is on its way');
  await world.runFor(2_000);
  t.equal(told.confirmed, 0);
  pushAll(writer, numbered(4, 1));
  await world.runFor(500);
  t.equal(told.confirmed, 4);
});
