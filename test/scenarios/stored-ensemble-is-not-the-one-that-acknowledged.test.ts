import { pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { holdersOf, openLedger } from './open-ledger.js';

t.test('#4651 #4097 a bookie acknowledges and dies; while its successor is written down, its old answer completes the entry', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, told, ensemble, records } = await openLedger(world);
  const [dies, slow, slower] = ensemble.map((name) => world.cluster.bookie(name));
  for (const bookie of world.cluster.bookies.values()) bookie.delayMs = 30;
  if (dies === undefined || slow === undefined || slower === undefined) throw new Error('three bookies');
  [dies.delayMs, slow.delayMs, slower.delayMs, records.delayMs] = [1, 100, 2_000, 200];
  pushAll(writer, ['entry 0']);
  await world.runFor(20); // One has it.
  world.cluster.kill(dies.bookieId);
  pushAll(writer, ['entry 1']); // It is found out; a second one has entry 0 while the change is on its way to the metadata.
  let failures = 0;
  for (let i = 0; i < 2_500; i++) {
    await world.runFor(1);
    for (let id = 0; id <= told.confirmed; id++) if (holdersOf(world, writer.ledgerId, id).length < 2) failures++;
  }
  t.equal(failures, 0, 'acknowledged: on two bookies that the metadata names, at every moment');
  t.equal(told.confirmed, 1);
});
