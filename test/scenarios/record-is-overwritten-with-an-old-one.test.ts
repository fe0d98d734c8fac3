import { numbered, password, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger } from './open-ledger.js';

t.test('BOOKKEEPER-584 a record is overwritten with what somebody knew before → every write names the version it replaces', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { writer, records } = await openLedger(world);
  pushAll(writer, numbered(2));
  await world.runFor(10);
  const recoverer = world.cluster.connect().client;
  records.beforeWrite = async () => {
    await recoverer.openWithRecovery(writer.ledgerId, { password });
  };
  const error = await world.rejection(writer.close());
  const stored = world.cluster.store.ledgers.get(writer.ledgerId)?.metadata;
  t.equal(stored?.state, 'CLOSED');
  t.equal(stored?.lastEntryId, 1);
  t.equal(error.message, 'it was not rejected', 'somebody else closed it at the very same end');
  t.equal(world.cluster.store.history.filter((one) => one.metadata.state === 'CLOSED').length, 1);
});
