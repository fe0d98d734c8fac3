import { earliestMessageId, encodeMessageIdText, latestMessageId } from '@daybook/proto';
import t, { type Test } from 'tap';
import { frontEndUnderTest, raw, TestClient, type UnderTest } from '../http/testing/front-end-under-test.js';
import { MemoryCluster } from '../http/testing/memory-broker.js';

async function start(t: Test): Promise<UnderTest> {
  const under = await frontEndUnderTest(new MemoryCluster());
  t.teardown(() => under.frontEnd.close());
  return under;
}

const p = 'producer/persistent/public/default/t';
const c = 'consumer/persistent/public/default/t/s';
const r = 'reader/persistent/public/default/t';

/** [path and query after /ws/v2/, status, part of the body]; status and text as a real Pulsar, or the better ones of pulsar-behaviour.md. */
const refusals: [string, number, RegExp][] = [
  ['producer/persistent/public/default', 400, /Invalid topic name format/],
  ['consumer/persistent/public/default/t', 400, /Invalid topic name format/],
  ['consumer/persistent/public/default/t/', 400, /Empty subscription name/],
  ['consumer/persistent/public/default/a/b/s', 400, /Invalid topic name format/],
  ['producer/persistent/public/default/a/b', 400, /slash/],
  ['producer/persistent/public/default/a%2Fb', 400, /slash/],
  ['producer/nonsense/public/default/t', 400, /domain/],
  ['reader/nonsense/public/default/t', 400, /domain/],
  ['producer/non-persistent/public/default/t', 400, /not supported/],
  ['producer/persistent/pub%40lic/default/t', 400, /Tenant name is not valid/],
  ['producer/persistent/public/def%20ault/t', 400, /Namespace name is not valid/],
  ['producer/persistent/public/default/%20', 400, /Topic name is not valid/],
  ['producer/persistent/public/default/%zz', 400, /escape/],
  ['producer/persistent/public/default/a%00', 400, /escape/],
  ['nothing/persistent/public/default/t', 404, /Not Found/],
  ['../v3/consumer/s', 400, /Should set topics or topicsPattern/],
  ['../v3/consumer/s?topics=a&topicsPattern=b', 400, /topicsPattern/],
  ['../v3/consumer/s?topics=a,b', 400, /not supported/],
  ['../pingpong', 404, /Not Found/],
  ['producer/persistent/none/ns/t', 404, /Namespace not found/],
  ['reader/persistent/public/none/t', 404, /Failed to create reader: Namespace not found/],
  ['consumer/persistent/public/none/t/s', 404, /Failed to create producer\/consumer: Namespace not found/],
  ['producer/persistent/public/default/none-partition-3', 404, /not found/],
  ['reader/persistent/public/default/none-partition-3', 404, /not found/],
  ['producer/persistent/public/default/__change_events', 403, /system topic/],
  [`${p}?initialSequenceId=x`, 400, /For input string: \\"x\\"/],
  [`${p}?initialSequenceId=1.5`, 400, /For input string/],
  [`${p}?initialSequenceId=9223372036854775808`, 400, /For input string/],
  [`${p}?sendTimeoutMillis=abc`, 400, /For input string/],
  [`${p}?sendTimeoutMillis=-1`, 400, /sendTimeout needs to be >= 0/],
  [`${p}?hashingScheme=x`, 400, /hashingScheme/],
  [`${p}?messageRoutingMode=x`, 400, /Invalid messageRoutingMode x/],
  [`${p}?compressionType=nonsense`, 400, /Invalid compressionType nonsense/],
  [`${p}?compressionType=LZ4`, 400, /not supported/],
  [`${p}?batchingEnabled=true`, 400, /not supported/],
  [`${p}?batchingEnabled=true&batchingMaxMessages=abc`, 400, /For input string/],
  [`${p}?batchingEnabled=true&maxPendingMessages=-1`, 400, /maxPendingMessages needs to be >= 0/],
  [`${p}?encryptionKeys=k1`, 400, /not supported/],
  [`${c}?subscriptionType=nonsense`, 400, /Invalid subscriptionType nonsense/],
  [`${c}?subscriptionType=shared`, 400, /Invalid subscriptionType shared/],
  [`${c}?subscriptionType=Failover`, 400, /not supported/],
  [`${c}?subscriptionType=Key_Shared`, 400, /not supported/],
  [`${c}?subscriptionMode=x`, 400, /Invalid subscriptionMode x/],
  [`${c}?subscriptionInitialPosition=nonsense`, 400, /Invalid subscriptionInitialPosition nonsense/],
  [`${c}?receiverQueueSize=-5`, 400, /receiverQueueSize needs to be >= 0/],
  [`${c}?receiverQueueSize=abc`, 400, /For input string/],
  [`${c}?ackTimeoutMillis=abc`, 400, /For input string/],
  [`${c}?ackTimeoutMillis=999`, 400, /1000/],
  [`${c}?priorityLevel=-1`, 400, /priorityLevel needs to be >= 0/],
  [`${c}?maxRedeliverCount=-1`, 400, /MaxRedeliverCount must be > 0/],
  [`${c}?maxRedeliverCount=0`, 400, /MaxRedeliverCount must be > 0/],
  [`${c}?maxRedeliverCount=x`, 400, /For input string/],
  [`${c}?maxRedeliverCount=3`, 400, /not supported/],
  [`${c}?deadLetterTopic=d`, 400, /MaxRedeliverCount must be > 0/],
  [`${c}?negativeAckRedeliveryDelay=-1`, 400, /redeliveryDelay needs to be >= 0/],
  [`${c}?consumerName=`, 400, /consumerName cannot be blank/],
  [`${r}?messageId=***`, 400, /messageId/],
  [`${r}?messageId=AAAA`, 400, /messageId/],
  [`${r}?receiverQueueSize=abc`, 400, /For input string/],
  [`${r}?receiverQueueSize=-1`, 400, /receiverQueueSize needs to be >= 0/],
];

