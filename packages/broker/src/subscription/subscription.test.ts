import { comparePositions } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import type { SubscriptionType } from '../topic/topic-api.js';
import { names, type TestConsumer, TopicWorld } from './testing/topic-world.js';

type Step =
  | { do: 'publish'; count: number }
  | { do: 'connect'; windowSize: number; permits: number; ackTimeoutMs: number }
  | { do: 'ack' | 'nack' | 'ack-twice'; consumer: number; message: number }
  | { do: 'permit'; consumer: number; count: number }
  | { do: 'close'; consumer: number }
  | { do: 'stall'; consumer: number }
  | { do: 'pass'; ms: number }
  | { do: 'reload' };

const index = fc.nat(1000);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 12 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('connect' as const),
      windowSize: fc.integer({ min: 0, max: 5 }),
      permits: fc.nat(8),
      ackTimeoutMs: fc.constantFrom(0, 0, 0, 150),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constantFrom('ack' as const, 'nack' as const, 'ack-twice' as const), consumer: index, message: index }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('permit' as const), consumer: index, count: fc.integer({ min: 0, max: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('close' as const), consumer: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stall' as const), consumer: index }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 200 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reload' as const) }) },
);

/** What clients may rely on, kept from outside: it knows only what was published, delivered and said. */
class Model {
  readonly world: TopicWorld;
  readonly type: SubscriptionType;
  readonly published: string[] = [];
  readonly acked = new Set<string>();
  readonly delivered = new Set<string>();
  readonly live: { c: TestConsumer; held: Map<string, number>; size: number; permitted: number; got: number; ackTimeoutMs: number }[] = [];
  readonly problems: string[] = [];

  constructor(world: TopicWorld, type: SubscriptionType) {
    this.world = world;
    this.type = type;
  }

  async run(one: Step): Promise<void> {
    switch (one.do) {
      case 'publish': {
        const texts = names('m', one.count, this.published.length);
        this.published.push(...texts);
        await this.world.publish(...texts);
        return;
      }
      case 'connect':
        if (this.type === 'Exclusive' && this.live.length > 0) return;
        await this.connect(one.windowSize, one.permits, one.ackTimeoutMs);
        return;
      case 'permit':
        this.with(one.consumer, (entry) => {
          if (entry.size > 0) return;
          entry.permitted += one.count;
          entry.c.consumer.permit(one.count);
        });
        break;
      case 'close':
        this.with(one.consumer, (entry) => {
          this.live.splice(this.live.indexOf(entry), 1);
          entry.c.consumer.close();
        });
        break;
      case 'stall':
        this.with(one.consumer, (entry) => {
          entry.c.isWritable = !entry.c.isWritable;
          entry.c.consumer.writable();
        });
        break;
      case 'pass':
        await this.world.advance(one.ms);
        return;
      case 'reload':
        await this.world.complete(this.world.topic.close('unloaded'));
        await this.world.complete(this.world.log.close());
        this.live.length = 0;
        await this.world.load();
        return;
      case 'ack':
      case 'ack-twice':
      case 'nack':
        this.with(one.consumer, (entry) => {
          const held = [...entry.held.keys()];
          const text = held[one.message % held.length];
          if (text === undefined) return;
          entry.held.delete(text);
          if (one.do === 'nack') entry.c.nack(text);
          else {
            this.acked.add(text);
            entry.c.ack(text);
            if (one.do === 'ack-twice') entry.c.ack(text);
          }
        });
        break;
    }
    await this.world.settle();
  }

  async connect(size: number, permits: number, ackTimeoutMs: number): Promise<(typeof this.live)[number]> {
    const flow = size > 0 ? ({ kind: 'window', size } as const) : ({ kind: 'credit' } as const);
    const c = await this.world.consumer({ type: this.type, flow, negativeAckDelayMs: 100, ackTimeoutMs });
    const entry = { c, held: new Map<string, number>(), size, permitted: 0, got: 0, ackTimeoutMs };
    const take = (texts: readonly string[]) => {
      for (const text of texts) this.received(entry, text);
    };
    // What came while it connected.
    this.live.push(entry);
    take(c.texts);
    c.onDeliver = (deliveries) => take(deliveries.map(({ entry: { payload } }) => payload.toString()));
    if (size === 0) {
      entry.permitted = permits;
      c.consumer.permit(permits);
    }
    await this.world.settle();
    return entry;
  }

  received(entry: (typeof this.live)[number], text: string): void {
    this.delivered.add(text);
    entry.got++;
    this.forgetTimedOut();
    if (this.acked.has(text)) this.problems.push(`${text} came after it was acknowledged`);
    for (const other of this.live) if (other.held.has(text)) this.problems.push(`${text} has two holders`);
    entry.held.set(text, this.world.queue.nowMs);
    if (entry.size > 0 && entry.held.size > entry.size) this.problems.push(`${entry.held.size} outstanding in a window of ${entry.size}`);
    if (entry.size === 0 && entry.got > entry.permitted) this.problems.push(`${entry.got} came for ${entry.permitted} permits`);
  }

