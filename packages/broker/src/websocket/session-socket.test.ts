import t, { type Test } from 'tap';
import { frontEndUnderTest, rest, TestClient, type UnderTest } from '../http/testing/front-end-under-test.js';
import { MemoryCluster } from '../http/testing/memory-broker.js';

const name = (topic: string) => `persistent://public/default/${topic}`;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const texts = (frames: Record<string, unknown>[]) => frames.map(({ payload }) => Buffer.from(payload as string, 'base64').toString('utf8'));

async function start(t: Test, limits = {}): Promise<UnderTest> {
  const under = await frontEndUnderTest(new MemoryCluster(), limits);
  t.teardown(() => under.frontEnd.close());
  return under;
}

t.test('producer → stored, answered in order with id and context; read back by a consumer with every field', async (t) => {
  const { base } = await start(t);
  const consumer = await TestClient.open(base, 'consumer/persistent/public/default/t/s');
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t?producerName=p1');
  producer.send({ payload: base64('hello'), context: '1' });
  producer.send({
    payload: base64('käse'),
    context: 'ü"',
    key: 'k',
    properties: { a: 'ä', '1': 'x', __proto__x: '' },
    eventTime: '2024-01-02T03:04:05.678+02:00',
  });
  producer.send({ payload: '***', context: '2b' });
  producer.send('{"payload":""}');
  const answers = await producer.take(4);
  t.match(answers[0], { result: 'send-error:7', context: '2b', errorCode: 0, schemaVersion: 0 }, 'a refusal is answered at once');
  t.strictSame(answers[1], { result: 'ok', messageId: 'CAEQADAA', context: '1', errorCode: 0, schemaVersion: 0 });
  t.strictSame(answers[2], { result: 'ok', messageId: 'CAEQATAA', context: 'ü"', errorCode: 0, schemaVersion: 0 });
  t.strictSame(answers[3], { result: 'ok', messageId: 'CAEQAjAA', errorCode: 0, schemaVersion: 0 });
  const frames = await consumer.take(3);
  t.strictSame(texts(frames), ['hello', 'käse', '']);
  t.match(frames[0], { messageId: 'CAEQADAA', properties: {}, redeliveryCount: 0, publishTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z$/ });
  t.strictSame(Object.keys(frames[0] as object), ['messageId', 'payload', 'properties', 'publishTime', 'redeliveryCount']);
  t.match(frames[1], { key: 'k', eventTime: '2024-01-02T01:04:05.678Z' });
  t.strictSame(frames[1]?.properties, { a: 'ä', '1': 'x', __proto__x: '' });
  consumer.socket.close();
  t.equal((await consumer.end()).code, 1005);
});

t.test(
  'producer, the protocol bytes → a binary frame is an error, a payload over the limit is refused alone, an absurd frame is closed with 1009',
  async (t) => {
    const { base } = await start(t, { messageBytesMax: 100_000 });
    const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
    producer.socket.send(Buffer.from('{}'), { binary: true });
    t.match(await producer.take(1), [{ result: 'send-error:3' }]);
    producer.send({ payload: base64('x'.repeat(100_001)), context: 'big' });
    producer.send({ payload: base64('x'.repeat(100_000)), context: 'fits' });
    const answers = await producer.take(2);
    t.match(answers[0], { result: 'send-error:8', context: 'big', errorMsg: /100000/ });
    t.match(answers[1], { result: 'ok', context: 'fits' });
    producer.socket.send('x'.repeat(64 * 1024 * 1024));
    t.equal((await producer.end(20_000)).code, 1009);
    const other = await TestClient.open(base, 'producer/persistent/public/default/t');
    other.send({ payload: base64('still here'), context: '1' });
    t.match(await other.take(1), [{ result: 'ok' }]);
  },
);

t.test('consumer, push: a window of 2 → two messages, then one for each acknowledgement or negative one', async (t) => {
  const { base } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const consumer = await TestClient.open(base, 'consumer/persistent/public/default/t/s?receiverQueueSize=2&negativeAckRedeliveryDelay=20');
  for (let i = 0; i < 5; i++) producer.send({ payload: base64(`m${i}`) });
  await producer.take(5);
  const two = await consumer.take(2);
  t.strictSame(texts(two), ['m0', 'm1']);
  await consumer.settled();
  t.equal(consumer.frames.length, 0);
  consumer.send({ messageId: two[0]?.messageId });
  t.strictSame(texts(await consumer.take(1)), ['m2']);
  consumer.send({ type: 'negativeAcknowledge', messageId: two[1]?.messageId });
  t.strictSame(texts(await consumer.take(1)), ['m3']);
  consumer.send({ type: 'isEndOfTopic' });
  t.strictSame(await consumer.take(1), [{ endOfTopic: false }]);
});

