import t from 'tap';
import { killCluster } from './kill-cluster.js';

t.setTimeout(180_000);

const options = { timeout: 180_000, skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' };

t.test('cluster: a bookie, the owner broker and ZooKeeper killed in turn under load -> nothing acknowledged is lost', options, async (t) => {
  const { problems, acknowledged, gapsMs } = await killCluster((line) => t.comment(line));
  t.same(problems, []);
  t.ok(acknowledged > 1_500, `a real load was there: ${acknowledged} messages were acknowledged`);
  t.ok((gapsMs['a bookie was killed'] as number) < 1_000, 'without a bookie publishing goes on within a second');
  t.ok((gapsMs['the owner broker was killed'] as number) < 15_000, 'another broker takes over once the session has ended');
});
