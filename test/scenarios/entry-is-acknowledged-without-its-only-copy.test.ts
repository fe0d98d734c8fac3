import { ledgerOptions, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { holdersOf, openLedger } from './open-ledger.js';

t.test('#3005 an entry is acknowledged though the only bookie that had it was just replaced (E2 Qw1 Qa1)', async (t) => {
  const world = new SimWorld({ bookiesCount: 3, delayMs: 5 });
  const { writer, told, ensemble, records } = await openLedger(world, ledgerOptions(2, 1, 1));
  records.delayMs = 50;
  world.cluster.bookie(ensemble[0] as string).delayMs = 30;
  pushAll(writer, ['entry 0', 'entry 1']); // 0 to the slow bookie, 1 to the one that will die.
  await world.runFor(8);
  world.cluster.kill(ensemble[1] as string);
  for (let i = 0; i < 50; i++) {
    await world.runFor(5);
    for (let id = 0; id <= told.confirmed; id++)
      t.ok(holdersOf(world, writer.ledgerId, id).length >= 1, `entry ${id} is somewhere the metadata names`);
  }
  t.equal(told.confirmed, 1);
});
