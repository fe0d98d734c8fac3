import type { BookieId } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { bookieRackOf, createBookieTopology, readBookieRacks, updateBookieRacks, withBookieRack, withoutBookieRack } from './bookie-racks.js';
import { MemoryTree } from './memory-store.js';
import { paths } from './paths.js';

const b1 = 'b1:3181' as BookieId;
const b2 = 'b2:3181' as BookieId;

function newStore() {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  return { queue, store: new MemoryTree().openSession({ clock }) };
}

t.test('bookie racks: never set → nothing; set, moved to another group, removed → as Pulsar writes it', async (t) => {
  const { queue, store } = newStore();
  const work = async () => {
    t.same(await readBookieRacks(store), {});
    await updateBookieRacks(store, (racks) => withBookieRack(racks, 'default', b1, { rack: '/eu/r1', hostname: 'h1' }));
    t.equal((await store.get(paths.bookieRacks))?.value.toString(), '{"default":{"b1:3181":{"rack":"/eu/r1","hostname":"h1"}}}');
    await updateBookieRacks(store, (racks) => withBookieRack(racks, 'default', b2, { rack: '/eu/r2', hostname: '' }));
    const moved = await updateBookieRacks(store, (racks) => withBookieRack(racks, 'isolated', b1, { rack: '/eu/r3', hostname: 'h1' }));
    t.same(moved, { default: { [b2]: { rack: '/eu/r2', hostname: '' } }, isolated: { [b1]: { rack: '/eu/r3', hostname: 'h1' } } });
    t.equal(bookieRackOf(moved, b1)?.rack, '/eu/r3');
    t.same(await updateBookieRacks(store, (racks) => withoutBookieRack(racks, b1)), { default: { [b2]: { rack: '/eu/r2', hostname: '' } } });
  };
  await queue.complete(work());
});

t.test('bookie racks: a record that is none → METADATA_CORRUPT; the topology keeps what it knew and follows changes', async (t) => {
  const { queue, store } = newStore();
  await queue.complete(updateBookieRacks(store, (racks) => withBookieRack(racks, 'default', b1, { rack: '/r1', hostname: '' })));
  const topology = await queue.complete(createBookieTopology(store));
  t.equal(topology.locationOf(b1), '/r1');
  t.equal(topology.locationOf(b2), undefined);
  for (const text of ['{', '[]', '{"default":3}', '{"default":{"b1":{}}}']) {
    await queue.complete(store.put(paths.bookieRacks, Buffer.from(text), 'any'));
    await t.rejects(queue.complete(readBookieRacks(store)), { code: 'METADATA_CORRUPT' }, text);
    await queue.runFor(100);
    t.equal(topology.locationOf(b1), '/r1');
  }
  await queue.complete(store.put(paths.bookieRacks, Buffer.from('{"g":{"b2:3181":{"rack":"/r2"}}}'), 'any'));
  await queue.runFor(100);
  t.same([topology.locationOf(b1), topology.locationOf(b2), topology.bookieIds()], [undefined, '/r2', [b2]]);
  topology.close();
});
