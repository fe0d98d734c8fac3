import t from 'tap';
import { names, TopicWorld } from '../subscription/testing/topic-world.js';

const session = { published: () => {}, publishFailed: () => {}, ended: () => {} };

t.test('topic: several producers at once → each gets its own answers, in order', async (t) => {
  const world = await TopicWorld.open();
  const [a, b] = [await world.producer('a'), await world.producer('b')];
  for (let i = 0; i < 50; i++) {
    a.producer.publish(Buffer.from('a'));
    if (i % 3 === 0) b.producer.publish(Buffer.from('b'));
  }
  t.equal(a.positions.length, 0, 'never from inside publish');
  await world.settle();
  t.same([a.positions.length, b.positions.length], [50, 17]);
  const all = [...a.positions, ...b.positions].map(({ entryId }) => entryId).sort((x, y) => x - y);
  t.same(
    all,
    Array.from({ length: 67 }, (_, i) => i),
  );
  const stats = world.topic.stats();
  t.same([stats.msgInCounter, stats.bytesInCounter, stats.publishers.length], [67, 67, 2]);
});

t.test('topic: producer names → taken while connected, free the moment it closes; made up when none is given', async (t) => {
  const world = await TopicWorld.open();
  const first = await world.producer('same');
  await t.rejects(world.producer('same'), {
    code: 'TOPIC_PRODUCER_BUSY',
    message: "Producer with name 'same' is already connected to topic 'persistent://public/default/t'",
  });
  await world.producer('made-0');
  const made = await world.producer();
  t.equal(made.producer.producerName, 'made-1', 'skips a name that a client took');
  first.producer.close();
  const second = await world.topic.addProducer({ producerName: 'same', initialSequenceId: 41n, remoteAddress: '' }, session);
  t.same([second.nextSequenceId(), second.nextSequenceId()], [42n, 43n]);
  first.producer.close();
  t.equal(world.topic.producers.count, 3, 'a second close takes nothing from the successor');
});

t.test('topic: a producer closes with publishes under way → stored, no longer answered', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer('a');
  a.producer.publish(Buffer.from('x'));
  a.producer.close();
  a.producer.publish(Buffer.from('y'));
  await world.settle();
  t.equal(a.positions.length, 0);
  t.equal(world.log.entriesCount, 1);
});

t.test('topic: the log is full → producers say so until it drains', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  world.log.isFull = true;
  t.equal(a.producer.isFull, true);
  let drained = false;
  a.producer.onDrain(() => {
    drained = true;
  });
  world.log.drain();
  t.same([drained, a.producer.isFull], [true, false]);
});

t.test('topic: appends fail → exactly those are answered with the error, later ones work', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  world.log.appendError = new Error('no quorum');
  for (const text of ['x', 'y']) a.producer.publish(Buffer.from(text));
  await world.settle();
  world.log.appendError = undefined;
  a.producer.publish(Buffer.from('z'));
  await world.settle();
  t.same([a.failedCount, a.positions.length], [2, 1]);
});

t.test('topic: another broker takes the log → everything under way fails, all sessions end, the owner of the topic is told', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  const c = await world.consumer();
  await world.publish('m');
  a.producer.publish(Buffer.from('x'));
  world.log.fence();
  await world.settle();
  t.same([a.failedCount, a.ended_, c.ended_], [1, 'unloaded', 'unloaded']);
  t.match(world.lost, { message: 'fenced' });
  await t.rejects(world.producer(), { code: 'TOPIC_UNAVAILABLE' });
  await t.rejects(world.consumer(), { code: 'TOPIC_UNAVAILABLE' });
});

t.test('topic: the log throws at an append → answered later, as a loss, and the process lives', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  await world.complete(world.log.close());
  a.producer.publish(Buffer.from('x'));
  t.equal(a.failedCount, 0);
  await world.settle();
  t.same([a.failedCount, a.ended_], [1, 'unloaded']);
});

t.test('topic: unload while publishing → what is under way is answered first, then the sessions end', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  for (const text of names('m', 5)) a.producer.publish(Buffer.from(text));
  const closing = world.topic.close('unloaded');
  t.equal(a.producer.isFull, true);
  t.equal(a.ended_, undefined);
  await world.complete(closing);
  t.same([a.positions.length, a.failedCount, a.ended_], [5, 0, 'unloaded']);
});

t.test('topic: unload while nothing is answered → waits a second, then fails what is left', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.producer();
  a.producer.publish(Buffer.from('x'));
  // The log falls silent.
  await world.complete(world.log.close());
  const began = world.queue.nowMs;
  await world.complete(world.topic.close('unloaded'));
  t.ok(world.queue.nowMs - began <= 1001);
  t.same([a.positions.length, a.failedCount, a.ended_], [0, 1, 'unloaded']);
});

