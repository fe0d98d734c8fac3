import { createServer, type Server } from 'node:net';
import t from 'tap';
import { chosenPort } from '../free-port.js';
import { temporaryFolder } from '../testing/run-daybook.js';
import { choosePorts } from './choose-ports.js';
import { ClusterFolder } from './cluster-folder.js';

const request = { host: '127.0.0.1', bookiesCount: 2, brokersCount: 2, firstBrokerPort: 0 };

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

t.test('ports: chosen twice for the same folder -> the same again, all different', async (t) => {
  const path = temporaryFolder(t);
  const first = await choosePorts(new ClusterFolder(path), request);
  const all = [first.zookeeper, ...first.brokers, ...first.bookies.flatMap(({ grpc, http }) => [grpc, http])];
  t.equal(new Set(all).size, 7);
  t.same(await choosePorts(new ClusterFolder(path), request), first);
});

t.test('ports: one of the last run is taken by somebody else -> another one for it only', async (t) => {
  const folder = new ClusterFolder(temporaryFolder(t));
  const first = await choosePorts(folder, request);
  const other = await occupy(first.zookeeper);
  t.teardown(() => other.close());
  const second = await choosePorts(folder, request);
  t.not(second.zookeeper, first.zookeeper);
  t.same({ ...second, zookeeper: 0 }, { ...first, zookeeper: 0 });
});

t.test('ports: a broker port that was asked for is taken -> CLI_CANNOT_LISTEN', async (t) => {
  const port = await chosenPort('127.0.0.1', 0);
  const other = await occupy(port);
  t.teardown(() => other.close());
  await t.rejects(choosePorts(new ClusterFolder(temporaryFolder(t)), { ...request, brokersCount: 1, firstBrokerPort: port }), {
    code: 'CLI_CANNOT_LISTEN',
  });
});

t.test('ports: the list of the last run is damaged -> chosen anew', async (t) => {
  const path = temporaryFolder(t);
  const { writeFileSync } = await import('node:fs');
  const folder = new ClusterFolder(path);
  writeFileSync(`${path}/ports.json`, '{ "zookeeper": "x", "bookie-1": 99999999');
  t.ok((await choosePorts(folder, request)).zookeeper > 0);
});
