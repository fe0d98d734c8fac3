import t from 'tap';
import { TopicWorld } from '../subscription/testing/topic-world.js';
import { startOf } from './start-position.js';

t.test('start position: of an empty log → before its first entry, whatever is asked', async (t) => {
  const { log } = await TopicWorld.open();
  for (const initial of ['earliest', 'latest', { position: { ledgerId: 0 as never, entryId: 0 as never }, isInclusive: true }] as const) {
    t.same(startOf(log, initial), log.beforeFirst);
  }
});
