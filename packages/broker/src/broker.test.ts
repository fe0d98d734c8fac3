import { Metrics } from '@daybook/runtime';
import t from 'tap';
import { ClusterWorld, topicName } from './ownership/testing/cluster-world.js';
import { names } from './subscription/testing/topic-world.js';

const orders = topicName('orders');

t.test('broker: first start → cluster, tenants and namespaces of a fresh Pulsar; a second broker changes nothing', async (t) => {
  const world = new ClusterWorld();
  const [a, b] = await Promise.all([world.broker('a:8080'), Promise.resolve()]).then(
    async ([first]) => [first, await world.broker('b:8080')] as const,
  );
  const { directory } = a.broker;
  t.same(await world.complete(directory.clusters()), ['standalone']);
  t.same(await world.complete(directory.tenants()), ['public', 'pulsar']);
  t.same(await world.complete(directory.namespaces('public')), ['public/default']);
  t.equal((await world.complete(directory.cluster('standalone')))?.serviceUrl, 'http://a:8080');
  t.same(await world.complete(b.broker.liveBrokers()), ['a:8080', 'b:8080']);
  await world.settle();
  t.equal(await world.complete(b.broker.leaderBroker()), 'a:8080');
  await world.complete(a.broker.close());
  await world.settle(1000);
  t.equal(await world.complete(b.broker.leaderBroker()), 'b:8080', 'when the leader goes the other one leads');
  t.ok(!a.broker.isReady && b.broker.isReady);
});

t.test('broker: publish, consume, acknowledge, unload → goes on where it was, in a new ledger', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  const topic = await world.complete(broker.topics.load(orders, { create: true }));
  const p = await world.producer(topic);
  const c = await world.consumer(topic);
  await world.publish(p, ...names('m', 10));
  await world.settle();
  t.same(c.texts, names('m', 10));
  c.ack(...names('m', 6));
  await world.complete(broker.topics.unload(orders));
  t.same([p.ended_, c.ended_], ['unloaded', 'unloaded']);
  t.same(broker.topics.loaded(), []);
  const again = await world.complete(broker.topics.load(orders, { create: false }));
  t.not(again, topic);
  const c2 = await world.consumer(again);
  const p2 = await world.producer(again);
  await world.publish(p2, 'm10');
  await world.settle();
  t.same(c2.texts, names('m', 5, 6));
  t.ok(p2.positions[0]!.ledgerId > p.positions[0]!.ledgerId);
  t.same(await world.complete(broker.topics.list('public/default')), ['persistent://public/default/orders']);
});

t.test('broker: load → one log however many ask at once; a missing one only when asked to create, in an existing namespace', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  await t.rejects(world.complete(broker.topics.load(orders, { create: false })), { code: 'TOPIC_NOT_FOUND' });
  const loads = [false, true, true, true].map((create) => broker.topics.load(orders, { create }));
  const results = await world.complete(Promise.allSettled(loads));
  const [first, ...others] = results.slice(1).map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  t.ok(first !== undefined && others.every((one) => one === first));
  await t.rejects(world.complete(broker.topics.load(topicName('public/none/x'), { create: true })), { code: 'TOPIC_NAMESPACE_NOT_FOUND' });
  await t.rejects(world.complete(broker.topics.load(topicName('non-persistent://public/default/x'), { create: true })), {
    code: 'TOPIC_UNSUPPORTED',
  });
  await t.rejects(world.complete(broker.topics.load(topicName('x-partition-0'), { create: true })), { code: 'TOPIC_UNSUPPORTED' });
  t.equal(await world.complete(broker.topics.exists(topicName('public/none/x'))), false);
  await t.rejects(world.complete(broker.topics.load(topicName('no/where/x'), { create: false })), { code: 'TOPIC_NOT_FOUND' });
  const { store } = world.brokers[0]!;
  t.same(await store.children('/namespace'), ['public'], 'questions about nothing leave no claims behind');
});

