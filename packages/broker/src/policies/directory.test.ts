import { type MemoryStore, MemoryTree, paths } from '@daybook/metadata';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { bootstrap } from './bootstrap.js';
import { StoredDirectory } from './directory.js';

const options = { clusterName: 'standalone', bundlesCount: 4 };
const urls = { webServiceUrl: 'http://127.0.0.1:8080', brokerServiceUrl: undefined };

async function open(): Promise<{ tree: MemoryTree; store: MemoryStore; directory: StoredDirectory }> {
  const tree = new MemoryTree();
  const store = tree.openSession({ clock: new SimClock(new EventQueue({ seed: 1 })) });
  await bootstrap(store, { ...options, ...urls });
  return { tree, store, directory: new StoredDirectory(store, options) };
}

t.test('directory: bootstrap → what a fresh standalone has; again or at the same time → nothing changes', async (t) => {
  const tree = new MemoryTree();
  const clock = new SimClock(new EventQueue({ seed: 1 }));
  const stores = [tree.openSession({ clock }), tree.openSession({ clock })];
  await Promise.all(stores.map((store) => bootstrap(store, { ...options, ...urls })));
  await bootstrap(stores[0]!, { clusterName: 'other', bundlesCount: 2, ...urls });
  const directory = new StoredDirectory(stores[0]!, options);
  t.same(await directory.clusters(), ['standalone']);
  t.same(await directory.tenants(), ['public', 'pulsar']);
  t.same(await directory.tenant('public'), { adminRoles: [], allowedClusters: ['standalone'] });
  t.same(await directory.namespaces('pulsar'), ['pulsar/system']);
  t.equal((await stores[0]!.get(paths.namespace('public/default')))?.version, 0);
});

t.test('directory: a new namespace → Pulsar 4.0.8 answers exactly this', async (t) => {
  const { directory } = await open();
  t.equal(
    JSON.stringify(await directory.namespace('public/default')),
    '{"auth_policies":{"namespace_auth":{},"destination_auth":{},"subscription_auth_roles":{}},"replication_clusters":["standalone"],"allowed_clusters":[],"bundles":{"boundaries":["0x00000000","0x40000000","0x80000000","0xc0000000","0xffffffff"],"numBundles":4},"backlog_quota_map":{},"clusterDispatchRate":{},"topicDispatchRate":{},"subscriptionDispatchRate":{},"replicatorDispatchRate":{},"clusterSubscribeRate":{},"publishMaxMessageRate":{},"latency_stats_sample_rate":{},"deleted":false,"encryption_required":false,"subscription_auth_mode":"None","offload_threshold":-1,"offload_threshold_in_seconds":-1,"schema_compatibility_strategy":"UNDEFINED","is_allow_auto_update_schema":true,"schema_validation_enforced":false,"subscription_types_enabled":[],"properties":{},"migrated":false,"clusterThatCanDeleteNamespace":"standalone"}',
  );
});

t.test('directory: tenants → created, changed, deleted, with the refusals of Pulsar', async (t) => {
  const { directory } = await open();
  await directory.createTenant('rest', { adminRoles: ['a', 'b'], allowedClusters: ['standalone'] });
  await t.rejects(directory.createTenant('rest', { adminRoles: [], allowedClusters: ['standalone'] }), {
    code: 'DIRECTORY_TENANT_EXISTS',
    message: 'Tenant already exist',
  });
  t.same(await directory.tenant('rest'), { adminRoles: ['a', 'b'], allowedClusters: ['standalone'] });
  const invalid: [string, string[], string[], string][] = [
    ['b@d', [], ['standalone'], 'Tenant name is not valid'],
    ['..', [], ['standalone'], 'Tenant name is not valid'],
    ['t2', [], [], 'Clusters cannot be empty or blank'],
    ['t2', [], [' '], 'Clusters cannot be empty or blank'],
    ['t2', [], ['none'], 'Clusters do not exist'],
    ['t2', [' x '], ['standalone'], 'AdminRoles contains whitespace in the beginning or end.'],
  ];
  for (const [name, adminRoles, allowedClusters, message] of invalid) {
    await t.rejects(directory.createTenant(name, { adminRoles, allowedClusters }), { code: 'DIRECTORY_INVALID', message });
  }
  await directory.updateTenant('rest', { adminRoles: ['c'], allowedClusters: ['standalone'] });
  t.same((await directory.tenant('rest'))?.adminRoles, ['c']);
  await t.rejects(directory.updateTenant('none', { adminRoles: [], allowedClusters: ['standalone'] }), { code: 'DIRECTORY_TENANT_NOT_FOUND' });
  await t.rejects(directory.deleteTenant('public'), { code: 'DIRECTORY_TENANT_NOT_EMPTY' });
  await t.rejects(directory.deleteTenant('none'), { code: 'DIRECTORY_TENANT_NOT_FOUND' });
  await directory.deleteTenant('rest');
  t.equal(await directory.tenant('rest'), undefined);
});

