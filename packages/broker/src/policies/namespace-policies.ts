import { directoryErrors } from './errors.js';

export type Policies = Record<string, unknown>;

const bundlesMax = 4096;

/** What a new namespace has, field by field as Pulsar stores it. */
export function defaultPolicies(options: { clusterName: string; bundlesCount: number }): Policies {
  return {
    auth_policies: { namespace_auth: {}, destination_auth: {}, subscription_auth_roles: {} },
    replication_clusters: [options.clusterName],
    allowed_clusters: [],
    bundles: bundlesOf(options.bundlesCount),
    backlog_quota_map: {},
    clusterDispatchRate: {},
    topicDispatchRate: {},
    subscriptionDispatchRate: {},
    replicatorDispatchRate: {},
    clusterSubscribeRate: {},
    publishMaxMessageRate: {},
    latency_stats_sample_rate: {},
    deleted: false,
    encryption_required: false,
    subscription_auth_mode: 'None',
    offload_threshold: -1,
    offload_threshold_in_seconds: -1,
    schema_compatibility_strategy: 'UNDEFINED',
    schema_validation_enforced: false,
    subscription_types_enabled: [],
    properties: {},
    migrated: false,
    clusterThatCanDeleteNamespace: options.clusterName,
  };
}

/** What a reader of the policies sees: what is stored, plus values that the broker fills in. */
export function shownPolicies(stored: Policies): Policies {
  const shown: Policies = {};
  for (const [key, value] of Object.entries(stored)) {
    if (key === 'schema_validation_enforced') shown.is_allow_auto_update_schema = stored.is_allow_auto_update_schema ?? true;
    if (key !== 'is_allow_auto_update_schema') shown[key] = value;
  }
  return shown;
}

/** Boundaries that divide the 32-bit hash space evenly. */
export function bundlesOf(count: number): { boundaries: string[]; numBundles: number } {
  const boundaries = Array.from({ length: count }, (_, i) => hex(Math.floor((0x1_0000_0000 * i) / count)));
  return { boundaries: [...boundaries, hex(0xffff_ffff)], numBundles: count };
}

export interface NewPoliciesOptions {
  tenant: string;
  clusterName: string;
  bundlesCount: number;
  allowedClusters: readonly string[];
}

/**
 * The policies of a namespace created with `asked` (the body of the request; unknown fields are ignored, as Pulsar does). A setting that this version does not
 * apply is refused: `DIRECTORY_POLICY_UNSUPPORTED`. A setting that says what holds anyway is fine. `DIRECTORY_INVALID`, `DIRECTORY_CLUSTER_NOT_ALLOWED`.
 */
export function newPolicies(asked: Policies, options: NewPoliciesOptions): Policies {
  const policies = defaultPolicies(options);
  for (const [key, value] of Object.entries(asked)) {
    if (value === null || value === undefined) continue;
    if (key === 'bundles') policies.bundles = askedBundles(value, options.bundlesCount);
    else if (key === 'replication_clusters') policies.replication_clusters = askedClusters(value, policies, options);
    else if (key === 'properties') policies.properties = askedProperties(value);
    else if (knownPolicies.has(key) && !isUnset(value) && plain(value) !== plain(policies[key])) throw directoryErrors.POLICY_UNSUPPORTED(key);
  }
  return policies;
}

/** Everything of Policies (2.5.3) that would change what the broker does, had it been set. */
const knownPolicies = new Set([
  ...Object.keys(defaultPolicies({ clusterName: '', bundlesCount: 1 })),
  'persistence',
  'retention_policies',
  'deduplicationEnabled',
  'deduplicationSnapshotIntervalSeconds',
  'autoTopicCreationOverride',
  'autoSubscriptionCreationOverride',
  'message_ttl_in_seconds',
  'subscription_expiration_time_minutes',
  'delayed_delivery_policies',
  'inactive_topic_policies',
  'max_producers_per_topic',
  'max_consumers_per_topic',
  'max_consumers_per_subscription',
  'max_unacked_messages_per_consumer',
  'max_unacked_messages_per_subscription',
  'max_subscriptions_per_topic',
  'max_topics_per_namespace',
  'compaction_threshold',
  'offload_deletion_lag_ms',
  'offload_policies',
  'resource_group_name',
  'entryFilters',
  'antiAffinityGroup',
]);

/** Limits of 0, `false`, empty maps and lists, and retention 0/0 all mean "none". */
function isUnset(value: unknown): boolean {
  if (value === 0 || value === false || value === '') return true;
  return typeof value === 'object' && value !== null && Object.values(value).every((one) => one === null || isUnset(one));
}

function askedBundles(value: unknown, defaultCount: number): { boundaries: string[]; numBundles: number } {
  const count = typeof value === 'object' && value !== null && 'numBundles' in value ? Number(value.numBundles) : 0;
  if (count === 0) return bundlesOf(defaultCount);
  if (!Number.isInteger(count) || count < 0 || count > bundlesMax) {
    throw directoryErrors.INVALID(`Invalid number of bundles. Number of bundles has to be in the range of (0, ${bundlesMax}].`);
  }
  return bundlesOf(count);
}

function askedClusters(value: unknown, policies: Policies, { tenant, allowedClusters }: NewPoliciesOptions): unknown {
  if (!Array.isArray(value) || !value.every((one): one is string => typeof one === 'string')) {
    throw directoryErrors.INVALID('replication_clusters must be a list of cluster names');
  }
  const clusters = [...new Set(value)];
  if (clusters.length === 0) return policies.replication_clusters;
  const refused = clusters.find((cluster) => !allowedClusters.includes(cluster));
  if (refused !== undefined) throw directoryErrors.CLUSTER_NOT_ALLOWED(refused, tenant);
  if (clusters.length > 1) throw directoryErrors.INVALID('Replication between clusters is not supported by this version of Daybook');
  return clusters;
}

function askedProperties(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.values(value).every((one) => typeof one === 'string')) {
    throw directoryErrors.INVALID('properties must be an object of texts');
  }
  return value;
}

/** To compare; 64-bit integers of a request are bigints. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? one.toString() : one));
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}
