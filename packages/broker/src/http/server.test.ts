import t, { type Test } from 'tap';
import { frontEndUnderTest, raw, rest, TestClient, type UnderTest } from './testing/front-end-under-test.js';
import { MemoryCluster } from './testing/memory-broker.js';

async function start(t: Test): Promise<UnderTest> {
  const under = await frontEndUnderTest(new MemoryCluster());
  t.teardown(() => under.frontEnd.close());
  return under;
}

/** [method, path after /admin/v2/, body, status, what the body matches] in order, against one broker. Texts are Pulsar's where it has one. */
type Row = [string, string, string | undefined, number, unknown?];

async function play(t: Test, base: string, rows: readonly Row[]): Promise<void> {
  for (const [method, path, body, status, pattern] of rows) {
    const answer = await rest(base, method, path.startsWith('/') ? path : `/admin/v2/${path}`, body);
    const call = `${method} ${path} ${body ?? ''}`;
    t.equal(answer.status, status, `${call} → ${answer.text.slice(0, 200)}`);
    if (pattern !== undefined) t.match(typeof pattern === 'string' ? answer.text : answer.json, pattern, call);
    if (answer.status >= 400 && answer.status !== 400)
      t.type((answer.json as { reason?: unknown } | undefined)?.reason, 'string', `${call} has a reason`);
  }
}

const long = '9223372036854775807';

t.test('REST: clusters and tenants as a real Pulsar answers', async (t) => {
  const { base } = await start(t);
  await play(t, base, [
    ['GET', 'clusters/', undefined, 200, ['standalone']],
    ['GET', 'clusters/standalone', undefined, 200, { serviceUrl: 'http://127.0.0.1:8080', brokerClientTlsEnabled: false }],
    ['GET', 'clusters/none', undefined, 404, { reason: 'Cluster does not exist' }],
    ['PUT', 'clusters/c2', '{"serviceUrl":"http://127.0.0.1:9"}', 200, ''],
    ['PUT', 'clusters/c2', '{"serviceUrl":"http://127.0.0.1:9"}', 409, { reason: 'Cluster already exists' }],
    ['PUT', 'clusters/bad%20name', '{"serviceUrl":"http://127.0.0.1:9"}', 412, { reason: 'Cluster name is not valid' }],
    ['PUT', 'clusters/c3', undefined, 400, { reason: 'cluster data is required' }],
    ['PUT', 'clusters/c3', '{"serviceUrl":"ftp://x"}', 400],
    ['POST', 'clusters/none', '{"serviceUrl":"http://127.0.0.1:10"}', 404, { reason: 'Cluster does not exist' }],
    ['POST', 'clusters/c2', '{"serviceUrl":"http://127.0.0.1:10"}', 200],
    ['GET', 'clusters/c2/failureDomains', undefined, 200, {}],
    ['POST', 'clusters/c2/failureDomains/d1', '{"brokers":[]}', 405],
    ['DELETE', 'clusters/c2', undefined, 204],
    ['DELETE', 'clusters/standalone', undefined, 412],
    ['PUT', 'tenants/rest', '{"allowedClusters":["standalone"],"adminRoles":["a","b"]}', 204],
    ['PUT', 'tenants/rest', '{"allowedClusters":["standalone"]}', 409, { reason: 'Tenant already exist' }],
    ['GET', 'tenants/rest', undefined, 200, { adminRoles: ['a', 'b'], allowedClusters: ['standalone'] }],
    ['PUT', 'tenants/t2', '{}', 412, { reason: 'Clusters cannot be null' }],
    ['PUT', 'tenants/t2', '{"allowedClusters":[]}', 412, { reason: 'Clusters cannot be empty or blank' }],
    ['PUT', 'tenants/t2', '{"allowedClusters":["none"]}', 412, { reason: 'Clusters do not exist' }],
    ['PUT', 'tenants/b%40d', '{"allowedClusters":["standalone"]}', 412, { reason: 'Tenant name is not valid' }],
    ['PUT', 'tenants/t2', '{"allowedClusters":["standalone"],"adminRoles":[" x "]}', 412],
    ['PUT', 'tenants/t2', '{"allowedClusters":', 400],
    ['PUT', 'tenants/t2', '"x"', 400],
    ['PUT', 'tenants/t2', '{"noSuchField":1,"allowedClusters":["standalone"]}', 204],
    ['GET', 'tenants/none', undefined, 404, { reason: 'Tenant does not exist' }],
    ['POST', 'tenants/none', '{"allowedClusters":["standalone"]}', 404, { reason: 'Tenant none not found' }],
    ['POST', 'tenants/rest', undefined, 412, { reason: 'TenantInfo is null' }],
    ['DELETE', 'tenants/none', undefined, 404, { reason: "Tenant doesn't exist" }],
    ['DELETE', 'tenants/t2', undefined, 204],
    ['DELETE', 'tenants/public', undefined, 409],
    ['PATCH', 'tenants/rest', '{}', 405],
    ['GET', 'tenants/a/b/c', undefined, 404],
  ]);
  const wrongType = await rest(base, 'PUT', '/admin/v2/tenants/t3', '{"allowedClusters":["standalone"]}', 'text/plain');
  t.equal(wrongType.status, 415);
  const unreadable = await rest(base, 'PUT', '/admin/v2/tenants/t3', '{bad');
  t.match(unreadable.headers.get('content-type'), /^text\/plain/);
});

