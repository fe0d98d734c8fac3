import t from 'tap';
import { dispatcherConformance } from './conformance.js';
import { names, TopicWorld } from './testing/topic-world.js';

dispatcherConformance('Shared');

t.test('Shared: several consumers → in turn, by permits', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.consumer();
  const b = await world.consumer();
  const c = await world.consumer({ flow: { kind: 'credit' } });
  c.consumer.permit(2);
  await world.publish(...names('m', 9));
  t.equal(c.texts.length, 2);
  t.ok(Math.abs(a.texts.length - b.texts.length) <= 1, `${a.texts.length} and ${b.texts.length}`);
  t.same([...a.texts, ...b.texts, ...c.texts].sort(), names('m', 9));
});

t.test('Shared: one consumer without permits → the other gets everything', async (t) => {
  const world = await TopicWorld.open();
  const idle = await world.consumer({ flow: { kind: 'credit' } });
  const busy = await world.consumer({ flow: { kind: 'credit' } });
  await world.publish(...names('m', 10));
  busy.consumer.permit(10);
  await world.settle();
  t.same(busy.texts, names('m', 10));
  t.same(idle.texts, []);
});

t.test('Shared: priority levels → a higher number gets something only while no lower one has room', async (t) => {
  const world = await TopicWorld.open();
  const second = await world.consumer({ priorityLevel: 1 });
  const first = await world.consumer({ priorityLevel: 0, flow: { kind: 'window', size: 3 } });
  await world.publish(...names('m', 5));
  t.same(first.texts, ['m0', 'm1', 'm2']);
  t.same(second.texts, ['m3', 'm4']);
  first.ack('m0');
  await world.settle();
  await world.publish('x', 'y');
  t.same(first.texts.slice(3), ['x']);
  t.same(second.texts.slice(2), ['y']);
});

t.test('Shared: acked on another connection → frees the slot of its holder', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.consumer({ flow: { kind: 'window', size: 1 } });
  await world.publish('m0', 'm1');
  const b = await world.consumer({ flow: { kind: 'credit' } });
  b.consumer.acknowledge(a.positionOf('m0'));
  await world.settle();
  t.same(a.texts, ['m0', 'm1']);
  b.consumer.negativeAcknowledge(a.positionOf('m1'));
  t.equal(world.topic.stats().subscriptions.s!.consumers[0]!.unackedMessages, 0);
});

t.test('Shared: unacked limit of a consumer → it gets no more, the others do', async (t) => {
  const world = await TopicWorld.open({ unackedPerConsumerMax: 3 });
  const a = await world.consumer();
  await world.publish(...names('m', 5));
  t.equal(a.texts.length, 3);
  t.equal(world.topic.stats().subscriptions.s!.consumers[0]!.blockedConsumerOnUnackedMsgs, true);
  t.same(world.topic.explain('s'), [{ kind: 'consumer-unacked-limit', consumer: a.consumer.consumerName, heldCount: 3, unackedMax: 3 }]);
  const b = await world.consumer();
  t.same(b.texts, ['m3', 'm4']);
});

t.test('Shared: given back by one → goes to whoever has room', async (t) => {
  const world = await TopicWorld.open();
  const a = await world.consumer({ flow: { kind: 'window', size: 1 }, negativeAckDelayMs: 0 });
  await world.publish('m0');
  const b = await world.consumer({ flow: { kind: 'window', size: 1 } });
  await world.publish('m1');
  a.nack('m0');
  await world.settle();
  t.same([...a.texts.slice(1), ...b.texts.slice(1)], ['m0']);
  t.equal(a.counts.at(-1), 1);
});

t.test('Shared: consumers of equal room come and go → turns stay fair', async (t) => {
  const world = await TopicWorld.open();
  const all = [await world.consumer(), await world.consumer(), await world.consumer()];
  all[1]!.consumer.close();
  await world.publish(...names('m', 100));
  t.same([all[0]!.texts.length, all[2]!.texts.length], [50, 50]);
});
