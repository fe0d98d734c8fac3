import type { BookieRacks, BookieRegistry } from '@daybook/metadata';
import type { BookieId, TopicName } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BookieRackRecord, BrokerApi, Directory, Owner, TenantInfo, Topics } from '../../broker-api.js';
import { directoryErrors } from '../../policies/errors.js';
import { defaultPolicies, newPolicies, shownPolicies } from '../../policies/namespace-policies.js';
import { topicErrors } from '../../topic/errors.js';
import type { Topic } from '../../topic/topic-api.js';
import { MemoryTopic } from './memory-topic.js';

/** What several memory brokers share, as real ones share the metadata store. */
export class MemoryCluster {
  readonly topics = new Map<string, MemoryTopic>();
  readonly owners = new Map<string, string>();
  readonly tenants = new Map<string, TenantInfo>([['public', { adminRoles: [], allowedClusters: ['standalone'] }]]);
  readonly namespaces = new Map<string, Record<string, unknown>>([
    ['public/default', defaultPolicies({ clusterName: 'standalone', bundlesCount: 4 })],
  ]);
  readonly clusters = new Map<string, Record<string, unknown>>([['standalone', { serviceUrl: 'http://127.0.0.1:8080' }]]);
  readonly brokers: string[] = [];
}

/** A broker without bookies, for tests of the front end. */
export class MemoryBroker implements BrokerApi {
  brokerId: string;
  readonly clusterName = 'standalone';
  readonly version = '0.0.0-test';
  readonly topics: Topics;
  readonly directory: Directory;
  readonly bookies: BookieRegistry;
  readonly racks: BookieRackRecord;
  isReady = true;
  /** Tests: what the next health check throws. */
  healthError: Error | undefined;
  readonly cluster: MemoryCluster;

  constructor(cluster: MemoryCluster, brokerId: string, clock: Clock) {
    this.cluster = cluster;
    this.brokerId = brokerId;
    cluster.brokers.push(brokerId);
    this.topics = memoryTopics(this, clock);
    this.directory = memoryDirectory(cluster);
    const bookie = { bookieId: 'bookie-1' as BookieId, address: '', httpAddress: '', incarnation: 'x', isWritable: true };
    let racks: BookieRacks = {};
    this.racks = {
      read: async () => racks,
      update: async (change) => {
        racks = change(racks);
        return racks;
      },
    };
    this.bookies = { list: () => [bookie], get: () => bookie, onChange: () => ({ stop: () => {} }), close: () => {} };
  }

  /** The stored topic, loaded or not. */
  topic(full: string): MemoryTopic {
    const topic = this.cluster.topics.get(full);
    if (topic === undefined) throw topicErrors.NOT_FOUND(full);
    return topic;
  }

  async liveBrokers(): Promise<string[]> {
    return [...this.cluster.brokers].sort();
  }

  async leaderBroker(): Promise<string | undefined> {
    return this.cluster.brokers[0];
  }

  async owner(name: TopicName): Promise<Owner> {
    const brokerId = this.cluster.owners.get(name.full) ?? this.brokerId;
    return { brokerId, isSelf: brokerId === this.brokerId };
  }

  bundleOf(): string {
    return '0x00000000_0x40000000';
  }

  async checkHealth(): Promise<void> {
    if (this.healthError !== undefined) throw this.healthError;
  }
}

function memoryTopics(broker: MemoryBroker, clock: Clock): Topics {
  const { cluster } = broker;
  const make = (name: TopicName): MemoryTopic => {
    if (!cluster.namespaces.has(name.namespaceName)) throw topicErrors.NAMESPACE_NOT_FOUND();
    const topic = new MemoryTopic(name, clock);
    cluster.topics.set(name.full, topic);
    return topic;
  };
  return {
    load: async (name, { create }): Promise<Topic> => cluster.topics.get(name.full) ?? (create ? make(name) : broker.topic(name.full)),
    loaded: () => [...cluster.topics.values()],
    create: async (name, properties) => {
      if (cluster.topics.has(name.full)) throw topicErrors.EXISTS();
      const topic = make(name);
      for (const [key, value] of properties) topic.properties.set(key, value);
    },
    delete: async (name, { force }) => {
      const topic = broker.topic(name.full);
      if (topic.connectionsCount > 0 && !force) throw topicErrors.IN_USE(topic.connectionsCount);
      cluster.topics.delete(name.full);
      topic.end('topic-deleted');
    },
    unload: async (name) => broker.topic(name.full).end('unloaded'),
    createSubscription: async (name, subscription, initial) =>
      (cluster.topics.get(name.full) ?? make(name)).createSubscription(subscription, initial),
    list: async (namespaceName) =>
      [...cluster.topics.values()].filter(({ name }) => name.namespaceName === namespaceName).map(({ name }) => name.full),
    exists: async (name) => cluster.topics.has(name.full),
  };
}

function memoryDirectory(cluster: MemoryCluster): Directory {
  const { clusters, tenants, namespaces } = cluster;
  return {
    clusters: async () => [...clusters.keys()].sort(),
    cluster: async (name) => clusters.get(name),
    createCluster: async (name, data) => {
      if (clusters.has(name)) throw directoryErrors.CLUSTER_EXISTS();
      clusters.set(name, data);
    },
    updateCluster: async (name, data) => {
      if (!clusters.has(name)) throw directoryErrors.CLUSTER_NOT_FOUND();
      clusters.set(name, data);
    },
    deleteCluster: async (name) => {
      if ([...tenants.values()].some(({ allowedClusters }) => allowedClusters.includes(name))) throw directoryErrors.CLUSTER_IN_USE('a tenant');
      if (!clusters.delete(name)) throw directoryErrors.CLUSTER_NOT_FOUND();
    },
    tenants: async () => [...tenants.keys()].sort(),
    tenant: async (name) => tenants.get(name),
    createTenant: async (name, info) => {
      if (tenants.has(name)) throw directoryErrors.TENANT_EXISTS();
      tenants.set(name, info);
    },
    updateTenant: async (name, info) => {
      if (!tenants.has(name)) throw directoryErrors.TENANT_NOT_FOUND(name);
      tenants.set(name, info);
    },
    deleteTenant: async (name) => {
      if ([...namespaces.keys()].some((full) => full.startsWith(`${name}/`))) throw directoryErrors.TENANT_NOT_EMPTY(name);
      tenants.delete(name);
    },
    namespaces: async (tenant) => [...namespaces.keys()].filter((full) => full.startsWith(`${tenant}/`)).sort(),
    namespace: async (name) => {
      const policies = namespaces.get(name);
      return policies === undefined ? undefined : shownPolicies(policies);
    },
    createNamespace: async (name, asked) => {
      if (namespaces.has(name)) throw directoryErrors.NAMESPACE_EXISTS();
      const [tenant] = name.split('/') as [string];
      const { allowedClusters } = tenants.get(tenant) as TenantInfo;
      namespaces.set(name, newPolicies(asked, { tenant, clusterName: 'standalone', bundlesCount: 4, allowedClusters }));
    },
    deleteNamespace: async (name) => {
      if ([...cluster.topics.values()].some((topic) => topic.name.namespaceName === name)) throw directoryErrors.NAMESPACE_NOT_EMPTY();
      namespaces.delete(name);
    },
  };
}