t.test('consumer, pull: permits 0, 2, 1 → none, two, one; a permit without its number ends the session legally', async (t) => {
  const { base } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const consumer = await TestClient.open(base, 'consumer/persistent/public/default/t/s?pullMode=TRUE');
  for (let i = 0; i < 5; i++) producer.send({ payload: base64(`m${i}`) });
  await producer.take(5);
  consumer.send({ type: 'permit', permitMessages: 0 });
  await consumer.settled();
  t.equal(consumer.frames.length, 0);
  consumer.send({ type: 'permit', permitMessages: 2 });
  t.strictSame(texts(await consumer.take(2)), ['m0', 'm1']);
  consumer.send({ type: 'permit', permitMessages: 1 });
  t.strictSame(texts(await consumer.take(1)), ['m2']);
  await consumer.settled();
  t.equal(consumer.frames.length, 0);
  consumer.send({ type: 'permit' });
  t.match(await consumer.end(), { code: 4003, reason: /permitMessages/ });
  const next = await TestClient.open(base, 'consumer/persistent/public/default/t/s');
  t.strictSame(texts(await next.take(5)), ['m0', 'm1', 'm2', 'm3', 'm4'], 'the place is free and the unacknowledged come again');
});

t.test('consumer: a binary frame, bad JSON, unsubscribe → legal closes with reasons', async (t) => {
  const { base, broker } = await start(t);
  const binary = await TestClient.open(base, 'consumer/persistent/public/default/t/a');
  binary.socket.send(Buffer.from('{}'), { binary: true });
  t.match(await binary.end(), { code: 1003 });
  const bad = await TestClient.open(base, 'consumer/persistent/public/default/t/b');
  bad.send('{bad');
  t.match(await bad.end(), { code: 4003, reason: /JSON/ });
  const gone = await TestClient.open(base, 'consumer/persistent/public/default/t/c');
  gone.send({ type: 'unsubscribe' });
  t.match(await gone.end(), { code: 4405 });
  t.notOk(broker.topic(name('t')).subscriptions.has('c'));
  const one = await TestClient.open(base, 'consumer/persistent/public/default/t/d?subscriptionType=Shared');
  await TestClient.open(base, 'consumer/persistent/public/default/t/d?subscriptionType=Shared');
  one.send({ type: 'unsubscribe' });
  t.match(await one.end(), { code: 4008, reason: /unsubscribe failed/ });
});

t.test('reader: from earliest, latest and an id → what comes after it', async (t) => {
  const { base, broker } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  for (let i = 0; i < 4; i++) producer.send({ payload: base64(`m${i}`) });
  const ids = (await producer.take(4)).map(({ messageId }) => messageId as string);
  const earliest = await TestClient.open(base, 'reader/persistent/public/default/t?messageId=earliest&receiverQueueSize=2');
  const two = await earliest.take(2);
  t.strictSame(texts(two), ['m0', 'm1']);
  earliest.send({ messageId: 'CP8BEAAwAA==' });
  await earliest.settled();
  earliest.send({ messageId: two[0]?.messageId });
  t.strictSame(texts(await earliest.take(1)), ['m2']);
  const fromId = await TestClient.open(base, `reader/persistent/public/default/t?messageId=${encodeURIComponent(ids[2] as string)}`);
  t.strictSame(texts(await fromId.take(1)), ['m3']);
  const latest = await TestClient.open(base, 'reader/persistent/public/default/t');
  producer.send({ payload: base64('m4') });
  t.strictSame(texts(await latest.take(1)), ['m4']);
  t.match([...broker.topic(name('t')).subscriptions.keys()], [/^reader-[0-9a-f]{10}$/, /^reader-/, /^reader-/]);
  latest.send('{}');
  latest.send('{bad');
  t.match(await latest.end(), { code: 4003, reason: /JSON/ });
});

