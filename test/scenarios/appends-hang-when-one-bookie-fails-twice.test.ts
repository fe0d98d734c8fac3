import { ledgerOptions, numbered, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, segmentsOf } from './open-ledger.js';

for (const [crashAfterMs, when] of [
  [5_100, 'while its replacement is written down'],
  [6_500, 'when it is replaced'],
] as const) {
  t.test(
    `#4261 #4459 a bookie is silent too long, and its connection breaks ${when}: replaced twice, or nothing is sent to the new one`,
    async (t) => {
      const world = new SimWorld({ bookiesCount: 4, delayMs: 2 });
      const { writer, told, ensemble, records } = await openLedger(world, ledgerOptions(3, 3, 3));
      const bad = world.cluster.bookie(ensemble[0] as string);
      records.delayMs = 300;
      bad.stall();
      pushAll(writer, ['entry 0']);
      await world.runFor(4_500);
      pushAll(writer, ['entry 1']); // Not yet due when the first one is.
      await world.runFor(crashAfterMs - 4_500);
      bad.crash();
      pushAll(writer, numbered(3, 2));
      await world.runFor(10_000);
      t.equal(told.confirmed, 4);
      t.notOk(writer.isDegraded);
      t.equal(segmentsOf(world, writer.ledgerId).length, 1);
      t.equal(world.cluster.store.history.length, 2, 'one change');
    },
  );
}