t.test('REST: namespaces as a real Pulsar answers; policies that cannot be set yet are unset, and refused', async (t) => {
  const { base } = await start(t);
  await play(t, base, [
    ['PUT', 'namespaces/public/ns', undefined, 204],
    ['PUT', 'namespaces/public/ns', undefined, 409, { reason: 'Namespace already exists' }],
    ['PUT', 'namespaces/none/ns', undefined, 404, { reason: 'Tenant does not exist' }],
    ['PUT', 'namespaces/public/bad%20name', undefined, 412, { reason: 'Namespace name is not valid' }],
    ['PUT', 'namespaces/public/n2', '{"bundles":{"numBundles":2}}', 204],
    ['GET', 'namespaces/public/n2/bundles', undefined, 200, { boundaries: ['0x00000000', '0x80000000', '0xffffffff'], numBundles: 2 }],
    ['PUT', 'namespaces/public/n3', '{"bundles":{"numBundles":0}}', 204],
    ['PUT', 'namespaces/public/n3b', '{"bundles":{"numBundles":5000}}', 412],
    ['PUT', 'namespaces/public/n3b', '{"bundles":{"numBundles":"x"}}', 400],
    ['PUT', 'namespaces/public/n3b', '{"message_ttl_in_seconds":9223372036854775807}', 405],
    ['PUT', 'namespaces/public/n3b', '{"properties":{"a":1}}', 400],
    ['PUT', 'namespaces/public/n3b', '{"properties":{"a":"1"}}', 204],
    ['GET', 'namespaces/public/n3b/properties', undefined, 200, { a: '1' }],
    ['DELETE', 'namespaces/public/n3b', undefined, 204],
    ['PUT', 'namespaces/public/n4', '{"replication_clusters":["none"]}', 403],
    ['PUT', 'namespaces/public/n5', 'null', 204],
    ['PUT', 'namespaces/public/n6', '{"policies":1,"noSuch":2,"deleted":false,"offload_threshold":-1}', 204],
    ['PUT', 'namespaces/public/n7', '{bad', 400],
    ['PUT', 'namespaces/public/n7', '{"message_ttl_in_seconds":60}', 405],
    ['PUT', 'namespaces/public/n7', '{"retention_policies":{"retentionTimeInMinutes":0,"retentionSizeInMB":0}}', 204],
    ['PUT', 'namespaces/public/n8', '{"retention_policies":{"retentionTimeInMinutes":1,"retentionSizeInMB":1}}', 405],
    ['GET', 'namespaces/public', undefined, 200, ['public/default', 'public/n2', 'public/n3', 'public/n5', 'public/n6', 'public/n7', 'public/ns']],
    ['GET', 'namespaces/none', undefined, 404, { reason: 'Tenant not found' }],
    [
      'GET',
      'namespaces/public/ns',
      undefined,
      200,
      { replication_clusters: ['standalone'], bundles: { numBundles: 4 }, deleted: false, auth_policies: {} },
    ],
    ['GET', 'namespaces/none/none', undefined, 404, { reason: 'Namespace does not exist' }],
    ['GET', 'namespaces/public/ns/topics?mode=ALL', undefined, 200, []],
    ['GET', 'namespaces/public/ns/topics?mode=WRONG', undefined, 404],
    ['GET', 'namespaces/public/ns/retention', undefined, 200, ''],
    ['GET', 'namespaces/public/ns/maxTopicsPerNamespace', undefined, 200, '0'],
    ['GET', 'namespaces/public/ns/replication', undefined, 200, ['standalone']],
    ['GET', 'namespaces/public/ns/backlogQuotaMap', undefined, 200, {}],
    ['GET', 'namespaces/public/ns/antiAffinity', undefined, 204],
    ['POST', 'namespaces/public/ns/retention', '{"retentionTimeInMinutes":10,"retentionSizeInMB":1}', 405, { reason: /retention.*not supported/ }],
    ['DELETE', 'namespaces/public/ns/retention', undefined, 204],
    ['PUT', 'namespaces/public/ns/unload', undefined, 405],
    ['DELETE', 'namespaces/public/none', undefined, 404],
    ['DELETE', 'namespaces/public/n2', undefined, 204],
    ['DELETE', 'namespaces/public/ns?force=true', undefined, 405],
  ]);
  const unset = await rest(base, 'GET', '/admin/v2/namespaces/public/ns/retention');
  t.equal(unset.headers.get('content-type'), null, 'an unset policy has no content type');
});

