import { RepairWorld } from '@daybook/ledger/testing';
import t from 'tap';

t.test(
  'BOOKKEEPER-742 a ledger without entries has no copy to lose, so nobody replaces its lost bookies, and one day it cannot be opened',
  async (t) => {
    const world = new RepairWorld({ bookiesCount: 9 });
    const closed = await world.ledger({ count: 0 });
    const open = await world.ledger({ count: 0, isOpen: true });
    const autoRecovery = await world.autoRecovery({ openLedgerRereplicationGracePeriodMs: 2_000 });
    await world.runFor(1_000);
    // One after the other, all bookies that they were made on.
    for (const name of new Set([...(await world.ensemble(closed)), ...(await world.ensemble(open))])) {
      world.cluster.kill(name);
      t.ok(await world.areWhole([closed, open], 120_000), `neither names ${name} any more`);
    }
    for (const ledgerId of [closed, open]) t.ok(await world.isReadable(ledgerId, 0), 'it opens, as empty as it was');
    t.equal((await world.metadata(open)).state, 'CLOSED');
    await world.run(autoRecovery.close());
  },
);