t.test('broker: create → once; of two at the same moment one is told that it exists', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  const results = await world.complete(Promise.allSettled([broker.topics.create(orders, new Map()), broker.topics.create(orders, new Map())]));
  t.same(results.map((one) => one.status).sort(), ['fulfilled', 'rejected']);
  await t.rejects(world.complete(broker.topics.create(orders, new Map())), { code: 'TOPIC_EXISTS' });
});

t.test('broker: delete → refused while in use; by force the sessions end and the name rests; explicitly it may be made at once', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  const topic = await world.complete(broker.topics.load(orders, { create: true }));
  const p = await world.producer(topic);
  const c = await world.consumer(topic);
  await world.publish(p, 'a');
  await t.rejects(world.complete(broker.topics.delete(orders, { force: false })), {
    code: 'TOPIC_IN_USE',
    message: 'Topic has 2 connected producers/consumers',
  });
  await world.publish(p, 'b');
  t.equal(p.failedCount, 0);
  const deleting = broker.topics.delete(orders, { force: true });
  await world.queue.run({ until: () => c.ended_ !== undefined });
  const coming = broker.topics.load(orders, { create: true });
  coming.catch(() => {});
  await world.complete(deleting);
  t.same([p.ended_, c.ended_], ['topic-deleted', 'topic-deleted']);
  await t.rejects(world.complete(coming), { code: 'TOPIC_RECENTLY_DELETED' }, 'a client that comes back at once');
  t.same(await world.complete(broker.topics.list('public/default')), []);
  await t.rejects(world.complete(broker.topics.delete(orders, { force: true })), { code: 'TOPIC_NOT_FOUND' });
  await world.settle(4000);
  await t.rejects(world.complete(broker.topics.load(orders, { create: true })), { code: 'TOPIC_RECENTLY_DELETED' });
  await world.settle(2000);
  const fresh = await world.complete(broker.topics.load(orders, { create: true }));
  t.equal(fresh.stats().msgInCounter, 0);
});

t.test('broker: delete without sessions → the next client makes it anew at once, in a ledger never used before', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  const ledgers = new Set<number>();
  for (let round = 0; round < 5; round++) {
    const topic = await world.complete(broker.topics.load(orders, { create: true }));
    const p = await world.producer(topic);
    await world.publish(p, `r${round}`);
    t.equal(p.positions[0]!.entryId, 0);
    ledgers.add(p.positions[0]!.ledgerId);
    p.producer.close();
    await world.complete(broker.topics.createSubscription(orders, 's', 'earliest').then(() => broker.topics.delete(orders, { force: false })));
    t.equal(await world.complete(broker.topics.exists(orders)), false);
  }
  t.equal(ledgers.size, 5);
});

t.test('broker: delete a topic that is not loaded → gone', async (t) => {
  const world = new ClusterWorld();
  const { broker } = await world.broker('a:8080');
  await world.complete(broker.topics.create(orders, new Map()));
  await world.complete(broker.topics.unload(orders));
  await world.complete(broker.topics.delete(orders, { force: false }));
  t.equal(await world.complete(broker.topics.exists(orders)), false);
});

t.test('two brokers: each topic has one owner, both agree, the other is told', async (t) => {
  const world = new ClusterWorld();
  const brokers = [await world.broker('a:8080'), await world.broker('b:8080')];
  const owners = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const name = topicName(`t${i}`);
    const [one, two] = await world.complete(Promise.all(brokers.map(({ broker }) => broker.owner(name))));
    t.equal(one!.brokerId, two!.brokerId);
    t.equal(one!.isSelf, !two!.isSelf);
    owners.add(one!.brokerId);
    const [owner, other] = one!.isSelf ? [brokers[0]!, brokers[1]!] : [brokers[1]!, brokers[0]!];
    await world.complete(owner.broker.topics.load(name, { create: true }));
    await t.rejects(world.complete(other.broker.topics.load(name, { create: true })), {
      code: 'TOPIC_OWNED_ELSEWHERE',
      message: `${name.full} is served by broker ${owner.broker.brokerId}`,
    });
  }
  t.equal(owners.size, 2, 'both have some');
});

