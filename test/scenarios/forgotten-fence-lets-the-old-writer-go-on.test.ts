import { ledgerOptions, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

t.test(
  'BP-46 scenario 1: a bookie forgets its fence, and the old writer is acknowledged after the close → in limbo it takes nothing from writers',
  async (t) => {
    const world = new SimWorld({ delayMs: 1 });
    const { writer, told, ensemble } = await openLedger(world, ledgerOptions(2, 2, 1));
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
