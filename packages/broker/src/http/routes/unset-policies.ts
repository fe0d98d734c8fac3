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
