/**
 * Answer of `GET .../stats`; names, units and order are Pulsar's (reference pulsar-api.md 2.7.1-2.7.4; compared with what a 4.0.8 answered), kept
 * literally, misspellings included. The topic fills it, the HTTP route prints it. What Daybook has no notion of yet has Pulsar's value for "none".
 */
export interface TopicStats {
  /** Rates are per second over the last minute. */
  msgRateIn: number;
  msgThroughputIn: number;
  msgRateOut: number;
  msgThroughputOut: number;
  bytesInCounter: number;
  msgInCounter: number;
  systemTopicBytesInCounter: number;
  bytesOutCounter: number;
  msgOutCounter: number;
  bytesOutInternalCounter: number;
  averageMsgSize: number;
  msgChunkPublished: boolean;
  storageSize: number;
  backlogSize: number;
  /** -1: no quota. */
  backlogQuotaLimitSize: number;
  backlogQuotaLimitTime: number;
  oldestBacklogMessageAgeSeconds: number;
  publishRateLimitedTimes: number;
  earliestMsgPublishTimeInBacklogs: number;
  offloadedStorageSize: number;
  lastOffloadLedgerId: number;
  lastOffloadSuccessTimeStamp: number;
  lastOffloadFailureTimeStamp: number;
  ongoingTxnCount: number;
  abortedTxnCount: number;
  committedTxnCount: number;
  publishers: PublisherStats[];
  waitingPublishers: number;
  subscriptions: Record<string, SubscriptionStats>;
  replication: Record<string, never>;
  deduplicationStatus: 'Disabled';
  nonContiguousDeletedMessagesRanges: number;
  nonContiguousDeletedMessagesRangesSerializedSize: number;
  delayedMessageIndexSizeInBytes: number;
  compaction: {
    lastCompactionRemovedEventCount: number;
    lastCompactionSucceedTimestamp: number;
    lastCompactionFailedTimestamp: number;
    lastCompactionDurationTimeInMills: number;
  };
  ownerBroker: string;
}

export interface PublisherStats {
  accessMode: 'Shared';
  msgRateIn: number;
  msgThroughputIn: number;
  averageMsgSize: number;
  chunkedMessageRate: number;
  producerId: number;
  supportsPartialProducer: boolean;
  producerName: string;
  address: string;
  connectedSince: string;
  clientVersion: string;
  metadata: Record<string, string>;
}

export interface SubscriptionStats {
  msgRateOut: number;
  msgThroughputOut: number;
  bytesOutCounter: number;
  msgOutCounter: number;
  msgRateRedeliver: number;
  messageAckRate: number;
  chunkedMessageRate: number;
  msgBacklog: number;
  backlogSize: number;
  earliestMsgPublishTimeInBacklog: number;
  msgBacklogNoDelayed: number;
  blockedSubscriptionOnUnackedMsgs: boolean;
  msgDelayed: number;
  msgInReplay: number;
  unackedMessages: number;
  type: 'Exclusive' | 'Shared' | 'Failover' | 'Key_Shared' | 'None';
  /** Absent when there is none. */
  activeConsumerName?: string;
  msgRateExpired: number;
  totalMsgExpired: number;
  lastExpireTimestamp: number;
  lastConsumedFlowTimestamp: number;
  lastConsumedTimestamp: number;
  lastAckedTimestamp: number;
  lastMarkDeleteAdvancedTimestamp: number;
  consumers: ConsumerStats[];
  isDurable: boolean;
  isReplicated: boolean;
  allowOutOfOrderDelivery: boolean;
  consumersAfterMarkDeletePosition: Record<string, string>;
  drainingHashesCount: number;
  drainingHashesClearedTotal: number;
  drainingHashesUnackedMessages: number;
  nonContiguousDeletedMessagesRanges: number;
  nonContiguousDeletedMessagesRangesSerializedSize: number;
  delayedMessageIndexSizeInBytes: number;
  subscriptionProperties: Record<string, string>;
  filterProcessedMsgCount: number;
  filterAcceptedMsgCount: number;
  filterRejectedMsgCount: number;
  filterRescheduledMsgCount: number;
  dispatchThrottledMsgEventsBySubscriptionLimit: number;
  dispatchThrottledBytesEventsBySubscriptionLimit: number;
  dispatchThrottledMsgEventsByTopicLimit: number;
  dispatchThrottledBytesEventsByTopicLimit: number;
  dispatchThrottledMsgEventsByBrokerLimit: number;
  dispatchThrottledBytesEventsByBrokerLimit: number;
  /** The same as `isDurable` and `isReplicated`: Pulsar has both. */
  durable: boolean;
  replicated: boolean;
}

export interface ConsumerStats {
  msgRateOut: number;
  msgThroughputOut: number;
  bytesOutCounter: number;
  msgOutCounter: number;
  msgRateRedeliver: number;
  messageAckRate: number;
  chunkedMessageRate: number;
  consumerName: string;
  availablePermits: number;
  unackedMessages: number;
  avgMessagesPerEntry: number;
  blockedConsumerOnUnackedMsgs: boolean;
  drainingHashesCount: number;
  drainingHashesClearedTotal: number;
  drainingHashesUnackedMessages: number;
  address: string;
  connectedSince: string;
  clientVersion: string;
  lastAckedTimestamp: number;
  lastConsumedTimestamp: number;
  lastConsumedFlowTimestamp: number;
  metadata: Record<string, string>;
  lastAckedTime: string;
  lastConsumedTime: string;
}
