import t from 'tap';
import { dispatcherConformance } from './conformance.js';
import { names, TopicWorld } from './testing/topic-world.js';

dispatcherConformance('Exclusive');

t.test('Exclusive: a second consumer → refused; the place is free the moment the first closes', async (t) => {
  const world = await TopicWorld.open();
  const first = await world.consumer({ type: 'Exclusive' });
  await t.rejects(world.consumer({ type: 'Exclusive' }), { code: 'TOPIC_CONSUMER_BUSY', message: 'Exclusive consumer is already connected' });
  await t.rejects(world.consumer({ type: 'Shared' }), {
    code: 'TOPIC_CONSUMER_BUSY',
    message: "Subscription is of different type. Active subscription type of 'Exclusive' is different than the connecting consumer's type 'Shared'.",
  });
  first.consumer.close();
  const second = world.topic.subscriptions.get('s').addConsumer(
    {
      subscription: 's',
      type: 'Shared',
      isDurable: true,
      initial: 'latest',
      consumerName: 'x',
      priorityLevel: 0,
      negativeAckDelayMs: 0,
      ackTimeoutMs: 0,
      flow: { kind: 'credit' },
      remoteAddress: '',
    },
    first,
  );
  t.equal(second.consumerName, 'x', 'with nobody connected the type may change, without a turn in between');
});

t.test('Exclusive: a negative ack → only that message comes again, in order among those given back', async (t) => {
  const world = await TopicWorld.open();
  const c = await world.consumer({ type: 'Exclusive', negativeAckDelayMs: 100 });
  await world.publish(...names('m', 6));
  c.nack('m4', 'm1');
  await world.advance(200);
  t.same(c.texts.slice(6), ['m1', 'm4']);
  t.equal(world.topic.stats().subscriptions.s!.activeConsumerName, c.consumer.consumerName);
});

t.test('Exclusive: the limit per consumer is for Shared → only the one per subscription holds', async (t) => {
  const world = await TopicWorld.open({ unackedPerConsumerMax: 2, unackedPerSubscriptionMax: 4 });
  const c = await world.consumer({ type: 'Exclusive' });
  await world.publish(...names('m', 6));
  t.equal(c.texts.length, 4);
});
