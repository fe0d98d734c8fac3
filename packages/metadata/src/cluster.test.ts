import { bookieId } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { createCookieRecords, initialiseCluster, readInstanceId } from './cluster.js';
import { MemoryTree } from './memory-store.js';
import { paths } from './paths.js';

function setup() {
  const clock = new SimClock(new EventQueue({ seed: 1 }));
  const tree = new MemoryTree();
  return (name = 'x') => tree.openSession({ clock, random: new SimRandom(name) });
}

t.test("cluster: initialised -> BookKeeper's layout record, an id, the lists", async (tt) => {
  const store = setup()();
  await tt.rejects(readInstanceId(store), { code: 'CLUSTER_NOT_INITIALISED' });
  const id = await initialiseCluster(store, new SimRandom(1));
  tt.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  tt.equal(
    (await store.get(paths.layout))?.value.toString('hex'),
    '320a6f72672e6170616368652e626f6f6b6b65657065722e6d6574612e48696572617263686963616c4c65646765724d616e61676572466163746f72793a31',
  );
  tt.equal((await store.get(paths.instanceId))?.value.toString(), id);
  tt.strictSame(await store.children(paths.ledgers), ['INSTANCEID', 'LAYOUT', 'available', 'cookies']);
  tt.equal(await readInstanceId(store), id);
});

t.test('cluster: initialised by many at once, over lost replies, and again later -> one id for all', async (tt) => {
  const open = setup();
  for (let round = 0; round < 20; round++) {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const store = open(`${round} ${i}`);
        store.setFaults({ lostReplies: 100 });
        for (;;) {
          try {
            return await initialiseCluster(store, new SimRandom(`${round} ${i}`));
          } catch (error) {
            tt.match(error, { code: 'METADATA_UNAVAILABLE' });
          }
        }
      }),
    );
    tt.equal(new Set(ids).size, 1);
  }
});

t.test('cluster: another layout -> CLUSTER_UNKNOWN_LAYOUT', async (tt) => {
  const store = setup()();
  await store.put(paths.layout, Buffer.from('2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1'), 'absent');
  await tt.rejects(initialiseCluster(store, new SimRandom(1)), { code: 'CLUSTER_UNKNOWN_LAYOUT', message: /FlatLedgerManagerFactory/ });
});

t.test('cookies: written, replaced, removed -> by version; a lost reply is settled', async (tt) => {
  const open = setup();
  const store = open();
  const cookies = createCookieRecords(store);
  const id = bookieId('b1');
  tt.equal(await cookies.read(id), undefined);
  await cookies.write(id, Buffer.from('one'), 'absent');
  await tt.rejects(cookies.write(id, Buffer.from('two'), 'absent'), { code: 'METADATA_EXISTS' });
  tt.strictSame(await cookies.read(id), { bytes: Buffer.from('one'), version: 0 });
  const put = store.put.bind(store);
  store.put = async (...args) => {
    store.setFaults({ lostReplies: 1000 });
    try {
      return await put(...args);
    } finally {
      store.setFaults({ lostReplies: 0 });
    }
  };
  await cookies.write(id, Buffer.from('two'), 0);
  tt.strictSame(await cookies.read(id), { bytes: Buffer.from('two'), version: 1 });
  tt.strictSame(await cookies.list(), ['b1']);
  await cookies.delete(id, 1);
  tt.strictSame(await cookies.list(), []);
});