t.test('topic: subscriptions → made once, refused while used, gone by force, and then they rest', async (t) => {
  const world = await TopicWorld.open();
  await world.complete(world.topic.createSubscription('s', 'earliest'));
  await t.rejects(world.topic.createSubscription('s', 'latest'), { code: 'TOPIC_SUBSCRIPTION_EXISTS' });
  await world.publish(...names('m', 3));
  const c = await world.consumer({ type: 'Exclusive' });
  await t.rejects(world.topic.deleteSubscription('s', false), {
    code: 'TOPIC_SUBSCRIPTION_IN_USE',
    message: 'Subscription has active connected consumers',
  });
  await world.publish('m3');
  t.same(c.texts, names('m', 4), 'works on');
  await world.complete(world.topic.deleteSubscription('s', true));
  t.equal(c.ended_, 'subscription-deleted');
  t.same(world.topic.subscriptionNames, []);
  await t.rejects(world.topic.deleteSubscription('s', true), {
    code: 'TOPIC_SUBSCRIPTION_NOT_FOUND',
    message: 'Subscription s not found for topic persistent://public/default/t',
  });
  await t.rejects(world.consumer(), { code: 'TOPIC_RECENTLY_DELETED' }, 'its client comes back at once');
  await world.complete(world.topic.createSubscription('s', 'latest'));
  const again = await world.consumer();
  t.same(again.texts, [], 'a new one');
  t.equal(world.topic.stats().msgOutCounter, 4, 'counters of what is gone stay in the sum');
});

t.test('topic: a subscription without consumers is deleted → the next client makes a new one at once', async (t) => {
  const world = await TopicWorld.open();
  const c = await world.consumer();
  await world.publish('a');
  c.consumer.close();
  await world.complete(world.topic.deleteSubscription('s', false));
  const c2 = await world.consumer({ initial: 'latest' });
  t.same(c2.texts, []);
});

t.test('topic: unsubscribe → removes the subscription of its only consumer, which is not told again', async (t) => {
  const world = await TopicWorld.open();
  const c1 = await world.consumer();
  const c2 = await world.consumer();
  await t.rejects(c1.consumer.unsubscribe(), { code: 'TOPIC_SUBSCRIPTION_IN_USE' });
  c2.consumer.close();
  await world.complete(c1.consumer.unsubscribe());
  t.same(world.topic.subscriptionNames, []);
  t.equal(c1.ended_, undefined);
  t.equal(world.topic.connectionsCount, 0);
});

t.test('topic: the cursor cannot be deleted → the subscription is still there, and says so', async (t) => {
  const world = await TopicWorld.open();
  await world.complete(world.topic.createSubscription('s', 'earliest'));
  world.log.deleteCursor = async () => {
    throw new Error('metadata is away');
  };
  await t.rejects(world.topic.deleteSubscription('s', false), { message: 'metadata is away' });
  t.same(world.topic.subscriptionNames, ['s']);
});

t.test('topic: a transient subscription → listed while its consumer lives, holds nothing, is gone with it', async (t) => {
  const world = await TopicWorld.open();
  await world.publish(...names('m', 3));
  const r = await world.consumer({ subscription: 'reader-1', isDurable: false, type: 'Exclusive' });
  t.same(r.texts, names('m', 3));
  t.same(world.topic.subscriptionNames, ['reader-1']);
  t.equal(world.topic.stats().subscriptions['reader-1']!.isDurable, false);
  await t.rejects(world.consumer({ subscription: 'reader-1', type: 'Exclusive' }), {
    code: 'TOPIC_CONSUMER_BUSY',
    message: 'NonDurable subscription with the same name already exists.',
  });
  r.consumer.close();
  t.same(world.topic.subscriptionNames, []);
  t.equal(world.log.waitingCount, 0, 'it waits for nothing any more');
  const unsubscribing = await world.consumer({ subscription: 'reader-2', isDurable: false, type: 'Exclusive' });
  await unsubscribing.consumer.unsubscribe();
  t.same(world.topic.subscriptionNames, []);
});

t.test('topic: types that come later → refused by name, and nothing is made', async (t) => {
  const world = await TopicWorld.open();
  for (const type of ['Failover', 'Key_Shared'] as const) {
    await t.rejects(world.consumer({ type }), {
      code: 'TOPIC_UNSUPPORTED',
      message: `subscription type ${type} is not supported by this version of Daybook`,
    });
  }
  t.same(world.topic.subscriptionNames, []);
});

