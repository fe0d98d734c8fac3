import { numbered, pushAll, SimWorld } from '@daybook/ledger/testing';
import type { EntryId } from '@daybook/proto';
import { entryLastAddConfirmed } from '@daybook/proto';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

t.test('TLA+ "freeze LAC of recovery writes": rewritten entries vouch for an end that another recoverer does not reach', async (t) => {
  const world = new SimWorld({ delayMs: 1 });
  const { writer, told, ensemble } = await openLedger(world);
  pushAll(writer, ['entry 0']);
  await world.runFor(10);
  pushAll(writer, numbered(4, 1)); // Carry LAC 0.
  await world.runFor(10);
  t.equal(told.confirmed, 4);
  await recover(world, writer.ledgerId);
  for (const name of ensemble) {
    const reply = await world.run(
      world.cluster
        .bookie(name)
        .connect()
        .service.read({ ledgerId: writer.ledgerId, entryIds: [1, 2, 3, 4] as EntryId[], bytesMax: 1e6 }),
    );
    t.same(
      reply.entries.map((entry) => entryLastAddConfirmed(entry)),
      [0, 0, 0, 0],
      name,
    );
  }
});
