import { ledgerOptions, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

t.test('#4812 bookies are replaced by fresh ones under the same name, and the old writer is acknowledged after the ledger was closed', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, told, ensemble } = await openLedger(world, ledgerOptions(2, 2, 2));
  pushAll(writer, ['entry 0']);
  await world.runFor(10);
  await recover(world, writer.ledgerId);
  for (const name of ensemble) {
    world.cluster.kill(name);
    world.cluster.bookie(name).wipe();
    world.cluster.restart(name);
  }
  pushAll(writer, ['entry 1']);
  await world.runFor(10_000);
  t.equal(told.confirmed, 0);
  t.equal(told.error?.code, 'LEDGER_FENCED');
});