t.test('topic: one name subscribed by many at once → one cursor', async (t) => {
  const world = await TopicWorld.open();
  await Promise.all([1, 2, 3].map(() => world.topic.createSubscription('x', 'latest').catch(() => {})).concat([world.advance(10)]));
  t.same(world.topic.subscriptionNames, ['x']);
});

t.test('topic: stats of the field names that break objects → kept as names', async (t) => {
  const world = await TopicWorld.open();
  await world.complete(world.topic.createSubscription('__proto__', 'latest'));
  t.ok(Object.keys(JSON.parse(JSON.stringify(world.topic.stats())).subscriptions).includes('__proto__'));
});

t.test('topic: stats → exactly the fields of a real Pulsar 4.0.8, in its order, no negative but "none"', async (t) => {
  const world = await TopicWorld.open();
  await world.producer('p');
  const c = await world.consumer({ type: 'Exclusive', consumerName: 'c' });
  await world.publish('abc');
  c.ack('abc');
  const stats = JSON.parse(JSON.stringify(world.topic.stats()));
  // As recorded from a 4.0.8.
  t.same(
    Object.keys(stats).join(' '),
    'msgRateIn msgThroughputIn msgRateOut msgThroughputOut bytesInCounter msgInCounter systemTopicBytesInCounter bytesOutCounter msgOutCounter bytesOutInternalCounter averageMsgSize msgChunkPublished storageSize backlogSize backlogQuotaLimitSize backlogQuotaLimitTime oldestBacklogMessageAgeSeconds publishRateLimitedTimes earliestMsgPublishTimeInBacklogs offloadedStorageSize lastOffloadLedgerId lastOffloadSuccessTimeStamp lastOffloadFailureTimeStamp ongoingTxnCount abortedTxnCount committedTxnCount publishers waitingPublishers subscriptions replication deduplicationStatus nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes compaction ownerBroker',
  );
  t.same(
    Object.keys(stats.publishers[0]).join(' '),
    'accessMode msgRateIn msgThroughputIn averageMsgSize chunkedMessageRate producerId supportsPartialProducer producerName address connectedSince clientVersion metadata',
  );
  t.same(
    Object.keys(stats.subscriptions.s).join(' '),
    'msgRateOut msgThroughputOut bytesOutCounter msgOutCounter msgRateRedeliver messageAckRate chunkedMessageRate msgBacklog backlogSize earliestMsgPublishTimeInBacklog msgBacklogNoDelayed blockedSubscriptionOnUnackedMsgs msgDelayed msgInReplay unackedMessages type activeConsumerName msgRateExpired totalMsgExpired lastExpireTimestamp lastConsumedFlowTimestamp lastConsumedTimestamp lastAckedTimestamp lastMarkDeleteAdvancedTimestamp consumers isDurable isReplicated allowOutOfOrderDelivery consumersAfterMarkDeletePosition drainingHashesCount drainingHashesClearedTotal drainingHashesUnackedMessages nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes subscriptionProperties filterProcessedMsgCount filterAcceptedMsgCount filterRejectedMsgCount filterRescheduledMsgCount dispatchThrottledMsgEventsBySubscriptionLimit dispatchThrottledBytesEventsBySubscriptionLimit dispatchThrottledMsgEventsByTopicLimit dispatchThrottledBytesEventsByTopicLimit dispatchThrottledMsgEventsByBrokerLimit dispatchThrottledBytesEventsByBrokerLimit durable replicated',
  );
  t.same(
    Object.keys(stats.subscriptions.s.consumers[0]).join(' '),
    'msgRateOut msgThroughputOut bytesOutCounter msgOutCounter msgRateRedeliver messageAckRate chunkedMessageRate consumerName availablePermits unackedMessages avgMessagesPerEntry blockedConsumerOnUnackedMsgs drainingHashesCount drainingHashesClearedTotal drainingHashesUnackedMessages address connectedSince clientVersion lastAckedTimestamp lastConsumedTimestamp lastConsumedFlowTimestamp metadata lastAckedTime lastConsumedTime',
  );
  const { msgBacklog, msgOutCounter, unackedMessages, type, activeConsumerName } = stats.subscriptions.s;
  t.same([msgBacklog, msgOutCounter, unackedMessages, type, activeConsumerName], [0, 1, 0, 'Exclusive', 'c']);
  t.same([stats.msgInCounter, stats.bytesInCounter, stats.storageSize, stats.backlogSize, stats.ownerBroker], [1, 3, 3, 0, 'broker:8080']);
});
