import { isoTime } from '@daybook/runtime';
import type { ConsumerStats, SubscriptionStats } from '../topic/topic-stats.js';
import type { Consumer } from './consumer.js';
import type { Subscription } from './subscription.js';

/** What Pulsar shows for things that Daybook does not have (yet). */
const none = {
  msgRateExpired: 0,
  totalMsgExpired: 0,
  lastExpireTimestamp: 0,
} as const;

const filtersAndThrottling = {
  filterProcessedMsgCount: 0,
  filterAcceptedMsgCount: 0,
  filterRejectedMsgCount: 0,
  filterRescheduledMsgCount: 0,
  dispatchThrottledMsgEventsBySubscriptionLimit: 0,
  dispatchThrottledBytesEventsBySubscriptionLimit: 0,
  dispatchThrottledMsgEventsByTopicLimit: 0,
  dispatchThrottledBytesEventsByTopicLimit: 0,
  dispatchThrottledMsgEventsByBrokerLimit: 0,
  dispatchThrottledBytesEventsByBrokerLimit: 0,
} as const;

const drainingHashes = { drainingHashesCount: 0, drainingHashesClearedTotal: 0, drainingHashesUnackedMessages: 0 } as const;

/** `monoMs`: now; `averageEntryBytes` turns the backlog into bytes. */
export function subscriptionStats(subscription: Subscription, monoMs: number, averageEntryBytes: number): SubscriptionStats {
  const { cursor } = subscription;
  const out = subscription.traffic.outRate.read(monoMs);
  const active = subscription.activeConsumer?.consumerName;
  const rangesCount = cursor.stats().individuallyDeletedRangesCount;
  return {
    msgRateOut: out.countPerSecond,
    msgThroughputOut: out.bytesPerSecond,
    bytesOutCounter: subscription.traffic.bytesOutCount,
    msgOutCounter: subscription.traffic.messagesOutCount,
    msgRateRedeliver: subscription.traffic.redeliverRate.read(monoMs).countPerSecond,
    messageAckRate: subscription.traffic.ackRate.read(monoMs).countPerSecond,
    chunkedMessageRate: 0,
    msgBacklog: cursor.backlog,
    backlogSize: Math.round(cursor.backlog * averageEntryBytes),
    earliestMsgPublishTimeInBacklog: 0,
    msgBacklogNoDelayed: cursor.backlog,
    blockedSubscriptionOnUnackedMsgs: subscription.isBlockedOnUnacked,
    msgDelayed: 0,
    msgInReplay: subscription.replayCount,
    unackedMessages: subscription.unackedCount,
    type: subscription.consumers.length === 0 ? 'None' : (subscription.type ?? 'None'),
    ...(active === undefined ? {} : { activeConsumerName: active }),
    ...none,
    lastConsumedFlowTimestamp: subscription.traffic.lastFlowMs,
    lastConsumedTimestamp: subscription.traffic.lastConsumedMs,
    lastAckedTimestamp: subscription.traffic.lastAckedMs,
    lastMarkDeleteAdvancedTimestamp: subscription.lastMarkDeleteAdvancedMs,
    consumers: subscription.consumers.map((consumer) => consumerStats(consumer, monoMs)),
    isDurable: cursor.isDurable,
    isReplicated: false,
    allowOutOfOrderDelivery: false,
    consumersAfterMarkDeletePosition: {},
    ...drainingHashes,
    nonContiguousDeletedMessagesRanges: rangesCount,
    nonContiguousDeletedMessagesRangesSerializedSize: 0,
    delayedMessageIndexSizeInBytes: 0,
    subscriptionProperties: {},
    ...filtersAndThrottling,
    durable: cursor.isDurable,
    replicated: false,
  };
}

function consumerStats(consumer: Consumer, monoMs: number): ConsumerStats {
  const out = consumer.traffic.outRate.read(monoMs);
  return {
    msgRateOut: out.countPerSecond,
    msgThroughputOut: out.bytesPerSecond,
    bytesOutCounter: consumer.traffic.bytesOutCount,
    msgOutCounter: consumer.traffic.messagesOutCount,
    msgRateRedeliver: consumer.traffic.redeliverRate.read(monoMs).countPerSecond,
    messageAckRate: consumer.traffic.ackRate.read(monoMs).countPerSecond,
    chunkedMessageRate: 0,
    consumerName: consumer.consumerName,
    availablePermits: consumer.permits.available,
    unackedMessages: consumer.heldCount + consumer.waitingCount,
    avgMessagesPerEntry: consumer.traffic.messagesOutCount === 0 ? 0 : 1,
    blockedConsumerOnUnackedMsgs: consumer.heldCount >= consumer.unackedMax,
    ...drainingHashes,
    address: consumer.remoteAddress,
    connectedSince: isoTime(consumer.connectedSinceMs),
    clientVersion: '',
    lastAckedTimestamp: consumer.traffic.lastAckedMs,
    lastConsumedTimestamp: consumer.traffic.lastConsumedMs,
    lastConsumedFlowTimestamp: consumer.traffic.lastFlowMs,
    metadata: {},
    lastAckedTime: isoTime(consumer.traffic.lastAckedMs),
    lastConsumedTime: isoTime(consumer.traffic.lastConsumedMs),
  };
}
