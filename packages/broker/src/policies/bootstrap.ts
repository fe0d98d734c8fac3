import { type MetadataStore, paths } from '@daybook/metadata';
import { defaultPolicies } from './namespace-policies.js';
import { createRecord, readRecord } from './records.js';

export interface BootstrapOptions {
  clusterName: string;
  bundlesCount: number;
  /** The first broker's HTTP address, for clients that ask where the cluster is. */
  webServiceUrl: string;
  brokerServiceUrl: string | undefined;
}

/**
 * What a cluster has from its first start: its own record, the tenants `public` and `pulsar`, the namespaces `public/default` and `pulsar/system`. Any number
 * of brokers may do this at once: each record is made once, by whoever is first, and none is changed. Costs one read when it was done before.
 */
export async function bootstrap(store: MetadataStore, options: BootstrapOptions): Promise<void> {
  // Made last, so it says that all the others were made.
  const last = paths.namespace('public/default');
  if ((await readRecord(store, last)) !== undefined) return;
  const { clusterName, webServiceUrl, brokerServiceUrl } = options;
  const cluster = {
    serviceUrl: webServiceUrl,
    ...(brokerServiceUrl === undefined ? {} : { brokerServiceUrl }),
    brokerClientTlsEnabled: false,
    tlsAllowInsecureConnection: false,
    brokerClientTlsEnabledWithKeyStore: false,
    brokerClientTlsTrustStoreType: 'JKS',
    brokerClientTlsKeyStoreType: 'JKS',
    brokerClientSslFactoryPlugin: 'org.apache.pulsar.common.util.DefaultPulsarSslFactory',
  };
  await createRecord(store, paths.cluster(clusterName), cluster);
  for (const tenant of ['public', 'pulsar']) {
    await createRecord(store, paths.tenant(tenant), { adminRoles: [], allowedClusters: [clusterName] });
  }
  const policies = defaultPolicies(options);
  await createRecord(store, paths.namespace('pulsar/system'), policies);
  await createRecord(store, last, policies);
}