  /** After its ack timeout a consumer no longer holds a message. */
  forgetTimedOut(): void {
    for (const { held, ackTimeoutMs } of this.live) {
      if (ackTimeoutMs === 0) continue;
      for (const [text, sinceMs] of held) if (this.world.queue.nowMs >= sinceMs + ackTimeoutMs) held.delete(text);
    }
  }

  with(number: number, act: (entry: (typeof this.live)[number]) => void): void {
    this.forgetTimedOut();
    const entry = this.live[number % this.live.length];
    if (entry !== undefined) act(entry);
  }

  /** Everything not acknowledged must still come, to somebody who acknowledges it. */
  async finish(): Promise<void> {
    for (const { c } of this.live.splice(0)) c.consumer.close();
    const { c } = await this.connect(1000, 0, 0);
    await this.world.advance(500);
    for (const text of new Set(c.texts)) {
      this.acked.add(text);
      c.ack(text);
    }
    await this.world.advance(500);
    const missing = this.published.filter((text) => !this.acked.has(text));
    if (missing.length > 0) this.problems.push(`never came: ${missing.join(' ')}`);
    const stats = this.world.topic.stats().subscriptions.s!;
    if (stats.msgBacklog !== 0 || stats.unackedMessages !== 0) this.problems.push(`left: ${stats.msgBacklog} ${stats.unackedMessages}`);
    if (this.world.queue.pendingCount !== 0) this.problems.push('a timer is left');
  }
}

for (const type of ['Shared', 'Exclusive'] as const) {
  t.test(`subscription, ${type}: any sequence of calls → each message until acknowledged, one holder, no more than asked for`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), fc.integer(), async (steps, seed) => {
        const world = await TopicWorld.open({ readEntriesMax: 4 }, seed);
        await world.complete(world.topic.createSubscription('s', 'earliest'));
        const model = new Model(world, type);
        for (const one of steps) await model.run(one);
        await model.finish();
        if (model.problems.length > 0) throw new Error(model.problems.join('\n'));
      }),
      { numRuns: 150 },
    );
    t.pass();
  });
}

t.test('subscription, Exclusive: without negative acks → strictly in order, whatever the window', async (t) => {
  const world = await TopicWorld.open({ readEntriesMax: 3 });
  const c = await world.consumer({ type: 'Exclusive', flow: { kind: 'window', size: 1 } });
  c.onDeliver = (deliveries) => {
    for (const { entry } of deliveries) c.consumer.acknowledge(entry.position);
  };
  await world.publish(...names('m', 200));
  await world.settle();
  t.same(c.texts, names('m', 200));
  t.ok(c.batches.every((size) => size === 1));
});

t.test('subscription: earliest, latest, from a position → where it begins; only when it is new', async (t) => {
  const world = await TopicWorld.open();
  const positions = await world.publish(...names('m', 5));
  const from = async (subscription: string, initial: Parameters<typeof world.consumer>[0]) => {
    const c = await world.consumer({ ...initial, subscription });
    return c.texts;
  };
  t.same(await from('a', { initial: 'earliest' }), names('m', 5));
  t.same(await from('b', { initial: 'latest' }), []);
  t.same(await from('c', { initial: { position: positions[2]!, isInclusive: true } }), ['m2', 'm3', 'm4']);
  t.same(await from('d', { initial: { position: positions[2]!, isInclusive: false } }), ['m3', 'm4']);
  t.same(await from('e', { initial: { position: positions[0]!, isInclusive: true } }), names('m', 5));
  t.same(await from('f', { initial: { position: { ledgerId: 9e15 as never, entryId: 0 as never }, isInclusive: true } }), []);
  t.same(await from('g', { initial: { position: { ledgerId: 0 as never, entryId: 7 as never }, isInclusive: false } }), names('m', 5));
  t.ok(comparePositions(world.topic.lastPosition, positions[4]!) === 0);
});

t.test('subscription: 60,000 messages of backlog, an ack each → nothing quadratic', async (t) => {
  const world = await TopicWorld.open();
  const producer = await world.producer();
  for (let i = 0; i < 60_000; i++) producer.producer.publish(Buffer.from('x'));
  await world.settle();
  const c = await world.consumer({ ackTimeoutMs: 600_000 });
  c.onDeliver = (deliveries) => {
    for (const { entry } of deliveries) c.consumer.acknowledge(entry.position);
  };
  const began = process.hrtime.bigint();
  // The first window came before the handler was there.
  for (const { entry } of [...c.deliveries]) c.consumer.acknowledge(entry.position);
  await world.settle();
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  t.equal(c.deliveries.length, 60_000);
  t.equal(world.topic.stats().subscriptions.s!.msgBacklog, 0);
  t.comment(`${Math.round(60_000 / (ms / 1000))} messages/s through dispatch, acknowledgements and the log in memory`);
  t.ok(ms < 10_000, `${ms} ms`);
});
