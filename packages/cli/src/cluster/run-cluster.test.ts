import { existsSync, readFileSync } from 'node:fs';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from '../testing/run-daybook.js';
import type { ClusterMember } from './cluster-folder.js';
import { runCluster } from './run-cluster.js';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(probe: () => boolean): Promise<void> {
  while (!probe()) await new Promise((resolve) => setTimeout(resolve, 20));
}

t.test('cluster: no Java -> says what to install and what else can be done', async (t) => {
  const { code, errors } = await runDaybook(['cluster', '--port', '0', '--data', temporaryFolder(t)], { DAYBOOK_JAVA: '/no/such/java' });
  t.equal(code, 1);
  t.match(errors, /^daybook: cannot start a ZooKeeper server: .*apt-get install zookeeper.*--metadata zk:.*\n$/);
});

t.test('cluster: a member cannot start -> its reason, and no other member is left', async (t) => {
  const options = { bookies: 1, brokers: 1, port: 0, host: '127.0.0.1', metadata: 'zk://127.0.0.1:1/x', set: { metadataSessionTimeoutMs: '1000' } };
  await t.rejects(runCluster({ ...options, data: temporaryFolder(t) }), { code: 'CLI_MEMBER_FAILED', message: /metadata store cannot be reached/ });
});

t.test('cluster: with a ZooKeeper server', { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const folder = temporaryFolder(t);
  const words = ['cluster', '--bookies', '1', '--brokers', '1', '--port', '0', '--data', folder, '--metadata', `zk://${zookeeper.address}/daybook`];
  const file = `${folder}/cluster.json`;
  const members = (): ClusterMember[] => JSON.parse(readFileSync(file, 'utf8')) as ClusterMember[];
  const start = async (): Promise<Daybook> => {
    const cluster = new Daybook(words);
    await cluster.printed(/The cluster is ready/);
    return cluster;
  };

  await t.test('cluster: ready -> members listed with pid and address, each of them alive', async (t) => {
    const cluster = await start();
    t.same(
      members().map(({ role }) => role),
      ['bookie', 'broker'],
    );
    for (const { pid, address } of members()) {
      t.ok(isAlive(pid));
      t.match(address, /^127\.0\.0\.1:\d+$/);
      t.match(cluster.output, new RegExp(`pid ${pid} +${address}\\n`));
    }
    const broker = members().find(({ role }) => role === 'broker')?.address;
    t.equal((await fetch(`http://${broker}/admin/v2/clusters`)).status, 200);
    const { code, errors } = await runDaybook(['cluster', '--port', '0', '--data', folder]);
    t.equal(code, 1, 'nobody else may use the folder meanwhile');
    t.match(errors, /in use by another process/);
    const pids = members().map(({ pid }) => pid);
    t.equal((await cluster.end()).code, 0);
    t.same(pids.filter(isAlive), []);
    t.notOk(existsSync(file), 'the list goes with the cluster');
  });

  await t.test('cluster: a member is killed -> told with the signal and how to start it again; the rest goes on', async (t) => {
    const cluster = await start();
    const [bookie, broker] = members() as [ClusterMember, ClusterMember];
    process.kill(bookie.pid, 'SIGKILL');
    t.equal(await cluster.printed(new RegExp(`bookie-1 \\(pid ${bookie.pid}\\) was ended by (\\w+)`)), 'SIGKILL');
    t.match(await cluster.printed(/to start it again: (.*)\n/), /^daybook bookie --bookie-id bookie-1 --data /);
    t.ok(isAlive(broker.pid));
    process.kill(broker.pid, 'SIGKILL');
    const { code, errors } = await cluster.ended;
    t.equal(code, 1, 'with nothing left it ends by itself');
    t.match(errors, /all members of the cluster have ended/);
  });

  await t.test('cluster: killed itself -> its members end too', async (t) => {
    const cluster = await start();
    const pids = members().map(({ pid }) => pid);
    await cluster.end('SIGKILL');
    await until(() => !pids.some(isAlive));
    t.pass();
  });
});
