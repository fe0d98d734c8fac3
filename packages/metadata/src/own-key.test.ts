import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { MemoryTree } from './memory-store.js';
import { deleteOwnKey } from './own-key.js';

t.test('deleteOwnKey: its own → gone; that of another session, another value, none → left alone', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const tree = new MemoryTree();
  const [mine, other] = ['a', 'b'].map((name) => tree.openSession({ clock: new SimClock(queue, { name }) }));
  if (mine === undefined || other === undefined) throw new Error('two sessions');
  const value = Buffer.from('me');
  const left = async () => (await queue.complete(mine.get('/lock')))?.value.toString();
  await queue.complete(deleteOwnKey(mine, '/lock', value));
  await queue.complete(other.put('/lock', value, 'absent', { ephemeral: true }));
  await queue.complete(deleteOwnKey(mine, '/lock', value));
  t.equal(await left(), 'me');
  await queue.complete(deleteOwnKey(other, '/lock', Buffer.from('somebody')));
  t.equal(await left(), 'me');
  await queue.complete(deleteOwnKey(other, '/lock', value));
  t.equal(await left(), undefined);
});
