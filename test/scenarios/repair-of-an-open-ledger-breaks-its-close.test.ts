import { payloadOf, RepairWorld } from '@daybook/ledger/testing';
import type { BookieId } from '@daybook/proto';
import t from 'tap';

const password = Buffer.from('secret');

t.test('BOOKKEEPER-112 repair changes the record of a ledger that is being written, and its writer cannot close it any more', async (t) => {
  const world = new RepairWorld({ bookiesCount: 6 });
  const node = world.addNode();
  const writer = await world.run(node.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password }));
  const append = () => world.run(writer.append(payloadOf(writer.ledgerId, writer.lastAddPushed + 1)));
  const autoRecovery = await world.autoRecovery();
  await append();
  await append();
  const [first] = await world.ensemble(writer.ledgerId);
  world.cluster.kill(first as string);
  await append(); // The writer replaces the bookie from here on; entries 0 and 1 are repair's.
  t.ok(await world.areWhole([writer.ledgerId], 60_000), 'the older segment is repaired while it is open');
  const repaired = await world.metadata(writer.ledgerId);
  t.equal(repaired.state, 'OPEN');
  t.equal(repaired.segments.length, 2);
  await append();
  // What the writer knows of the record is not what is stored, and it changes and closes it nevertheless.
  world.cluster.kill((repaired.segments[1]?.ensemble ?? [])[1] as BookieId);
  await append();
  const closed = await world.run(writer.close());
  t.equal(closed.lastEntryId, 4);
  const { segments, state } = await world.metadata(writer.ledgerId);
  t.equal(state, 'CLOSED');
  t.same(segments[0]?.ensemble.includes(first as BookieId), false, 'what repair wrote is still there');
  t.ok(await world.isReadable(writer.ledgerId, 5));
  await world.run(autoRecovery.close());
});