t.test('directory: namespaces → created once, listed, deleted only when empty, also when a topic comes meanwhile', async (t) => {
  const { directory, store } = await open();
  await directory.createTenant('rest', { adminRoles: [], allowedClusters: ['standalone'] });
  const results = await Promise.allSettled([directory.createNamespace('rest/ns', {}), directory.createNamespace('rest/ns', {})]);
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  await t.rejects(directory.createNamespace('rest/ns', {}), { code: 'DIRECTORY_NAMESPACE_EXISTS' });
  await t.rejects(directory.createNamespace('none/ns', {}), { code: 'DIRECTORY_TENANT_NOT_FOUND' });
  await t.rejects(directory.createNamespace('rest/bad name', {}), { code: 'DIRECTORY_INVALID', message: 'Namespace name is not valid' });
  t.same(await directory.namespaces('rest'), ['rest/ns']);
  await t.rejects(directory.namespaces('none'), { code: 'DIRECTORY_TENANT_NOT_FOUND' });
  const topic = `${paths.topicsOfNamespace('rest/ns')}/t`;
  await store.put(topic, Buffer.from('x'), 'absent');
  await t.rejects(directory.deleteNamespace('rest/ns'), { code: 'DIRECTORY_NAMESPACE_NOT_EMPTY' });
  await store.delete(topic, 'any');
  // A topic that appears between the mark and the second look.
  const watch = store.watch(paths.namespace('rest/ns'), () => {
    watch.stop();
    void store.put(topic, Buffer.from('x'), 'absent');
  });
  const outcome = await directory.deleteNamespace('rest/ns').then(
    () => 'deleted',
    (error) => error.code,
  );
  t.equal(outcome, 'DIRECTORY_NAMESPACE_NOT_EMPTY');
  t.equal((await directory.namespace('rest/ns'))?.deleted, false, 'unmarked again');
  await store.delete(topic, 'any');
  await directory.deleteNamespace('rest/ns');
  t.equal(await directory.namespace('rest/ns'), undefined);
  await t.rejects(directory.deleteNamespace('rest/ns'), { code: 'DIRECTORY_NAMESPACE_NOT_FOUND' });
  t.same(await store.children('/managed-ledgers/rest'), []);
});

t.test('directory: policies at creation → bundles as asked, unknown fields ignored, unsupported ones refused, "none" accepted', async (t) => {
  const { directory } = await open();
  await directory.createNamespace('public/two', { bundles: { numBundles: 2 }, noSuch: 2, retention_policies: { retentionSizeInMB: 0 } });
  t.same((await directory.namespace('public/two'))?.bundles, { boundaries: ['0x00000000', '0x80000000', '0xffffffff'], numBundles: 2 });
  t.equal((await directory.namespace('public/two'))?.noSuch, undefined);
  await directory.createNamespace('public/zero', { bundles: { numBundles: 0 }, properties: { team: 'a' }, message_ttl_in_seconds: 0 });
  t.match(await directory.namespace('public/zero'), { bundles: { numBundles: 4 }, properties: { team: 'a' } });
  for (const policies of [{ message_ttl_in_seconds: 60 }, { deduplicationEnabled: true }, { retention_policies: { retentionTimeInMinutes: 10 } }]) {
    await t.rejects(directory.createNamespace('public/x', policies), { code: 'DIRECTORY_POLICY_UNSUPPORTED' });
  }
  await t.rejects(directory.createNamespace('public/x', { replication_clusters: ['none'] }), { message: /\[none\] is not in the list of allowed/ });
  for (const numBundles of [-1, 1.5, 5000, 'x']) {
    await t.rejects(directory.createNamespace('public/x', { bundles: { numBundles } }), { message: /number of bundles/ });
  }
  t.same(await directory.namespaces('public'), ['public/default', 'public/two', 'public/zero']);
});

t.test('directory: clusters → created, replaced, deleted unless used', async (t) => {
  const { directory } = await open();
  await directory.createCluster('c2', { serviceUrl: 'http://127.0.0.1:9' });
  await t.rejects(directory.createCluster('c2', {}), { code: 'DIRECTORY_CLUSTER_EXISTS' });
  await t.rejects(directory.createCluster('bad name', {}), { message: 'Cluster name is not valid' });
  t.match(await directory.cluster('c2'), { serviceUrl: 'http://127.0.0.1:9', brokerClientTlsEnabled: false });
  await directory.updateCluster('c2', { serviceUrl: 'http://127.0.0.1:10' });
  await t.rejects(directory.updateCluster('none', {}), { code: 'DIRECTORY_CLUSTER_NOT_FOUND' });
  t.match(await directory.cluster('c2'), { serviceUrl: 'http://127.0.0.1:10' });
  await t.rejects(directory.deleteCluster('standalone'), { code: 'DIRECTORY_CLUSTER_IN_USE', message: /tenant public/ });
  await t.rejects(directory.deleteCluster('none'), { code: 'DIRECTORY_CLUSTER_NOT_FOUND' });
  await directory.deleteCluster('c2');
  t.same(await directory.clusters(), ['standalone']);
});

t.test('directory: a record that is no JSON → an error that names it', async (t) => {
  const { directory, store } = await open();
  await store.put(paths.cluster('odd'), Buffer.from('{'), 'absent');
  await t.rejects(directory.cluster('odd'), { code: 'METADATA_CORRUPT', message: /\/admin\/clusters\/odd/ });
});
