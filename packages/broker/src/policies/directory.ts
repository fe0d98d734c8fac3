import { type MetadataStore, metadataErrors, paths } from '@daybook/metadata';
import type { Directory, TenantInfo } from '../broker-api.js';
import { directoryErrors } from './errors.js';
import { checkEntityName, splitNamespaceName } from './names.js';
import { newPolicies, type Policies, shownPolicies } from './namespace-policies.js';
import { changeRecord, createRecord, readRecord } from './records.js';

export interface DirectoryOptions {
  clusterName: string;
  bundlesCount: number;
}

/** What ClusterData has when nobody says otherwise. */
const clusterDefaults = {
  brokerClientTlsEnabled: false,
  tlsAllowInsecureConnection: false,
  brokerClientTlsEnabledWithKeyStore: false,
  brokerClientTlsTrustStoreType: 'JKS',
  brokerClientTlsKeyStoreType: 'JKS',
  brokerClientSslFactoryPlugin: 'org.apache.pulsar.common.util.DefaultPulsarSslFactory',
} as const;

/** Clusters, tenants and namespaces as JSON records at Pulsar's paths. Nothing is kept in memory: any broker may change them. */
export class StoredDirectory implements Directory {
  readonly #store: MetadataStore;
  readonly #options: DirectoryOptions;

  constructor(store: MetadataStore, options: DirectoryOptions) {
    this.#store = store;
    this.#options = options;
  }

