/**
 * Namespace policies as Pulsar's REST API names them, with what it answers while one is unset. This version of Daybook cannot set any, so that "unset" is
 * the truth; setting one is refused (405), never ignored.
 */
const nothing = Symbol('200 with an empty body');
const none = Symbol('204');

export type UnsetAnswer = typeof nothing | typeof none | object | number | boolean | string;

export const unsetPolicies: Readonly<Record<string, UnsetAnswer>> = {
  antiAffinity: none,
  autoSubscriptionCreation: nothing,
  autoTopicCreation: nothing,
  backlogQuotaMap: {},
  allowedClusters: [],
  compactionThreshold: nothing,
  deduplication: nothing,
  deduplicationSnapshotInterval: nothing,
  delayedDelivery: nothing,
  dispatcherPauseOnAckStatePersistent: false,
  dispatchRate: nothing,
  encryptionRequired: false,
  entryFilters: nothing,
  inactiveTopicPolicies: nothing,
  isAllowAutoUpdateSchema: true,
  maxConsumersPerSubscription: nothing,
  maxConsumersPerTopic: nothing,
  maxProducersPerTopic: nothing,
  maxSubscriptionsPerTopic: nothing,
  maxTopicsPerNamespace: 0,
  maxUnackedMessagesPerConsumer: nothing,
  maxUnackedMessagesPerSubscription: nothing,
  messageTTL: nothing,
  offloadDeletionLagMs: nothing,
  offloadPolicies: nothing,
  offloadThreshold: -1,
  offloadThresholdInSeconds: -1,
  permissions: {},
  persistence: nothing,
  properties: {},
  publishRate: nothing,
  replicatorDispatchRate: nothing,
  resourcegroup: nothing,
  retention: nothing,
  schemaAutoUpdateCompatibilityStrategy: none,
  schemaCompatibilityStrategy: 'UNDEFINED',
  schemaValidationEnforced: false,
  subscribeRate: nothing,
  subscriptionAuthMode: 'None',
  subscriptionDispatchRate: nothing,
  subscriptionExpirationTime: nothing,
  subscriptionTypesEnabled: [],
};

/** The same for topics. */
export const unsetTopicPolicies: Readonly<Record<string, UnsetAnswer>> = {
  autoSubscriptionCreation: nothing,
  backlogQuotaMap: {},
  compactionThreshold: nothing,
  deduplicationEnabled: nothing,
  deduplicationSnapshotInterval: nothing,
  delayedDelivery: nothing,
  dispatcherPauseOnAckStatePersistent: nothing,
  dispatchRate: nothing,
  entryFilters: nothing,
  inactiveTopicPolicies: nothing,
  maxConsumers: nothing,
  maxConsumersPerSubscription: nothing,
  maxMessageSize: none,
  maxProducers: nothing,
  maxSubscriptionsPerTopic: nothing,
  maxUnackedMessagesOnConsumer: nothing,
  maxUnackedMessagesOnSubscription: nothing,
  messageTTL: nothing,
  offloadPolicies: nothing,
  permissions: {},
  persistence: nothing,
  publishRate: none,
  replication: nothing,
  replicatorDispatchRate: nothing,
  retention: nothing,
  schemaCompatibilityStrategy: nothing,
  schemaValidationEnforced: nothing,
  subscribeRate: nothing,
  subscriptionDispatchRate: nothing,
  subscriptionTypesEnabled: [],
};

export const unset = { nothing, none } as const;

/** Members of Pulsar's Policies object while nothing is set, in the order Pulsar prints them. */
export function defaultPolicies(clusterName: string): Record<string, unknown> {
  return {
    auth_policies: { namespace_auth: {}, destination_auth: {}, subscription_auth_roles: {} },
    replication_clusters: [clusterName],
    allowed_clusters: [],
    bundles: bundlesOf(defaultBundlesCount),
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
    is_allow_auto_update_schema: true,
    schema_validation_enforced: false,
    subscription_types_enabled: [],
    properties: {},
    migrated: false,
    clusterThatCanDeleteNamespace: clusterName,
  };
}

/** Members that are absent while unset. */
export const optionalPolicies: ReadonlySet<string> = new Set([
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
  'schema_auto_update_compatibility_strategy',
  'resource_group_name',
  'entryFilters',
  'antiAffinityGroup',
]);

const defaultBundlesCount = 4;
export const bundlesCountMax = 4096;

/** `count` equal parts of the 32-bit hash range. */
export function bundlesOf(count: number): { boundaries: string[]; numBundles: number } {
  const boundaries: string[] = [];
  for (let i = 0; i < count; i++) boundaries.push(boundary(Math.floor((i * 0x1_0000_0000) / count)));
  boundaries.push(boundary(0xffff_ffff));
  return { boundaries, numBundles: count };
}

function boundary(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}
