import { RealClock } from '@daybook/runtime/real';
import t from 'tap';
import { testMetadataStore } from './conformance.js';
import { ZooKeeperServer } from './testing/zookeeper-server.js';
import { openZooKeeperStore } from './zookeeper-store.js';

const clock = new RealClock();

if (process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1') {
  t.test('ZooKeeper store', { skip: 'DAYBOOK_WITHOUT_ZOOKEEPER=1' }, async () => undefined);
} else {
  const server = await ZooKeeperServer.start({ tickMs: 500 });
  t.teardown(() => server.stop());
  let roots = 0;
  await testMetadataStore(t, 'ZooKeeper store', async () => {
    roots += 1;
    const options = { url: `zk://${server.address}/conformance/${roots}`, clock, metadataSessionTimeoutMs: 5_000 };
    const first = await openZooKeeperStore(options);
    const second = await openZooKeeperStore(options);
    return {
      first,
      second,
      endFirst: async () => {
        await first.close();
        return second;
      },
      close: async () => {
        await first.close();
        await second.close();
      },
    };
  });
}
