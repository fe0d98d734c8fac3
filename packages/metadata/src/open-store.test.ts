import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { openMetadataStore } from './open-store.js';
import { parseZooKeeperUrl } from './zookeeper-url.js';

t.test('metadata URL: memory and file -> a store that works', async (tt) => {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const disk = new SimDisk({ clock });
  for (const url of ['memory:', 'file:/data/metadata', 'file:///data/other', 'file:relative']) {
    const store = await queue.complete(openMetadataStore(url, { clock, disk }));
    await queue.complete(store.put('/a', Buffer.from('x'), 'absent'));
    tt.ok(await queue.complete(store.get('/a')), url);
    await queue.complete(store.close());
  }
  tt.ok(disk.peek('/data/metadata/log-0'));
  tt.ok(disk.peek('/data/other/log-0'));
});

t.test('metadata URL: anything else -> CLUSTER_BAD_METADATA_URL that names it', async (tt) => {
  const clock = new SimClock(new EventQueue({ seed: 1 }));
  const disk = new SimDisk({ clock });
  for (const url of [
    '',
    'http://x',
    'zk:/x',
    '127.0.0.1:2181',
    'file:',
    'memory',
    'zk://',
    'zk://host:0/x',
    'zk://host:70000',
    'zk://[::1]:2181/x',
    'zk://a,,b/x',
    'zk://h/a//b',
    'zk://h/../x',
  ]) {
    await tt.rejects(openMetadataStore(url, { clock, disk }), { code: 'CLUSTER_BAD_METADATA_URL' }, url);
  }
});

t.test('ZooKeeper URL: servers, default port, root -> taken apart', async (tt) => {
  tt.strictSame(parseZooKeeperUrl('zk://a:2181,b.c:2182,127.0.0.1/x/y'), { servers: 'a:2181,b.c:2182,127.0.0.1:2181', root: '/x/y' });
  tt.strictSame(parseZooKeeperUrl('zk://a'), { servers: 'a:2181', root: '' });
  tt.strictSame(parseZooKeeperUrl('zk://a:1/'), { servers: 'a:1', root: '' });
});
