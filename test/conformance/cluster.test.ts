import t from 'tap';
import { clusterMembers, DaybookProcess, temporaryFolder, until } from '../chaos/processes.js';
import { brokerConformance } from './broker-conformance.js';

t.setTimeout(110_000);

t.test('cluster of three bookies and two brokers', { timeout: 110_000, skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' }, async (t) => {
  const folder = temporaryFolder();
  const cluster = new DaybookProcess(['cluster', '--port', '0', '--data', folder.path]);
  t.teardown(async () => {
    await cluster.stop();
    folder.remove();
  });
  await until('the cluster is ready', 60_000, () => {
    if (!cluster.isRunning) throw new Error(`the cluster did not start: ${cluster.output}`);
    return /The cluster is ready/.test(cluster.output);
  });
  const [first, second] = clusterMembers(folder.path).flatMap(({ role, address }) => (role === 'broker' ? [address] : []));
  await t.test('through both brokers', (t) => brokerConformance(t, { run: 'there', first: first as string, second: second as string }));
  await t.test('the other way round', (t) => brokerConformance(t, { run: 'back', first: second as string, second: first as string }));
});