t.test('two brokers: both claim at the same moment → one serves, the other learns who', async (t) => {
  const world = new ClusterWorld();
  const brokers = [await world.broker('a:8080'), await world.broker('b:8080')];
  const results = await world.complete(Promise.allSettled(brokers.map(({ broker }) => broker.topics.load(orders, { create: true }))));
  t.same(results.map((one) => one.status).sort(), ['fulfilled', 'rejected']);
  const loser = results.find((one) => one.status === 'rejected') as PromiseRejectedResult;
  t.equal(loser.reason.code, 'TOPIC_OWNED_ELSEWHERE');
});

t.test('two brokers: the owner is killed → the other has the topic within the session time-out, with every acknowledged message', async (t) => {
  const world = new ClusterWorld();
  const brokers = [await world.broker('a:8080'), await world.broker('b:8080')];
  const first = await world.complete(brokers[0]!.broker.owner(orders));
  const [owner, other] = first.isSelf ? [brokers[0]!, brokers[1]!] : [brokers[1]!, brokers[0]!];
  const p = await world.producer(await world.complete(owner.broker.topics.load(orders, { create: true })));
  await world.publish(p, ...names('m', 20));
  owner.crash();
  await t.rejects(world.complete(other.broker.topics.load(orders, { create: true })), { code: 'TOPIC_OWNED_ELSEWHERE' });
  await world.settle(10_100);
  t.same(await world.complete(other.broker.owner(orders)), { brokerId: other.broker.brokerId, isSelf: true });
  t.same(await world.complete(other.broker.liveBrokers()), [other.broker.brokerId]);
  const c = await world.consumer(await world.complete(other.broker.topics.load(orders, { create: true })));
  await world.settle();
  t.same(c.texts, names('m', 20));
});

t.test('two brokers: the owner loses its session → stops at once, its sessions are told, the other takes over, both can go on', async (t) => {
  const world = new ClusterWorld();
  const brokers = [await world.broker('a:8080'), await world.broker('b:8080')];
  const first = await world.complete(brokers[0]!.broker.owner(orders));
  const [owner, other] = first.isSelf ? [brokers[0]!, brokers[1]!] : [brokers[1]!, brokers[0]!];
  const topic = await world.complete(owner.broker.topics.load(orders, { create: true }));
  const p = await world.producer(topic);
  const c = await world.consumer(topic);
  await world.publish(p, 'a');
  p.producer.publish(Buffer.from('under way'));
  owner.store.expire();
  t.same([p.ended_, c.ended_], ['unloaded', 'unloaded'], 'in the same turn');
  t.equal(p.positions.length + p.failedCount, 2, 'every publish was answered before');
  t.same(owner.broker.topics.loaded(), []);
  const taken = await world.complete(other.broker.topics.load(orders, { create: true }));
  const p2 = await world.producer(taken);
  await world.publish(p2, 'b');
  const c2 = await world.consumer(taken);
  await world.settle();
  t.same(
    c2.texts.filter((text) => text !== 'under way'),
    ['a', 'b'],
  );
  t.ok(owner.broker.isReady, 'it joined again');
  t.same(await world.complete(other.broker.liveBrokers()), ['a:8080', 'b:8080']);
  t.same(await world.complete(owner.broker.owner(orders)), { brokerId: other.broker.brokerId, isSelf: false });
});

t.test('two brokers: the log is taken over by force → fencing closes the topic of the loser, which says so', async (t) => {
  const world = new ClusterWorld();
  const a = await world.broker('a:8080');
  const topic = await world.complete(a.broker.topics.load(orders, { create: true }));
  await world.complete(topic.createSubscription('s', 'earliest'));
  const p = await world.producer(topic);
  await world.publish(p, 'a');
  // Cut off: the tree has dropped its keys, but it does not know yet.
  a.store.suspend();
  await world.settle(10_100);
  const b = await world.broker('b:8080');
  const taken = await world.complete(b.broker.topics.load(orders, { create: true }));
  p.producer.publish(Buffer.from('too late'));
  await world.settle(35_000);
  t.equal(p.positions.length, 1, 'nothing is acknowledged by the loser');
  t.equal(p.failedCount, 1);
  a.store.resume();
  t.equal(p.ended_, 'unloaded');
  const c = await world.consumer(taken);
  await world.settle();
  t.same(c.texts, ['a']);
});

