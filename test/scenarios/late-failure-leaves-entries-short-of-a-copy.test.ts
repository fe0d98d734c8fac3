import { pushAll, SimWorld } from '@daybook/ledger/testing';
import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { openLedger, segmentsOf } from './open-ledger.js';

t.test('#1390 a bookie fails after the entry was acknowledged: nobody cares until the next append, and entries stay short of a copy', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, told, ensemble } = await openLedger(world);
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