  async clusters(): Promise<string[]> {
    return (await this.#store.children(paths.clusters)).filter((name) => name !== 'global');
  }

  async cluster(name: string): Promise<Record<string, unknown> | undefined> {
    checkEntityName('Cluster', name);
    return (await readRecord(this.#store, paths.cluster(name)))?.record;
  }

  async createCluster(name: string, data: Record<string, unknown>): Promise<void> {
    checkEntityName('Cluster', name);
    if (!(await createRecord(this.#store, paths.cluster(name), clusterRecord(data)))) throw directoryErrors.CLUSTER_EXISTS();
  }

  async updateCluster(name: string, data: Record<string, unknown>): Promise<void> {
    checkEntityName('Cluster', name);
    if (!(await changeRecord(this.#store, paths.cluster(name), () => clusterRecord(data)))) throw directoryErrors.CLUSTER_NOT_FOUND();
  }

  async deleteCluster(name: string): Promise<void> {
    if ((await this.cluster(name)) === undefined) throw directoryErrors.CLUSTER_NOT_FOUND();
    for (const tenant of await this.tenants()) {
      if ((await this.tenant(tenant))?.allowedClusters.includes(name)) throw directoryErrors.CLUSTER_IN_USE(`tenant ${tenant}`);
      for (const namespaceName of await this.namespaces(tenant)) {
        const clusters = (await this.namespace(namespaceName))?.replication_clusters;
        if (Array.isArray(clusters) && clusters.includes(name)) throw directoryErrors.CLUSTER_IN_USE(`namespace ${namespaceName}`);
      }
    }
    await removeTree(this.#store, paths.cluster(name));
  }

  async tenants(): Promise<string[]> {
    return this.#store.children(paths.tenants);
  }

  async tenant(name: string): Promise<TenantInfo | undefined> {
    checkEntityName('Tenant', name);
    const found = await readRecord(this.#store, paths.tenant(name));
    return found === undefined ? undefined : { adminRoles: texts(found.record.adminRoles), allowedClusters: texts(found.record.allowedClusters) };
  }

  async createTenant(name: string, info: TenantInfo): Promise<void> {
    checkEntityName('Tenant', name);
    await this.#checkTenantInfo(info);
    if (!(await createRecord(this.#store, paths.tenant(name), tenantRecord(info)))) throw directoryErrors.TENANT_EXISTS();
  }

  async updateTenant(name: string, info: TenantInfo): Promise<void> {
    const before = await this.tenant(name);
    if (before === undefined) throw directoryErrors.TENANT_NOT_FOUND(name);
    await this.#checkTenantInfo(info);
    const removed = before.allowedClusters.filter((cluster) => !info.allowedClusters.includes(cluster));
    if (removed.length > 0) await this.#checkUnused(name, removed);
    if (!(await changeRecord(this.#store, paths.tenant(name), () => tenantRecord(info)))) throw directoryErrors.TENANT_NOT_FOUND(name);
  }

  async deleteTenant(name: string): Promise<void> {
    if ((await this.tenant(name)) === undefined) throw directoryErrors.TENANT_NOT_FOUND(name);
    try {
      // Its namespaces are children of the record: the store itself refuses while there is one, also one made this moment.
      await this.#store.delete(paths.tenant(name), 'any');
    } catch (error) {
      if (metadataErrors.NOT_EMPTY.is(error)) throw directoryErrors.TENANT_NOT_EMPTY(name, { cause: error });
      if (metadataErrors.NOT_FOUND.is(error)) throw directoryErrors.TENANT_NOT_FOUND(name, { cause: error });
      throw error;
    }
  }

  async namespaces(tenant: string): Promise<string[]> {
    if ((await this.tenant(tenant)) === undefined) throw directoryErrors.TENANT_NOT_FOUND(tenant);
    return (await this.#store.children(paths.tenant(tenant))).map((namespace) => `${tenant}/${namespace}`);
  }

  async namespace(namespaceName: string): Promise<Policies | undefined> {
    splitNamespaceName(namespaceName);
    const found = await readRecord(this.#store, paths.namespace(namespaceName));
    return found === undefined ? undefined : shownPolicies(found.record);
  }

  async createNamespace(namespaceName: string, asked: Policies): Promise<void> {
    const { tenant } = splitNamespaceName(namespaceName);
    const info = await this.tenant(tenant);
    if (info === undefined) throw directoryErrors.TENANT_NOT_FOUND(tenant);
    const policies = newPolicies(asked, { ...this.#options, tenant, allowedClusters: info.allowedClusters });
    if (!(await createRecord(this.#store, paths.namespace(namespaceName), policies))) throw directoryErrors.NAMESPACE_EXISTS();
  }

  async deleteNamespace(namespaceName: string): Promise<void> {
    splitNamespaceName(namespaceName);
    const path = paths.namespace(namespaceName);
    if ((await this.namespace(namespaceName)) === undefined) throw directoryErrors.NAMESPACE_NOT_FOUND();
    await this.#checkNoTopics(namespaceName);
    // Marked first: from here on no topic is made in it. One that was being made this moment is seen by the second look.
    if (!(await changeRecord(this.#store, path, (policies) => ({ ...policies, deleted: true })))) throw directoryErrors.NAMESPACE_NOT_FOUND();
    try {
      await this.#checkNoTopics(namespaceName);
    } catch (error) {
      await changeRecord(this.#store, path, (policies) => ({ ...policies, deleted: false }));
      throw error;
    }
    await removeTree(this.#store, path);
    const topics = paths.topicsOfNamespace(namespaceName);
    for (const left of [paths.localPolicies(namespaceName), topics, topics.slice(0, topics.lastIndexOf('/'))]) {
      await removeTree(this.#store, left);
    }
  }

  async #checkNoTopics(namespaceName: string): Promise<void> {
    const topics = await this.#store.children(paths.topicsOfNamespace(namespaceName));
    if (topics.length > 0) throw directoryErrors.NAMESPACE_NOT_EMPTY();
  }

  async #checkTenantInfo(info: TenantInfo): Promise<void> {
    if (info.allowedClusters.length === 0 || info.allowedClusters.some((name) => name.trim() === '')) {
      throw directoryErrors.INVALID('Clusters cannot be empty or blank');
    }
    if (info.adminRoles.some((role) => role !== role.trim())) {
      throw directoryErrors.INVALID('AdminRoles contains whitespace in the beginning or end.');
    }
    const known = await this.clusters();
    if (info.allowedClusters.some((name) => !known.includes(name))) throw directoryErrors.INVALID('Clusters do not exist');
  }

  async #checkUnused(tenant: string, clusters: readonly string[]): Promise<void> {
    for (const namespaceName of await this.namespaces(tenant)) {
      const used = (await this.namespace(namespaceName))?.replication_clusters;
      if (Array.isArray(used) && used.some((name) => clusters.includes(name))) throw directoryErrors.INVALID('Active namespaces');
    }
  }
}

function clusterRecord(data: Record<string, unknown>): Record<string, unknown> {
  return { ...clusterDefaults, ...Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null && value !== undefined)) };
}

function tenantRecord(info: TenantInfo): Record<string, unknown> {
  return { adminRoles: [...new Set(info.adminRoles)], allowedClusters: [...new Set(info.allowedClusters)] };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** Removes a record and what is below it; missing is fine, and so is a child that somebody makes meanwhile (then it stays). */
async function removeTree(store: MetadataStore, path: string): Promise<void> {
  for (const child of await store.children(path)) await removeTree(store, `${path}/${child}`);
  try {
    await store.delete(path, 'any');
  } catch (error) {
    if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.NOT_EMPTY.is(error)) throw error;
  }
}
