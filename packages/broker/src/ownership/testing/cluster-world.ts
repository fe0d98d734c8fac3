import { type ClusterClient, MemoryCluster } from '@daybook/ledger/testing';
import { type MemoryStore, MemoryTree } from '@daybook/metadata';
import { parseTopicName, type TopicName } from '@daybook/proto';
import { type Metrics, silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import { type Broker, openBroker } from '../../broker.js';
import { type BrokerConfig, brokerConfigSchema } from '../../config.js';
import { TestConsumer, TestProducer } from '../../subscription/testing/topic-world.js';
import type { SubscribeOptions, Topic } from '../../topic/topic-api.js';

export interface TestBroker {
  readonly broker: Broker;
  readonly store: MemoryStore;
  readonly cluster: ClusterClient;
  readonly clock: SimClock;
  /** kill -9: nothing of it happens any more; its session times out by itself. */
  crash(): void;
}

/** Brokers over real managed ledgers, with bookies and metadata in memory, on simulated time. */
export class ClusterWorld {
  readonly queue: EventQueue;
  readonly tree = new MemoryTree();
  readonly bookies: MemoryCluster;
  readonly #clock: SimClock;
  readonly brokers: TestBroker[] = [];

  constructor(seed = 1) {
    this.queue = new EventQueue({ seed });
    this.#clock = new SimClock(this.queue, { name: 'cluster' });
    this.bookies = new MemoryCluster({ clock: this.#clock, random: this.queue.random.fork('cluster'), bookiesCount: 3, delayMs: 1 });
  }

  async broker(brokerId: string, config: Partial<BrokerConfig> = {}, metrics?: Metrics): Promise<TestBroker> {
    const clock = new SimClock(this.queue, { name: `${brokerId}-${this.brokers.length}` });
    const store = this.tree.openSession({ clock, sessionTimeoutMs: 10_000 });
    const cluster = this.bookies.connect({ options: { addEntryQuorumTimeoutMs: 3_000, addEntryTimeoutMs: 1_000 } });
    const random = this.queue.random.fork(`${brokerId}-${this.brokers.length}`);
    const parts = {
      clock,
      random,
      store,
      ledgers: cluster.client,
      registry: this.bookies.registry,
      logger: silentLogger,
      ...(metrics && { metrics }),
    };
    const broker = await this.complete(openBroker({ ...parts, config: brokerConfigSchema.parse(config), brokerId, version: '0.0.0' }));
    const test: TestBroker = {
      broker,
      store,
      cluster,
      clock,
      crash: () => {
        cluster.records.isUnavailable = true;
        clock.stop();
        // The connection is cut from the cluster's side, whose clock goes on.
        this.#clock.after(10_000, () => void store.close());
      },
    };
    this.brokers.push(test);
    return test;
  }

  complete<T>(promise: Promise<T>): Promise<T> {
    return this.queue.complete(promise);
  }

  async settle(ms = 100): Promise<void> {
    await this.queue.runFor(ms);
  }

  async producer(topic: Topic, producerName?: string): Promise<TestProducer> {
    const session = new TestProducer();
    const options = { producerName, initialSequenceId: undefined, remoteAddress: '/127.0.0.1:1' };
    session.producer = await this.complete(topic.addProducer(options, session));
    return session;
  }

  async publish(session: TestProducer, ...texts: string[]): Promise<void> {
    const before = session.positions.length + session.failedCount;
    for (const text of texts) session.producer.publish(Buffer.from(text));
    await this.queue.run({
      until: () => session.positions.length + session.failedCount === before + texts.length,
      untilMs: this.queue.nowMs + 60_000,
    });
  }

  async consumer(topic: Topic, options: Partial<SubscribeOptions> = {}): Promise<TestConsumer> {
    const session = new TestConsumer(() => this.queue.nowMs);
    session.consumer = await this.complete(
      topic.subscribe(
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
    return session;
  }
}

export function topicName(text: string): TopicName {
  return parseTopicName(text);
}
