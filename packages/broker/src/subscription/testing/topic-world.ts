import type { Position, TopicName } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import { PersistentTopic, type TopicHost } from '../../topic/persistent-topic.js';
import { MemoryLogs, type MemoryManagedLedger, MemoryManagedLedgers } from '../../topic/testing/memory-managed-ledger.js';
import type { ConsumerSession, Delivery, EndReason, ProducerSession, SubscribeOptions, TopicConsumer, TopicProducer } from '../../topic/topic-api.js';
import type { DispatchLimits } from '../subscription.js';

export const testLimits: DispatchLimits = {
  unackedPerConsumerMax: 50_000,
  unackedPerSubscriptionMax: 200_000,
  readEntriesMax: 100,
  readBytesMax: 5 * 1024 * 1024,
};

export function testTopicName(local = 't'): TopicName {
  return {
    domain: 'persistent',
    tenant: 'public',
    namespace: 'default',
    local,
    partition: undefined,
    full: `persistent://public/default/${local}`,
    namespaceName: 'public/default',
  };
}

/** A session that keeps what it gets, as a client would see it. */
export class TestConsumer implements ConsumerSession {
  isWritable = true;
  ended_: EndReason | undefined;
  readonly deliveries: Delivery[] = [];
  /** How many came with each call. */
  readonly batches: number[] = [];
  /** When each came. */
  readonly atMs: number[] = [];
  consumer!: TopicConsumer;
  onDeliver: (deliveries: readonly Delivery[]) => void = () => {};
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  deliver(deliveries: readonly Delivery[]): void {
    this.batches.push(deliveries.length);
    this.deliveries.push(...deliveries);
    for (const _ of deliveries) this.atMs.push(this.#nowMs());
    this.onDeliver(deliveries);
  }

  ended(reason: EndReason): void {
    this.ended_ = reason;
  }

  get texts(): string[] {
    return this.deliveries.map(({ entry }) => entry.payload.toString());
  }

  get counts(): number[] {
    return this.deliveries.map(({ redeliveryCount }) => redeliveryCount);
  }

  /** Removes and returns what has come so far. */
  take(): string[] {
    const texts = this.texts;
    this.deliveries.length = 0;
    this.batches.length = 0;
    this.atMs.length = 0;
    return texts;
  }

  positionOf(text: string): Position {
    const found = this.deliveries.findLast(({ entry }) => entry.payload.toString() === text);
    if (found === undefined) throw new Error(`${text} was not delivered: ${this.texts.join(' ')}`);
    return found.entry.position;
  }

  ack(...texts: string[]): void {
    for (const text of texts) this.consumer.acknowledge(this.positionOf(text));
  }

  nack(...texts: string[]): void {
    for (const text of texts) this.consumer.negativeAcknowledge(this.positionOf(text));
  }
}

export class TestProducer implements ProducerSession {
  readonly positions: Position[] = [];
  failedCount = 0;
  ended_: EndReason | undefined;
  producer!: TopicProducer;

  published(first: Position, count: number): void {
    for (let i = 0; i < count; i++) this.positions.push({ ledgerId: first.ledgerId, entryId: (first.entryId + i) as Position['entryId'] });
  }

  publishFailed(count: number): void {
    this.failedCount += count;
  }

  ended(reason: EndReason): void {
    this.ended_ = reason;
  }
}

/** One topic over a log in memory, on simulated time. */
export class TopicWorld {
  readonly queue: EventQueue;
  readonly clock: SimClock;
  readonly random: SimRandom;
  readonly logs = new MemoryLogs();
  readonly ledgers: MemoryManagedLedgers;
  readonly limits: DispatchLimits;
  topic!: PersistentTopic;
  log!: MemoryManagedLedger;
  lost: Error | undefined;
  #names = 0;

  private constructor(limits: Partial<DispatchLimits>, seed: number) {
    this.queue = new EventQueue({ seed });
    this.clock = new SimClock(this.queue);
    this.random = new SimRandom(seed);
    this.ledgers = new MemoryManagedLedgers(this.logs, this.clock);
    this.limits = { ...testLimits, ...limits };
  }

  static async open(limits: Partial<DispatchLimits> = {}, seed = 1): Promise<TopicWorld> {
    const world = new TopicWorld(limits, seed);
    await world.load();
    return world;
  }

  /** Opens the topic (again). */
  async load(): Promise<void> {
    this.log = await this.complete(this.ledgers.open('public/default/persistent/t'));
    const host: TopicHost = {
      brokerId: 'broker:8080',
      clock: this.clock,
      random: this.random,
      limits: this.limits,
      makeProducerName: () => `made-${this.#names++}`,
      lost: (_, error) => {
        this.lost = error;
      },
    };
    this.topic = new PersistentTopic(host, testTopicName(), this.log);
  }

  /** Runs time until the promise is settled. */
  async complete<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const settled = promise.then(
      () => {
        isDone = true;
      },
      () => {
        isDone = true;
      },
    );
    // What is settled already needs no event.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    if (!isDone) await this.queue.run({ until: () => isDone });
    await settled;
    return promise;
  }

  /** Lets happen what is due now; no time passes. */
  async settle(): Promise<void> {
    await this.queue.run({ untilMs: this.queue.nowMs });
  }

  async advance(ms: number): Promise<void> {
    await this.queue.run({ untilMs: this.queue.nowMs + ms });
  }

  async producer(producerName?: string): Promise<TestProducer> {
    const session = new TestProducer();
    session.producer = await this.complete(
      this.topic.addProducer({ producerName, initialSequenceId: undefined, remoteAddress: '/127.0.0.1:1' }, session),
    );
    return session;
  }

  /** Publishes texts and waits until they are stored. */
  async publish(...texts: string[]): Promise<Position[]> {
    const session = await this.producer();
    for (const text of texts) session.producer.publish(Buffer.from(text));
    await this.queue.run({ until: () => session.positions.length + session.failedCount === texts.length });
    session.producer.close();
    await this.settle();
    return session.positions;
  }

  async consumer(options: Partial<SubscribeOptions> = {}): Promise<TestConsumer> {
    const session = new TestConsumer(() => this.queue.nowMs);
    session.consumer = await this.complete(
      this.topic.subscribe(
        {
          subscription: 's',
          type: 'Shared',
          isDurable: true,
          initial: 'earliest',
          consumerName: undefined,
          priorityLevel: 0,
          negativeAckDelayMs: 60_000,
          ackTimeoutMs: 0,
          flow: { kind: 'window', size: 1000 },
          remoteAddress: '/127.0.0.1:1',
          ...options,
        },
        session,
      ),
    );
    await this.settle();
    return session;
  }
}

export function names(prefix: string, count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${from + i}`);
}
