import type { LedgerWriter } from '@daybook/ledger';
import { SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { e3 } from './open-ledger.js';

t.test('#4557 completions that race with each other get stuck: whoever is told of one appends, changes and closes from there', async (t) => {
  const world = new SimWorld({ bookiesCount: 4, delayMs: 1 });
  const { client } = world.cluster.connect();
  const writer: LedgerWriter = await world.run(client.create(e3));
  const confirmed: number[] = [];
  let closed: Promise<unknown> | undefined;
  writer.listen({
    confirmed: (upTo) => {
      confirmed.push(upTo);
      if (upTo < 200) for (let i = 0; i < 3; i++) writer.push(Buffer.from('x'));
      else closed ??= writer.close();
      if (confirmed.length === 20) world.cluster.kill(writer.metadata.segments[0]?.ensemble[1] as string);
    },
    failed: () => undefined,
  });
  writer.push(Buffer.from('first'));
  await world.runFor(5_000);
  t.ok(closed !== undefined);
  const end = (await world.run(closed as Promise<{ lastEntryId: number }>)) as { lastEntryId: number };
  t.equal(end.lastEntryId, confirmed.at(-1));
  t.same(
    confirmed,
    [...confirmed].sort((a, b) => a - b),
  );
});
