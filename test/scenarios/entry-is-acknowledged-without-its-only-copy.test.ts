import { ledgerOptions, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { holdersOf, openLedger } from './open-ledger.js';

t.test(
  '#3005 two bookies are replaced at once; when the first one is, what the second one said still counts, and an entry is acknowledged',
  async (t) => {
    const world = new SimWorld({ bookiesCount: 8, delayMs: 1 });
    const { writer, told, ensemble, records } = await openLedger(world, ledgerOptions(4, 4, 2));
    const [silent, first, slow, dies] = ensemble as [string, string, string, string];
    for (const bookie of world.cluster.bookies.values()) bookie.delayMs = 30;
    world.cluster.bookie(silent).delayMs = 60_000;
    world.cluster.bookie(slow).delayMs = 60_000;
    world.cluster.bookie(dies).delayMs = 1;
    records.delayMs = 200;
    world.cluster.kill(first);
    pushAll(writer, ['entry 0']); // The dead one is being replaced ...
    await world.runFor(20); // ... when the last one, and nobody else, has the entry ...
    world.cluster.kill(silent);
    world.cluster.kill(dies);
    pushAll(writer, ['entry 1']); // ... and two more are found dead. They are replaced together, once the first one is.
    let failures = 0;
    for (let i = 0; i < 1_000; i++) {
      await world.runFor(1);
      for (let id = 0; id <= told.confirmed; id++) if (holdersOf(world, writer.ledgerId, id).length < 2) failures++;
    }
    t.equal(failures, 0, 'acknowledged: on two bookies that the metadata names, at every moment');
    t.equal(told.confirmed, 1);
    t.same(
      writer.metadata.segments.at(-1)?.ensemble.filter((name) => (ensemble as readonly string[]).includes(name)),
      [slow],
    );
    t.equal(world.cluster.store.history.length, 3, 'created, and changed twice');
  },
);
