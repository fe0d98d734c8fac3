import type { BookieRacks, BookieRegistry } from '@daybook/metadata';
import type { TopicName } from '@daybook/proto';
import type { InitialPosition, Topic } from './topic/topic-api.js';

/** Everything the HTTP and WebSocket front ends need from a broker; implemented by `broker.ts`. */
export interface BrokerApi {
  /** This broker's id, `host:port` of its HTTP service. */
  readonly brokerId: string;
  readonly clusterName: string;
  readonly version: string;
  readonly topics: Topics;
  readonly directory: Directory;
  readonly bookies: BookieRegistry;
  /** Where bookies stand, as the whole cluster sees it. */
  readonly racks: BookieRackRecord;
  /** Ids of all live brokers, sorted. */
  liveBrokers(): Promise<readonly string[]>;
  /** The broker that leads (does the cluster-wide chores), if known. */
  leaderBroker(): Promise<string | undefined>;
  /** Which broker serves a topic; when nobody does, one is chosen. `claim` false: only says who would, without loading anything. */
  owner(name: TopicName): Promise<Owner>;
  /** The namespace bundle a topic hashes to, `0x40000000_0x80000000`. */
  bundleOf(name: TopicName): string;
  /** Writes and reads one message through the whole path; rejects when it cannot. For `/brokers/health`. */
  checkHealth(): Promise<void>;
  /** Connected metadata session and open for work: `/readyz`. */
  readonly isReady: boolean;
}

export interface BookieRackRecord {
  read(): Promise<BookieRacks>;
  /** By compare-and-set: `change` may run more than once, and ends it by throwing. */
  update(change: (racks: BookieRacks) => BookieRacks): Promise<BookieRacks>;
}

export interface Owner {
  brokerId: string;
  isSelf: boolean;
}

/** Topics as things that can be loaded, listed, made and deleted. All calls act on topics of this broker (after {@link BrokerApi.owner} said so). */
export interface Topics {
  /**
   * Loads a topic. With `create` it is made when it is new (`TOPIC_NAMESPACE_NOT_FOUND`, `TOPIC_RECENTLY_DELETED`); otherwise `TOPIC_NOT_FOUND`. Claims the
   * ownership first: `TOPIC_OWNED_ELSEWHERE`, `TOPIC_UNAVAILABLE`.
   */
  load(name: TopicName, options: { create: boolean }): Promise<Topic>;
  /** Topics loaded here right now. */
  loaded(): readonly Topic[];
  /** Creates a topic by name; `TOPIC_EXISTS`. */
  create(name: TopicName, properties: ReadonlyMap<string, string>): Promise<void>;
  /** `TOPIC_NOT_FOUND`; `TOPIC_IN_USE` unless forced (then all sessions end with `topic-deleted`). Refuses automatic creation for a few seconds afterwards. */
  delete(name: TopicName, options: { force: boolean }): Promise<void>;
  /** Sessions get `unloaded`; the topic's state is made durable; the ownership is given up. `TOPIC_NOT_FOUND`. */
  unload(name: TopicName): Promise<void>;
  createSubscription(name: TopicName, subscription: string, initial: InitialPosition): Promise<void>;
  /** Full names of all topics of a namespace, sorted, from the metadata: any broker can answer. */
  list(namespaceName: string): Promise<string[]>;
  exists(name: TopicName): Promise<boolean>;
}

/** Clusters, tenants and namespaces as stored. Errors: `directoryErrors` in policies/errors.ts. */
export interface Directory {
  clusters(): Promise<string[]>;
  cluster(name: string): Promise<Record<string, unknown> | undefined>;
  createCluster(name: string, data: Record<string, unknown>): Promise<void>;
  updateCluster(name: string, data: Record<string, unknown>): Promise<void>;
  /** `DIRECTORY_CLUSTER_IN_USE` while tenants or namespaces name it. */
  deleteCluster(name: string): Promise<void>;
  tenants(): Promise<string[]>;
  tenant(name: string): Promise<TenantInfo | undefined>;
  createTenant(name: string, info: TenantInfo): Promise<void>;
  updateTenant(name: string, info: TenantInfo): Promise<void>;
  /** `DIRECTORY_TENANT_NOT_EMPTY`. */
  deleteTenant(name: string): Promise<void>;
  /** `tenant/namespace`, sorted; `DIRECTORY_TENANT_NOT_FOUND`. */
  namespaces(tenant: string): Promise<string[]>;
  /** Pulsar's Policies object (2.5.3) as stored, or undefined. */
  namespace(namespaceName: string): Promise<Record<string, unknown> | undefined>;
  createNamespace(namespaceName: string, policies: Record<string, unknown>): Promise<void>;
  /** `DIRECTORY_NAMESPACE_NOT_FOUND`, `DIRECTORY_NAMESPACE_NOT_EMPTY`. */
  deleteNamespace(namespaceName: string): Promise<void>;
}

export interface TenantInfo {
  adminRoles: readonly string[];
  allowedClusters: readonly string[];
}