t.test('upgrade: what cannot be served → refused with a status and a reason before any socket opens', async (t) => {
  const { base, broker, errors } = await start(t);
  for (const [path, status, text] of refusals) {
    const refusal = await TestClient.open(base, path).then(
      (client) => {
        client.socket.terminate();
        return { status: 101, body: '' };
      },
      (error: { status?: number; body?: string; message: string }) => ({ status: error.status, body: error.body ?? error.message }),
    );
    t.equal(refusal.status, status, path);
    t.match(refusal.body, text, path);
  }
  t.strictSame(errors, []);
  t.strictSame([...broker.cluster.topics.keys()], [], 'and nothing was made by the way');
});

const openings = [
  `${p}?producerName=`,
  `${p}?initialSequenceId=-5`,
  `${p}?batchingMaxMessages=abc`,
  `${p}?maxPendingMessages=abc`,
  `${p}?messageRoutingMode=CustomPartition`,
  `${p}?token=abc`,
  `${p}?unknown=1`,
  `${c}?receiverQueueSize=100000`,
  `${c}?receiverQueueSize=+0`.replace('+', '%2B'),
  `${c}?pullMode=maybe`,
  `${c}?cryptoFailureAction=NONSENSE`,
  `${c}?subscriptionType=Exclusive&subscriptionType=nonsense`,
  `${c}?subscriptionMode=NonDurable`,
  'consumer/persistent/public/default/t/s%2F%25+%20',
  `${r}?messageId=`,
  `${r}?messageId=latest`,
  `${r}?messageId=${encodeURIComponent(encodeMessageIdText(latestMessageId))}`,
  `${r}?messageId=${encodeMessageIdText(earliestMessageId)}`,
  `${r}?messageId=CLkXEAAwAA%3D%3D&readerName=r1`,
  'producer/persistent/public/default/%C3%BC',
];

t.test('upgrade: what a real Pulsar accepts → open', async (t) => {
  const { base, broker } = await start(t);
  for (const path of openings) {
    const client = await TestClient.open(base, path).catch((error: Error) => error);
    t.ok(client instanceof TestClient, `${path}: ${client instanceof Error ? client.message : 'open'}`);
    if (!(client instanceof TestClient)) continue;
    client.socket.close(1000);
    await client.end();
  }
  t.ok(broker.cluster.topics.has('persistent://public/default/ü'));
  t.ok(broker.topic('persistent://public/default/t').subscriptions.has('s/%+ '), 'a subscription name is decoded once, and + is +');
});

t.test('upgrade: a name or place that is taken → 409, and free again at once after a close or a cut', async (t) => {
  const { base } = await start(t);
  const status = (path: string) =>
    TestClient.open(base, path).then(
      () => 101,
      (error: { status: number }) => error.status,
    );
  const first = await TestClient.open(base, `${p}?producerName=same`);
  t.equal(await status(`${p}?producerName=same`), 409);
  const exclusive = await TestClient.open(base, c);
  t.equal(await status(c), 409);
  t.equal(await status(`${c}?subscriptionType=Shared`), 409);
  first.socket.close();
  await first.end();
  exclusive.socket.terminate();
  await exclusive.end();
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(await status(`${p}?producerName=same`), 101);
  t.equal(await status(c), 101);
});

t.test('upgrade: a broken handshake → refused, nothing is left attached', async (t) => {
  const { base, broker, frontEnd } = await start(t);
  const noKey =
    'GET /ws/v2/producer/persistent/public/default/t HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n';
  t.match(await raw(base, noKey), /^HTTP\/1\.1 400 /);
  t.equal(broker.topic('persistent://public/default/t').producers.size, 0);
  t.equal(frontEnd.sessionsCount, 0);
});
