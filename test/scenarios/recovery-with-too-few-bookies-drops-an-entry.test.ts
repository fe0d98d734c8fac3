import { numbered, password, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

t.test('BOOKKEEPER-150 recovery goes on with too few bookies and drops an entry that was acknowledged', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const { writer, told, ensemble } = await openLedger(world);
  world.cluster.bookie(ensemble[0] as string).refuseAppends = 'IO_ERROR'; // Has nothing.
  pushAll(writer, numbered(3));
  await world.runFor(50);
  t.equal(told.confirmed, 2);
  for (const name of ensemble.slice(1)) world.cluster.kill(name);
  const error = await world.rejection(world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password }));
  t.equal(error.code, 'LEDGER_RECOVERY_FAILED');
  t.equal(world.cluster.store.ledgers.get(writer.ledgerId)?.metadata.state, 'IN_RECOVERY');
  world.cluster.bookie(ensemble[0] as string).refuseAppends = undefined;
  world.cluster.restart(ensemble[2] as string);
  t.equal((await recover(world, writer.ledgerId)).lastAddConfirmed, 2);
});
