import t from 'tap';
import type { SubscriptionType } from '../topic/topic-api.js';
import { names, TopicWorld } from './testing/topic-world.js';

/** What every dispatcher has to do, whatever its type: run it from the test of each. Messages go through the whole subscription. */
export function dispatcherConformance(type: SubscriptionType): void {
  const open = (limits = {}) => TopicWorld.open(limits);
  const s = type;

  t.test(`${s}: window → that many outstanding, one more for each acknowledged`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, flow: { kind: 'window', size: 3 } });
    await world.publish(...names('m', 10));
    t.same(c.texts, ['m0', 'm1', 'm2']);
    c.ack('m1');
    await world.settle();
    t.same(c.texts.slice(3), ['m3']);
    c.ack('m0', 'm2');
    await world.settle();
    t.same(c.texts.slice(4), ['m4', 'm5']);
    c.nack('m4');
    await world.settle();
    t.same(c.texts.slice(6), ['m6'], 'a negative ack frees its slot at once');
    await world.advance(1000);
    t.equal(c.texts.length, 7);
  });

  t.test(`${s}: repeated, unknown and foreign acks → free nothing`, async (t) => {
    const world = await open();
    const [first] = await world.publish(...names('m', 5));
    const c = await world.consumer({ type, flow: { kind: 'window', size: 1 } });
    t.same(c.texts, ['m0']);
    for (let i = 0; i < 3; i++) c.consumer.acknowledge(first!);
    c.consumer.acknowledge({ ledgerId: 9_007_199_254_740_991 as never, entryId: 0 as never });
    c.consumer.acknowledge({ ledgerId: first!.ledgerId, entryId: 1_000_000_000 as never });
    await world.settle();
    t.same(c.texts, ['m0', 'm1']);
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 4);
    t.equal(world.topic.stats().subscriptions.s!.unackedMessages, 1);
  });

  t.test(`${s}: credit → nothing but permits brings messages, and they are kept for messages to come`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, flow: { kind: 'credit' } });
    await world.publish(...names('m', 10));
    t.same(c.texts, []);
    t.equal(world.log.reads.length, 0, 'nothing is read ahead');
    c.consumer.permit(2);
    await world.settle();
    t.same(c.take(), ['m0', 'm1']);
    c.consumer.acknowledge({ ledgerId: 1 as never, entryId: 0 as never });
    c.consumer.acknowledge({ ledgerId: 1 as never, entryId: 1 as never });
    c.consumer.permit(0);
    await world.settle();
    t.same(c.texts, [], 'neither acks nor a permit of 0');
    c.consumer.permit(3);
    c.consumer.permit(7);
    await world.settle();
    t.same(c.take(), names('m', 8, 2));
    await world.publish('later', 'latest');
    t.same(c.texts, ['later', 'latest']);
    await world.publish('none');
    t.same(c.texts, ['later', 'latest']);
  });

  t.test(`${s}: negative ack → again with count 1, not before its delay and at most two ticks after`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, negativeAckDelayMs: 333 });
    await world.publish('a', 'b');
    await world.advance(7.5);
    c.nack('a');
    const nackedMs = world.queue.nowMs;
    c.nack('a');
    await world.advance(332.5);
    t.same(c.texts, ['a', 'b'], 'not before');
    await world.advance(100);
    t.same(c.texts, ['a', 'b', 'a']);
    t.same(c.counts, [0, 0, 1]);
    t.ok(c.atMs[2]! - nackedMs >= 333 && c.atMs[2]! - nackedMs <= 333 + 40, `after ${c.atMs[2]! - nackedMs} ms`);
    c.ack('a');
    c.nack('a');
    await world.advance(1000);
    t.equal(c.texts.length, 3, 'what is acknowledged is not given back');
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 1);
  });

  t.test(`${s}: an ack while a message waits → it never comes, and no timer is left`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, negativeAckDelayMs: 500 });
    await world.publish('a');
    c.nack('a');
    t.equal(world.topic.stats().subscriptions.s!.unackedMessages, 1);
    c.ack('a');
    t.equal(world.topic.stats().subscriptions.s!.unackedMessages, 0);
    await world.advance(2000);
    t.same(c.texts, ['a']);
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 0);
  });

  t.test(`${s}: ack timeout → frees the slots, again with count + 1, in order, first`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, ackTimeoutMs: 1000, flow: { kind: 'window', size: 2 } });
    await world.publish(...names('m', 4));
    t.same(c.texts, ['m0', 'm1']);
    await world.advance(999);
    t.same(c.texts, ['m0', 'm1']);
    await world.advance(5);
    t.same(c.texts, ['m0', 'm1', 'm0', 'm1']);
    t.same(c.counts, [0, 0, 1, 1]);
    c.ack('m0');
    await world.settle();
    t.same(c.texts.slice(4), ['m2']);
    await world.advance(990);
    t.equal(c.texts.length, 5);
    await world.advance(8);
    t.same(c.texts.slice(5), ['m1'], 'm2 came later and has its own timeout');
    t.equal(c.counts[5], 2);
    c.ack('m1', 'm2');
    await world.settle();
    c.ack('m3');
    await world.advance(3000);
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 0);
    t.equal(c.texts.length, 7);
  });

  t.test(`${s}: a consumer closes → what it held comes at once, in order, first, with count 1`, async (t) => {
    const world = await open();
    const c1 = await world.consumer({ type, flow: { kind: 'window', size: 5 } });
    await world.publish(...names('m', 8));
    c1.ack('m0');
    await world.settle();
    t.same(c1.texts, names('m', 6));
    c1.ack('m3');
    c1.consumer.close();
    c1.consumer.close();
    const c2 = await world.consumer({ type });
    t.same(c2.texts, ['m1', 'm2', 'm4', 'm5', 'm6', 'm7']);
    t.same(c2.counts.slice(0, 3), [1, 1, 1]);
    t.same(c2.counts.slice(-2), [0, 0]);
    t.equal(world.topic.stats().subscriptions.s!.unackedMessages, 6);
    c1.consumer.acknowledge(c2.positionOf('m1'));
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 6, 'a closed one has no say');
  });

  t.test(`${s}: a consumer that keeps dying → the count rises each time`, async (t) => {
    const world = await open();
    await world.publish('poison');
    for (let round = 0; round < 4; round++) {
      const c = await world.consumer({ type });
      t.same(c.counts, [round]);
      c.consumer.close();
    }
  });

  t.test(`${s}: a session that is not writable → nothing, until it says so`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type });
    c.isWritable = false;
    await world.publish('a');
    t.same(c.texts, []);
    t.same(
      world.topic.explain('s').map((one) => one.kind),
      ['not-reading'],
    );
    c.isWritable = true;
    c.consumer.writable();
    await world.settle();
    t.same(c.texts, ['a']);
  });

  t.test(`${s}: unacked limit of the subscription → no new messages above it, acks go on at once`, async (t) => {
    const world = await open({ unackedPerSubscriptionMax: 5 });
    const c = await world.consumer({ type, negativeAckDelayMs: 1000 });
    await world.publish(...names('m', 10));
    t.same(c.texts, names('m', 5));
    c.nack('m0', 'm1');
    await world.settle();
    t.equal(c.texts.length, 5, 'what waits for redelivery counts');
    t.equal(world.topic.stats().subscriptions.s!.blockedSubscriptionOnUnackedMsgs, true);
    t.ok(world.topic.explain('s').some((one) => one.kind === 'subscription-unacked-limit'));
    c.ack('m2');
    await world.settle();
    t.same(c.texts.slice(5), ['m5']);
    await world.advance(1100);
    t.same(c.texts.slice(6), ['m0', 'm1']);
    t.equal(world.topic.stats().subscriptions.s!.blockedSubscriptionOnUnackedMsgs, true);
  });

  t.test(`${s}: a backlog → in order, in reads that grow, one deliver call per read`, async (t) => {
    const world = await open();
    await world.publish(...names('m', 5000));
    const c = await world.consumer({ type, flow: { kind: 'credit' } });
    c.consumer.permit(5000);
    await world.settle();
    t.same(c.texts, names('m', 5000));
    t.ok(c.batches.length < 15, `${c.batches.length} deliver calls`);
    t.equal(Math.max(...world.log.reads.map((read) => read.entriesMax)), 1000);
  });

  t.test(`${s}: a read that brings more than there is room for → what is over is read again, nothing is lost or doubled`, async (t) => {
    const world = await open();
    await world.publish(...names('m', 20));
    const c = await world.consumer({ type, flow: { kind: 'credit' } });
    c.consumer.permit(10);
    await world.queue.run({ until: () => world.log.reads.length === 1 });
    // While the read is under way the session stops taking anything.
    c.isWritable = false;
    await world.settle();
    t.same(c.texts, []);
    c.isWritable = true;
    c.consumer.writable();
    await world.settle();
    t.same(c.texts, names('m', 10));
  });

  t.test(`${s}: reads fail → tried again with growing pauses, explained, and then it goes on`, async (t) => {
    const world = await open();
    await world.publish('a');
    world.log.readError = new Error('no bookie answers');
    const c = await world.consumer({ type });
    await world.advance(650);
    t.equal(world.log.reads.length, 3, 'at 0, 100 and 300 ms');
    t.same(world.topic.explain('s')[0], { kind: 'storage', detail: 'no bookie answers' });
    world.log.readError = undefined;
    await world.advance(100);
    t.same(c.texts, ['a']);
    t.same(
      world.topic.explain('s').map((one) => one.kind),
      ['all-delivered'],
    );
  });

  t.test(`${s}: an ack of what was never delivered here → it never comes`, async (t) => {
    const world = await open();
    const positions = await world.publish(...names('m', 5));
    const c = await world.consumer({ type, flow: { kind: 'window', size: 1 } });
    c.consumer.acknowledge(positions[3]!);
    await world.settle();
    t.same(c.texts, ['m0'], 'no slot freed');
    for (const text of ['m0', 'm1', 'm2', 'm4']) {
      c.ack(text);
      await world.settle();
    }
    t.same(c.texts, ['m0', 'm1', 'm2', 'm4']);
    t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 0);
  });

  t.test(`${s}: a session that acks and closes from inside deliver → the books stay right`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, flow: { kind: 'window', size: 2 } });
    c.onDeliver = (deliveries) => {
      for (const { entry } of deliveries) c.consumer.acknowledge(entry.position);
      if (c.texts.includes('m5')) c.consumer.close();
    };
    await world.publish(...names('m', 10));
    t.ok(c.texts.length >= 6);
    const c2 = await world.consumer({ type });
    t.same([...c.texts, ...c2.texts], names('m', 10));
  });

  t.test(`${s}: idle → no timer, no event`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type, ackTimeoutMs: 1000 });
    await world.publish('a');
    c.ack('a');
    await world.advance(5000);
    t.equal(world.queue.pendingCount, 0);
  });

  t.test(`${s}: given back while nobody is connected → due at its time all the same, never early`, async (t) => {
    const world = await open();
    const c1 = await world.consumer({ type, negativeAckDelayMs: 1000 });
    await world.publish('a');
    c1.nack('a');
    c1.consumer.close();
    t.equal(world.topic.stats().subscriptions.s!.unackedMessages, 0, 'nobody holds it');
    const c2 = await world.consumer({ type });
    await world.advance(900);
    t.same(c2.texts, []);
    await world.advance(150);
    t.same(c2.texts, ['a']);
  });

  t.test(`${s}: across ledgers, also an empty one → nothing holds it up`, async (t) => {
    const world = await open();
    const c = await world.consumer({ type });
    await world.publish('a');
    await world.log.roll();
    await world.log.roll();
    await world.publish('b');
    t.same(c.texts, ['a', 'b']);
  });
}
