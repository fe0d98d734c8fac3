import { numbered, password, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

t.test(
  'BP-46 scenario 2: a bookie lost the tail of its journal, another never had it, and recovery closes before it → in limbo that proves nothing',
  async (t) => {
    for (const isInLimbo of [true, false]) {
      const world = new SimWorld({ delayMs: 1 });
      const { writer, told, ensemble } = await openLedger(world);
      const [neverHad, forgetful, third] = ensemble.map((name) => world.cluster.bookie(name));
      pushAll(writer, numbered(2));
      await world.runFor(50);
      if (neverHad !== undefined) neverHad.refuseAppends = 'IO_ERROR';
      pushAll(writer, numbered(3, 2));
      await world.runFor(50);
      t.equal(told.confirmed, 4);
      for (const id of [3, 4]) forgetful?.forget(writer.ledgerId, id);
      if (forgetful !== undefined) forgetful.isInLimbo = isInLimbo;
      if (neverHad !== undefined) neverHad.refuseAppends = undefined;
      third?.stall();
      const opening = world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password });
      if (!isInLimbo) {
        t.equal((await world.run(opening, 120_000)).lastAddConfirmed, 2, 'what limbo is for');
        continue;
      }
      t.equal((await world.rejection(opening)).code, 'LEDGER_RECOVERY_FAILED');
      third?.resume();
      t.equal((await recover(world, writer.ledgerId)).lastAddConfirmed, 4);
    }
  },
);