t.test('unload under live sessions → they go on by themselves: publishes, permits and a reader continue where they were', async (t) => {
  const { base, broker } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const reader = await TestClient.open(base, 'reader/persistent/public/default/t');
  const consumer = await TestClient.open(base, 'consumer/persistent/public/default/t/s?pullMode=true');
  consumer.send({ type: 'permit', permitMessages: 3 });
  for (let i = 0; i < 2; i++) producer.send({ payload: base64(`m${i}`) });
  t.strictSame(texts(await consumer.take(2)), ['m0', 'm1']);
  t.strictSame(texts(await reader.take(2)), ['m0', 'm1']);
  const topic = broker.topic(name('t'));
  topic.isStalled = true;
  producer.send({ payload: base64('lost'), context: 'lost' });
  await producer.settled();
  await producer.take(2);
  t.equal((await rest(base, 'PUT', '/admin/v2/persistent/public/default/t/unload')).status, 204);
  topic.isStalled = false;
  t.match(await producer.take(1), [{ result: 'send-error:8', context: 'lost' }]);
  producer.send({ payload: base64('m2'), context: 'c' });
  t.match(await producer.take(1), [{ result: 'ok', context: 'c', messageId: 'CAIQADAA' }], 'the first entry of the next ledger');
  t.strictSame(texts(await reader.take(1)), ['m2'], 'neither what was read again, nor anything missing');
  t.equal(texts(await consumer.take(1)).length, 1, 'the permit that was left');
  await consumer.settled();
  t.equal(consumer.frames.length, 0);
});

t.test('topic or subscription deleted by force → its sockets get a legal close', async (t) => {
  const { base } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const one = await TestClient.open(base, 'consumer/persistent/public/default/t/one');
  const two = await TestClient.open(base, 'consumer/persistent/public/default/t/two');
  t.equal((await rest(base, 'DELETE', '/admin/v2/persistent/public/default/t/subscription/one')).status, 412);
  t.equal((await rest(base, 'DELETE', '/admin/v2/persistent/public/default/t/subscription/one?force=true')).status, 204);
  t.match(await one.end(), { code: 4405, reason: /one/ });
  t.equal((await rest(base, 'DELETE', '/admin/v2/persistent/public/default/t')).status, 412);
  t.equal((await rest(base, 'DELETE', '/admin/v2/persistent/public/default/t?force=true')).status, 204);
  t.match(await producer.end(), { code: 4404 });
  t.match(await two.end(), { code: 4404 });
});

t.test('a full topic → the socket is not read; everything is stored once there is room', async (t) => {
  const { base, broker } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const topic = broker.topic(name('t'));
  topic.isFull = true;
  for (let i = 0; i < 3000; i++) producer.send({ payload: base64('x'.repeat(3000)), context: String(i) });
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.ok(producer.socket.bufferedAmount > 1_000_000, `${producer.socket.bufferedAmount} bytes wait in the client`);
  t.equal(producer.frames.length, 0);
  topic.drain();
  const answers = await producer.take(3000, 20_000);
  t.strictSame(
    answers.map(({ context }) => context),
    Array.from({ length: 3000 }, (_, i) => String(i)),
  );
  t.equal(topic.entries.length, 3000);
});

t.test('a consumer that does not read → a bounded part is taken from the topic, the rest comes when it reads again', async (t) => {
  const { base, broker } = await start(t);
  const consumer = await TestClient.open(base, 'consumer/persistent/public/default/t/s?receiverQueueSize=1000');
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  consumer.socket.pause();
  for (let i = 0; i < 400; i++) producer.send({ payload: base64('y'.repeat(200_000)), context: String(i) });
  await producer.take(400, 20_000);
  const subscription = broker.topic(name('t')).subscriptions.get('s');
  t.ok((subscription?.waiting.length ?? 0) > 200, `${subscription?.waiting.length} of 400 messages wait in the topic`);
  consumer.socket.resume();
  t.equal((await consumer.take(400, 20_000)).length, 400);
});

t.test('a producer that does not read its answers → it is not read either', async (t) => {
  const { base, broker } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  producer.socket.pause();
  const context = 'c'.repeat(20_000);
  for (let i = 0; i < 3000; i++) producer.send(`{"payload":"","context":"${context}"}`);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const stored = broker.topic(name('t')).entries.length;
  t.ok(stored < 2500, `${stored} of 3000 were taken`);
  producer.socket.resume();
  t.equal((await producer.take(3000, 20_000)).length, 3000);
});

t.test('close → sockets get 1001, new ones are refused', async (t) => {
  const { base, frontEnd } = await frontEndUnderTest();
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const closed = frontEnd.close();
  t.equal((await producer.end()).code, 1001);
  await closed;
  await t.rejects(rest(base, 'GET', '/healthz'));
});

t.test('send timeout → the message is answered with an error, and what becomes of it later is told to nobody', async (t) => {
  const { base, broker } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t?sendTimeoutMillis=100');
  const topic = broker.topic(name('t'));
  topic.isStalled = true;
  producer.send({ payload: base64('slow'), context: 'slow' });
  t.match(await producer.take(1), [{ result: 'send-error:8', context: 'slow', errorMsg: /send timeout/ }]);
  topic.isStalled = false;
  producer.send({ payload: base64('quick'), context: 'quick' });
  t.match(await producer.take(1), [{ result: 'ok', context: 'quick', messageId: 'CAEQATAA' }]);
});