t.test('REST: topics and subscriptions as a real Pulsar answers, or better', async (t) => {
  const { base } = await start(t);
  const ns = 'persistent/public/default';
  await play(t, base, [
    ['GET', ns, undefined, 200, []],
    ['GET', 'persistent/public/none', undefined, 404, { reason: 'Namespace does not exist' }],
    ['PUT', `${ns}/t`, undefined, 204],
    ['PUT', `${ns}/t`, undefined, 409, { reason: 'This topic already exists' }],
    ['PUT', `${ns}/t2`, '{"k":"v"}', 204],
    ['GET', `${ns}/t2/properties`, undefined, 200, '{"k":"v"}'],
    ['PUT', `${ns}/t2/properties`, '{"n":"m"}', 204, ''],
    ['PUT', `${ns}/t2/properties`, undefined, 204, ''],
    ['PUT', `${ns}/t2/properties`, '"x"', 400],
    ['GET', `${ns}/t2/properties`, undefined, 200, '{"k":"v","n":"m"}'],
    ['DELETE', `${ns}/t2/properties?key=n`, undefined, 204, ''],
    ['DELETE', `${ns}/t2/properties?key=none`, undefined, 204, ''],
    ['DELETE', `${ns}/t2/properties`, undefined, 400],
    ['GET', `${ns}/t2/properties`, undefined, 200, '{"k":"v"}'],
    ['GET', `${ns}/none/properties`, undefined, 404, { reason: 'Topic persistent://public/default/none not found' }],
    ['PUT', `${ns}/none/properties`, '{"n":"m"}', 404],
    ['PUT', `${ns}/t3`, 'null', 204],
    ['PUT', `${ns}/t4`, 'nonsense', 400],
    ['PUT', 'persistent/public/none/t', undefined, 404, { reason: 'Namespace not found' }],
    ['PUT', `${ns}/__change_events`, undefined, 409],
    ['PUT', `${ns}/x-partition-0`, undefined, 412, { reason: /isn't a partitioned topic x created/ }],
    ['PUT', `${ns}/x-partition--1`, undefined, 412],
    ['PUT', `${ns}/x-partition-a`, undefined, 204],
    ['PUT', `${ns}/`, undefined, 405],
    ['PUT', `${ns}/a%2Fb`, undefined, 400, { reason: /slash/ }],
    ['PUT', `${ns}/a%20b`, undefined, 204],
    ['PUT', `${ns}/a+b`, undefined, 204],
    ['PUT', `${ns}/a%2Bb`, undefined, 409],
    ['PUT', `${ns}/%20`, undefined, 412, { reason: 'Topic name is not valid' }],
    ['PUT', `${ns}/%zz`, undefined, 400],
    ['PUT', `${ns}/partitioned`, undefined, 204],
    ['GET', `${ns}/partitioned`, undefined, 200, []],
    ['GET', `${ns}/t/partitions`, undefined, 200, { partitions: 0, deleted: false }],
    ['GET', `${ns}/none/partitions`, undefined, 404, { reason: 'Topic persistent://public/default/none not found' }],
    ['GET', `${ns}/none/partitions?checkAllowAutoCreation=true`, undefined, 200, { partitions: 0, deleted: false }],
    ['PUT', `${ns}/q/partitions`, '2', 405],
    ['POST', `${ns}/t/partitions`, '4', 409],
    ['DELETE', `${ns}/t/partitions`, undefined, 409],
    ['DELETE', `${ns}/none/partitions`, undefined, 404],
    ['GET', `${ns}/t/partitioned-stats`, undefined, 404],
    ['PUT', `${ns}/t/subscription/s1`, undefined, 204],
    ['PUT', `${ns}/t/subscription/s1`, '"earliest"', 409, { reason: 'Subscription already exists for topic' }],
    ['PUT', `${ns}/t/subscription/s%2F2`, '"latest"', 204],
    ['PUT', `${ns}/t/subscription/s%25`, '{"ledgerId":-1,"entryId":-1}', 204],
    ['PUT', `${ns}/t/subscription/s%C3%BCb%203`, `{"ledgerId":${long},"entryId":${long}}`, 204],
    ['PUT', `${ns}/t/subscription/id`, '{"ledgerId":1,"entryId":0,"partitionIndex":-1}', 204],
    ['PUT', `${ns}/t/subscription/late`, '{"ledgerId":9223372036854776000,"entryId":9223372036854776000}', 400],
    ['PUT', `${ns}/t/subscription/x`, '5', 400],
    ['PUT', `${ns}/t/subscription/x?replicated=true`, undefined, 405],
    ['GET', `${ns}/t/subscriptions`, undefined, 200, ['id', 's%', 's/2', 's1', 'süb 3']],
    ['GET', `${ns}/none/subscriptions`, undefined, 404],
    ['DELETE', `${ns}/t/subscription/s%2F2`, undefined, 204],
    ['DELETE', `${ns}/t/subscription/s%2F2`, undefined, 404, { reason: 'Subscription s/2 not found for topic persistent://public/default/t' }],
    ['POST', `${ns}/t/subscription/s1/skip_all`, undefined, 405],
    ['GET', `${ns}/t/stats`, undefined, 200, { msgInCounter: 0, subscriptions: { s1: {} } }],
    ['GET', `${ns}/none/stats`, undefined, 404, { reason: 'Topic persistent://public/default/none not found' }],
    ['GET', `${ns}/t/internalStats`, undefined, 200, { lastConfirmedEntry: '1:-1', state: 'LedgerOpened', ledgers: [], cursors: {} }],
    ['GET', `${ns}/t/lastMessageId`, undefined, 200, { ledgerId: 1, entryId: -1, partitionIndex: -1 }],
    ['GET', `${ns}/t/retention`, undefined, 200, ''],
    ['GET', `${ns}/none/retention`, undefined, 404],
    ['POST', `${ns}/t/retention`, '{}', 405],
    ['POST', `${ns}/t/terminate`, undefined, 405],
    ['PUT', `${ns}/none/unload`, undefined, 404],
    ['PUT', `${ns}/t/unload`, undefined, 204],
    ['DELETE', `${ns}/t`, undefined, 204],
    ['DELETE', `${ns}/t`, undefined, 404],
    ['GET', ns, undefined, 200, ['persistent://public/default/t2']],
    ['GET', 'namespaces/public/default/topics', undefined, 200],
    ['DELETE', 'namespaces/public/default', undefined, 409, { reason: 'Cannot delete non empty namespace' }],
    ['GET', 'non-persistent/public/default', undefined, 200, []],
    ['GET', 'non-persistent/public/default/partitioned', undefined, 200, []],
    ['PUT', 'non-persistent/public/default/np', undefined, 405],
    ['GET', 'non-persistent/public/default/np/stats', undefined, 404],
    ['GET', '/lookup/v2/topic/persistent/public/default/t2', undefined, 200, { httpUrl: `http://${base}`, brokerUrl: '' }],
    ['GET', '/lookup/v2/topic/persistent/public/default/t2/bundle', undefined, 200, '0x00000000_0x40000000'],
    ['GET', '/lookup/v2/topic/nonsense/public/default/t2', undefined, 404],
  ]);
});

t.test('REST: brokers, bookies and probes', async (t) => {
  const { base, broker, errors } = await start(t);
  await play(t, base, [
    ['GET', 'brokers', undefined, 200, [base]],
    ['GET', 'brokers/any', undefined, 200, [base]],
    ['GET', 'brokers/health?topicVersion=V1', undefined, 200, 'ok'],
    ['GET', 'brokers/ready', undefined, 200, 'ok'],
    ['GET', 'brokers/version', undefined, 200, '0.0.0-test'],
    ['GET', 'brokers/leaderBroker', undefined, 200, { brokerId: base, serviceUrl: `http://${base}` }],
    ['GET', 'brokers/configuration', undefined, 200, []],
    ['GET', 'brokers/configuration/values', undefined, 200, {}],
    ['POST', 'brokers/configuration/noSuchSetting/1', undefined, 412, { reason: "Can't update non-dynamic configuration" }],
    ['GET', 'brokers/internal-configuration/x', undefined, 405],
    ['GET', 'bookies/all', undefined, 200, { bookies: [{ bookieId: 'bookie-1' }] }],
    ['GET', 'bookies/racks-info', undefined, 200, {}],
    ['GET', 'bookies/racks-info/b:3181', undefined, 404, { reason: 'Bookie rack placement configuration not found: b:3181' }],
    ['POST', 'bookies/racks-info/b:3181?group=default', '{"rack":"/eu/1","hostname":"h"}', 204],
    ['POST', 'bookies/racks-info/c:3181?group=others', '{"rack":"/r2","hostname":null}', 204],
    ['GET', 'bookies/racks-info/b:3181', undefined, 200, { rack: '/eu/1', hostname: 'h' }],
    ['POST', 'bookies/racks-info/b:3181?group=others', '{"rack":"/eu/2"}', 204],
    ['GET', 'bookies/racks-info', undefined, 200, { others: { 'c:3181': { rack: '/r2', hostname: '' }, 'b:3181': { rack: '/eu/2', hostname: '' } } }],
    ['POST', 'bookies/racks-info/b:3181', '{"rack":"/r"}', 400],
    ['POST', 'bookies/racks-info/b:3181?group=g', '{"rack":"/"}', 400],
    ['POST', 'bookies/racks-info/b:3181?group=g', '["/r"]', 400],
    ['POST', 'bookies/racks-info/b%2F1?group=g', '{"rack":"/r"}', 400],
    ['DELETE', 'bookies/racks-info/b:3181', undefined, 204],
    ['DELETE', 'bookies/racks-info/b:3181', undefined, 404],
    ['GET', 'bookies/racks-info', undefined, 200, { others: { 'c:3181': { rack: '/r2', hostname: '' } } }],
    ['GET', '/healthz', undefined, 200, 'ok'],
    ['GET', '/readyz', undefined, 200, 'ok'],
    ['GET', '/nothing', undefined, 404],
    ['GET', '/ws/v2/producer/persistent/public/default/t', undefined, 405],
  ]);
  broker.isReady = false;
  broker.healthError = new Error('secret detail');
  await play(t, base, [
    ['GET', '/readyz', undefined, 503],
    ['GET', 'brokers/ready', undefined, 503],
  ]);
  const unhealthy = await rest(base, 'GET', '/admin/v2/brokers/health');
  t.equal(unhealthy.status, 500);
  t.notMatch(unhealthy.text, /secret/, 'internal texts stay inside');
  const errorId = /error id ([0-9a-f]{12})/.exec(unhealthy.text)?.[1];
  t.match(errors, [{ fields: { errorId } }], 'and are in the log under the id the client was told');
});

t.test('HTTP: what is no proper request → an answer, and the server lives on', async (t) => {
  const { base } = await start(t);
  t.match(await raw(base, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /);
  t.match(await raw(base, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  t.match(await raw(base, 'GET /ws/v2/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'), /^HTTP\/1\.1 400 /);
  t.match(await raw(base, 'GET /admin/v2/tenants/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 400 /);
  const big = await rest(base, 'PUT', '/admin/v2/tenants/big', JSON.stringify({ allowedClusters: ['x'.repeat(2_000_000)] }));
  t.equal(big.status, 413);
  const deep = await rest(base, 'PUT', '/admin/v2/tenants/deep', '['.repeat(500_000));
  t.equal(deep.status, 400);
  t.equal((await rest(base, 'HEAD', '/admin/v2/tenants')).status, 200);
  const options = await rest(base, 'OPTIONS', '/admin/v2/tenants');
  t.equal(options.status, 200);
  t.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

t.test('delete with a live producer → 412 with the number, and the producer works on', async (t) => {
  const { base } = await start(t);
  const producer = await TestClient.open(base, 'producer/persistent/public/default/t');
  const refused = await rest(base, 'DELETE', '/admin/v2/persistent/public/default/t');
  t.equal(refused.status, 412);
  t.match(refused.json, { reason: 'Topic has 1 connected producers/consumers' });
  producer.send({ payload: '', context: '1' });
  t.match(await producer.take(1), [{ result: 'ok' }]);
});
