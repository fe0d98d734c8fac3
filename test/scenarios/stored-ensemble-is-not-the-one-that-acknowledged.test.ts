import { ledgerOptions, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, segmentsOf } from './open-ledger.js';

t.test('#4651 the stored ensemble is not the one that has the entries, after several changes in a row (E2 Qw2 Qa1)', async (t) => {
  const world = new SimWorld({ bookiesCount: 8, delayMs: 3 });
  const { writer, told, records } = await openLedger(world, ledgerOptions(2, 2, 1));
  records.delayMs = 15;
  for (let round = 0; round < 6; round++) {
    const members = segmentsOf(world, writer.ledgerId).at(-1)?.ensemble ?? [];
    pushAll(writer, [`entry ${round}`]);
    await world.runFor(4);
    world.cluster.kill(members[round % 2] as string);
    pushAll(writer, ['in between']);
    for (let i = 0; i < 10; i++) {
      await world.runFor(5);
      const dead = [...world.cluster.bookies.values()].filter((bookie) => !bookie.isUp).map((bookie) => bookie.bookieId);
      for (let id = 0; id <= told.confirmed; id++) {
        const segment = segmentsOf(world, writer.ledgerId).findLast((one) => one.firstEntryId <= id);
        const holds = (segment?.ensemble ?? []).filter((name) => world.cluster.bookie(name).holds(writer.ledgerId, id));
        if (holds.length === 0) t.fail(`entry ${id} is not where the metadata says; down: ${dead}`);
      }
    }
  }
  t.ok(told.confirmed >= 10);
});
