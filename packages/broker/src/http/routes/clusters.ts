import { emptyAnswer, jsonAnswer, noContent, notSupported, Refused, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject } from '../json-body.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

/** Values that Pulsar prints for a cluster that does not set them. */
const clusterDefaults = {
  brokerClientTlsEnabled: false,
  tlsAllowInsecureConnection: false,
  brokerClientTlsEnabledWithKeyStore: false,
  brokerClientTlsTrustStoreType: 'JKS',
  brokerClientTlsKeyStoreType: 'JKS',
  brokerClientSslFactoryPlugin: 'org.apache.pulsar.common.util.DefaultPulsarSslFactory',
};

const schemes: Record<string, string> = {
  serviceUrl: 'http:',
  serviceUrlTls: 'https:',
  brokerServiceUrl: 'pulsar:',
  brokerServiceUrlTls: 'pulsar+ssl:',
};

/** `/admin/v2/clusters`. */
export function addClusterRoutes(router: Router, { broker }: RouteContext): void {
  const { directory } = broker;
  const existing = async (name: string): Promise<Record<string, unknown>> => {
    const data = await directory.cluster(name);
    if (data === undefined) throw new Refused(404, 'Cluster does not exist');
    return data;
  };
  router
    .add('GET', '/admin/v2/clusters', async () => jsonAnswer((await directory.clusters()).filter((name) => name !== 'global')))
    .add('GET', '/admin/v2/clusters/:cluster', async (call) => jsonAnswer({ ...clusterDefaults, ...(await existing(call.parameter('cluster'))) }))
    .add('PUT', '/admin/v2/clusters/:cluster', async (call) => {
      const name = call.cluster();
      await directory.createCluster(name, clusterData(call));
      return emptyAnswer;
    })
    .add('POST', '/admin/v2/clusters/:cluster', async (call) => {
      await directory.updateCluster(call.cluster(), clusterData(call));
      return emptyAnswer;
    })
    .add('DELETE', '/admin/v2/clusters/:cluster', async (call) => {
      await directory.deleteCluster(call.parameter('cluster'));
      return noContent;
    })
    // None of these can be set yet, so that they are unset.
    .add('GET', '/admin/v2/clusters/:cluster/peers', async (call) => {
      await existing(call.parameter('cluster'));
      return emptyAnswer;
    })
    .add('GET', '/admin/v2/clusters/:cluster/failureDomains', async (call) => {
      await existing(call.parameter('cluster'));
      return jsonAnswer({});
    })
    .add('GET', '/admin/v2/clusters/:cluster/failureDomains/:domain', async (call) => {
      const cluster = call.parameter('cluster');
      await existing(cluster);
      throw new Refused(404, `Domain ${call.parameter('domain')} for cluster ${cluster} does not exist`);
    })
    .add('GET', '/admin/v2/clusters/:cluster/namespaceIsolationPolicies', async (call) => {
      await existing(call.parameter('cluster'));
      return jsonAnswer({});
    })
    .add('GET', '/admin/v2/clusters/:cluster/namespaceIsolationPolicies/:policy', async (call) => {
      const cluster = call.parameter('cluster');
      await existing(cluster);
      throw new Refused(404, `NamespaceIsolationPolicies for cluster ${cluster} does not exist`);
    })
    .add('*', '/admin/v2/clusters/:cluster/*', async (call) => {
      await existing(call.parameter('cluster'));
      throw notSupported(`Cluster setting ${call.segments[4]}`);
    });
}

function clusterData(call: Call): Record<string, unknown> {
  const body = call.json();
  if (body === undefined || body === null) throw new Refused(400, 'cluster data is required');
  if (!isJsonObject(body)) throw new Unreadable('cluster data is a JSON object');
  for (const [field, scheme] of Object.entries(schemes)) {
    const url = body[field];
    if (url === undefined || url === null || url === '') continue;
    if (typeof url !== 'string' || !url.startsWith(`${scheme}//`)) throw new Refused(400, `Illegal ${field}: it begins with ${scheme}//`);
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}
