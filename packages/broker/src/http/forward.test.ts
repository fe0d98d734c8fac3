import { createHash } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { frontEndUnderTest, raw, rest, TestClient } from './testing/front-end-under-test.js';
import { MemoryCluster } from './testing/memory-broker.js';

const topic = 'persistent://public/default/t';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const statusOf = (opening: Promise<TestClient>) =>
  opening.then(
    () => 101,
    (error: { status: number }) => error.status,
  );

/** Two brokers of one cluster; the topic is served by the second, calls go to the first. */
async function pair(t: Test) {
  const cluster = new MemoryCluster();
  const near = await frontEndUnderTest(cluster);
  const far = await frontEndUnderTest(cluster);
  t.teardown(() => Promise.all([near.frontEnd.close(), far.frontEnd.close()]));
  cluster.owners.set(topic, far.base);
  return { cluster, near, far };
}

t.test('forward: REST calls and sockets for a topic of another broker → answered by it through any broker', async (t) => {
  const { near, far } = await pair(t);
  const path = '/admin/v2/persistent/public/default/t';
  t.equal((await rest(near.base, 'PUT', path, '{"k":"v"}')).status, 204);
  t.equal((await rest(near.base, 'PUT', `${path}/subscription/s%2F1`, '"earliest"')).status, 204);
  t.match(await rest(near.base, 'PUT', path), { status: 409, json: { reason: 'This topic already exists' } });
  t.strictSame((await rest(near.base, 'GET', `${path}/subscriptions`)).json, ['s/1']);
  const producer = await TestClient.open(near.base, 'producer/persistent/public/default/t');
  const consumer = await TestClient.open(near.base, 'consumer/persistent/public/default/t/s%2F1');
  producer.send({ payload: base64('far'), context: '1' });
  t.match(await producer.take(1), [{ result: 'ok', context: '1' }]);
  t.match(await consumer.take(1), [{ payload: base64('far') }]);
  t.equal(far.frontEnd.sessionsCount, 2);
  t.equal(near.frontEnd.sessionsCount, 0);
  await producer.settled();
  consumer.send({ type: 'permit' });
  t.match(await consumer.end(), { code: 4003, reason: /permitMessages/ }, 'a close passes through');
  producer.send({ payload: base64('x'.repeat(1_000_000)), context: 'big' });
  t.match(await producer.take(1), [{ result: 'ok', context: 'big' }]);
  t.equal(await statusOf(TestClient.open(near.base, 'consumer/persistent/public/default/t/s?ackTimeoutMillis=1')), 400);
  t.equal(await statusOf(TestClient.open(near.base, 'producer/persistent/public/default/t?producerName=memory-0')), 409);
});

t.test('forward: the owner ends → the socket ends, so that the client connects again', async (t) => {
  const { near, far } = await pair(t);
  const producer = await TestClient.open(near.base, 'producer/persistent/public/default/t');
  await far.frontEnd.close();
  t.match(await producer.end(), { code: 1001 });
  t.match(await rest(near.base, 'GET', '/admin/v2/persistent/public/default/t/stats'), { status: 503, json: { reason: /cannot be reached/ } });
  t.equal(await statusOf(TestClient.open(near.base, 'producer/persistent/public/default/t')), 503);
});

t.test('forward: the owner is cut off without a word → the client gets a legal close from the broker in between', async (t) => {
  const { near } = await pair(t);
  const client = await TestClient.open(near.base, 'producer/persistent/public/default/t');
  const { cluster } = near.broker;
  const silent = createServer((socket) =>
    socket.once('data', (request) => {
      const key = /sec-websocket-key: (.*)\r\n/i.exec(request.toString('latin1'))?.[1] ?? '';
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
      socket.write(Buffer.from([0x81, 2, 0x68, 0x69]));
      setTimeout(() => socket.destroy(), 50);
    }),
  );
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.teardown(() => silent.close());
  cluster.owners.set(topic, `127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const orphan = await TestClient.open(near.base, 'producer/persistent/public/default/t');
  t.match(await orphan.end(), { code: 1012, reason: /connect again/ });
  t.strictSame(orphan.frames, ['hi']);
  await near.frontEnd.close();
  t.match(await client.end(), { code: 1012 }, 'and so it does when the broker in between ends');
});

t.test('forward: brokers that point at each other → 503 instead of a loop', async (t) => {
  const { cluster, near, far } = await pair(t);
  far.broker.owner = async () => ({ brokerId: near.base, isSelf: false });
  t.equal(cluster.owners.get(topic), far.base);
  t.equal((await rest(near.base, 'PUT', '/admin/v2/persistent/public/default/t')).status, 503);
  t.equal(await statusOf(TestClient.open(near.base, 'producer/persistent/public/default/t')), 503);
});

t.test('forward: the client cuts its connection → the owner frees its place', async (t) => {
  const { near, far } = await pair(t);
  const producer = await TestClient.open(near.base, 'producer/persistent/public/default/t');
  t.equal(far.broker.topic(topic).producers.size, 1);
  producer.socket.terminate();
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(far.broker.topic(topic).producers.size, 0);
  t.match(
    await raw(near.base, 'GET /admin/v2/persistent/public/default/t/stats HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 /,
  );
});
