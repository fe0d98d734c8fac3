import { numbered, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger } from './open-ledger.js';

t.test('#4261 the same dead bookie fails twice, the second change finds nothing to do, and appends hang for ever', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
  const { writer, told, ensemble, records } = await openLedger(world);
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