t.test('two brokers: the topics of a bundle are unloaded → its key is free for others', async (t) => {
  const world = new ClusterWorld();
  const a = await world.broker('a:8080');
  await world.complete(a.broker.topics.load(orders, { create: true }));
  const path = `/namespace/public/default/${a.broker.bundleOf(orders)}`;
  t.ok(await a.store.get(path));
  await world.complete(a.broker.topics.unload(orders));
  t.equal(await a.store.get(path), undefined);
  const b = await world.broker('b:8080');
  await world.complete(b.broker.topics.load(orders, { create: true }));
  t.same(await world.complete(a.broker.owner(orders)), { brokerId: 'b:8080', isSelf: false });
});

t.test('broker: restarted under its name before its old session timed out → serves its topics again at once', async (t) => {
  const world = new ClusterWorld();
  const first = await world.broker('a:8080');
  const p = await world.producer(await world.complete(first.broker.topics.load(orders, { create: true })));
  await world.publish(p, 'a');
  first.crash();
  const again = await world.broker('a:8080');
  const topic = await world.complete(again.broker.topics.load(orders, { create: true }));
  const c = await world.consumer(topic);
  await world.settle();
  t.same(c.texts, ['a']);
  await world.settle(20_000);
  t.ok(again.broker.topics.loaded().length === 1, 'the end of the old session takes nothing from it');
});

t.test('broker: health → ok through the whole path, shared by those who ask at once; an error in time when no bookie answers', async (t) => {
  const world = new ClusterWorld();
  const a = await world.broker('a:8080');
  await world.complete(Promise.all([a.broker.checkHealth(), a.broker.checkHealth(), a.broker.checkHealth()]));
  const [topic] = a.broker.topics.loaded();
  t.equal(topic!.name.full, 'persistent://pulsar/a:8080/healthcheck');
  t.equal(topic!.stats().msgInCounter, 1);
  await world.complete(a.broker.checkHealth());
  t.equal(topic!.connectionsCount, 0);
  t.same(topic!.subscriptionNames, []);
  t.same(await world.complete(a.broker.topics.list('public/default')), []);
  a.store.suspend();
  t.notOk(a.broker.isReady);
});

t.test('two brokers: the racks of bookies are set at one → the other one reads them', async (t) => {
  const world = new ClusterWorld();
  const a = await world.broker('a:8080');
  const b = await world.broker('b:8080');
  await world.complete(a.broker.racks.update(() => ({ default: { 'b1:3181': { rack: '/eu/1', hostname: '' } } })));
  t.same(await world.complete(b.broker.racks.read()), { default: { 'b1:3181': { rack: '/eu/1', hostname: '' } } });
});

t.test('broker: metrics → what is served right now, computed when asked', async (t) => {
  const world = new ClusterWorld();
  const metrics = new Metrics();
  const { broker } = await world.broker('a:8080', {}, metrics);
  const topic = await world.complete(broker.topics.load(orders, { create: true }));
  await world.complete(topic.createSubscription('s', 'earliest'));
  const p = await world.producer(topic);
  await world.publish(p, 'a', 'b');
  const text = await metrics.text();
  for (const line of ['daybook_topics 1', 'daybook_topic_connections{kind="producer"} 1', 'daybook_backlog_messages 2']) {
    t.ok(text.includes(line), line);
  }
});

t.test('broker: close → sessions are told, keys and registration go, a second close waits for the first', async (t) => {
  const world = new ClusterWorld();
  const a = await world.broker('a:8080');
  const b = await world.broker('b:8080');
  const owner = (await world.complete(a.broker.owner(orders))).isSelf ? a : b;
  const other = owner === a ? b : a;
  const p = await world.producer(await world.complete(owner.broker.topics.load(orders, { create: true })));
  await world.complete(Promise.all([owner.broker.close(), owner.broker.close()]));
  t.equal(p.ended_, 'unloaded');
  t.same(await world.complete(other.broker.liveBrokers()), [other.broker.brokerId]);
  await world.complete(other.broker.topics.load(orders, { create: true }));
  t.notOk(owner.broker.isReady);
});
