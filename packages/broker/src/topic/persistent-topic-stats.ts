import { isoTime } from '@daybook/runtime';
import { subscriptionStats } from '../subscription/subscription-stats.js';
import type { PersistentTopic } from './persistent-topic.js';
import type { Producer } from './producers.js';
import type { PublisherStats, SubscriptionStats, TopicStats } from './topic-stats.js';

/** Offloading, transactions, compaction, quotas: Pulsar's values for "none". */
const offloadAndTransactions = {
  offloadedStorageSize: 0,
  lastOffloadLedgerId: 0,
  lastOffloadSuccessTimeStamp: 0,
  lastOffloadFailureTimeStamp: 0,
  ongoingTxnCount: 0,
  abortedTxnCount: 0,
  committedTxnCount: 0,
} as const;

const noQuota = {
  backlogQuotaLimitSize: -1,
  backlogQuotaLimitTime: -1,
  oldestBacklogMessageAgeSeconds: -1,
  publishRateLimitedTimes: 0,
  earliestMsgPublishTimeInBacklogs: 0,
} as const;

/** `monoMs`: now. */
export function persistentTopicStats(topic: PersistentTopic, monoMs: number): TopicStats {
  const { log } = topic;
  const averageEntryBytes = log.entriesCount === 0 ? 0 : log.totalBytes / log.entriesCount;
  const subscriptions: Record<string, SubscriptionStats> = {};
  let rateOut = 0;
  let throughputOut = 0;
  let backlogBytes = 0;
  let rangesCount = 0;
  for (const subscription of topic.subscriptions.list()) {
    const stats = subscriptionStats(subscription, monoMs, averageEntryBytes);
    // Defined, not assigned: `__proto__` is a legal subscription name.
    Object.defineProperty(subscriptions, subscription.name, { value: stats, enumerable: true, configurable: true, writable: true });
    rateOut += stats.msgRateOut;
    throughputOut += stats.msgThroughputOut;
    rangesCount += stats.nonContiguousDeletedMessagesRanges;
    if (stats.isDurable) backlogBytes = Math.max(backlogBytes, stats.backlogSize);
  }
  const rateIn = topic.inRate.read(monoMs);
  const out = topic.subscriptions.outTotals();
  return {
    msgRateIn: rateIn.countPerSecond,
    msgThroughputIn: rateIn.bytesPerSecond,
    msgRateOut: rateOut,
    msgThroughputOut: throughputOut,
    bytesInCounter: topic.bytesInCount,
    msgInCounter: topic.messagesInCount,
    systemTopicBytesInCounter: 0,
    bytesOutCounter: out.bytes,
    msgOutCounter: out.messages,
    bytesOutInternalCounter: 0,
    averageMsgSize: average(rateIn),
    msgChunkPublished: false,
    storageSize: log.totalBytes,
    backlogSize: backlogBytes,
    ...noQuota,
    ...offloadAndTransactions,
    publishers: topic.producers.list().map((producer) => publisherStats(producer, monoMs)),
    waitingPublishers: 0,
    subscriptions,
    replication: {},
    deduplicationStatus: 'Disabled',
    nonContiguousDeletedMessagesRanges: rangesCount,
    nonContiguousDeletedMessagesRangesSerializedSize: 0,
    delayedMessageIndexSizeInBytes: 0,
    compaction: {
      lastCompactionRemovedEventCount: 0,
      lastCompactionSucceedTimestamp: 0,
      lastCompactionFailedTimestamp: 0,
      lastCompactionDurationTimeInMills: 0,
    },
    ownerBroker: topic.brokerId,
  };
}

function publisherStats(producer: Producer, monoMs: number): PublisherStats {
  const rate = producer.inRate.read(monoMs);
  return {
    accessMode: 'Shared',
    msgRateIn: rate.countPerSecond,
    msgThroughputIn: rate.bytesPerSecond,
    averageMsgSize: average(rate),
    chunkedMessageRate: 0,
    producerId: producer.producerId,
    supportsPartialProducer: false,
    producerName: producer.producerName,
    address: producer.remoteAddress,
    connectedSince: isoTime(producer.connectedSinceMs),
    clientVersion: '',
    metadata: {},
  };
}

function average(rate: { countPerSecond: number; bytesPerSecond: number }): number {
  return rate.countPerSecond === 0 ? 0 : rate.bytesPerSecond / rate.countPerSecond;
}
