import { password, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { e3 } from './open-ledger.js';

t.test('BOOKKEEPER-795 fenced with appends under way: some of them are never answered', async (t) => {
  const world = new SimWorld({ delayMs: 5 });
  const { client } = world.cluster.connect();
  const writer = await world.run(client.create(e3));
  const answers: string[] = [];
  const pushing: Promise<void>[] = [];
  const recovering = world.cluster.connect().client.openWithRecovery(writer.ledgerId, { password });
  for (let i = 0; i < 40; i++) {
    pushing.push(
      writer.append(Buffer.from(`entry ${i}`)).then(
        (id) => void answers.push(`${id}`),
        (error) => void answers.push(error.code),
      ),
    );
    await world.runFor(1);
  }
  await world.run(Promise.all(pushing), 1_000);
  const { lastAddConfirmed } = await world.run(recovering);
  t.equal(answers.length, 40);
  const acknowledged = answers.filter((answer) => answer !== 'LEDGER_FENCED');
  t.ok(acknowledged.length < 40 && acknowledged.every((id) => Number(id) <= lastAddConfirmed));
});
