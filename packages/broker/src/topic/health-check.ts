import { MessageEncoder, topicNameOf } from '@daybook/proto';
import { type Clock, type Random, uuid } from '@daybook/runtime';
import type { Topics } from '../broker-api.js';
import { topicErrors } from './errors.js';
import type { ConsumerSession, Delivery, ProducerSession, Topic } from './topic-api.js';

/** The whole of one check. */
const deadlineMs = 5000;

export interface HealthCheckParts {
  brokerId: string;
  clock: Clock;
  random: Random;
  topics: Pick<Topics, 'load'>;
}

/**
 * Writes one message to a topic of this broker's own and reads it back: metadata, bookies, dispatch, all of it. Callers that come while a check runs share
 * its result, so that polling costs one message a check at most. The messages go with their ledgers, as no durable subscription holds them.
 */
export class HealthCheck {
  readonly #parts: HealthCheckParts;
  #running: Promise<void> | undefined;

  constructor(parts: HealthCheckParts) {
    this.#parts = parts;
  }

  /** Rejects with what went wrong. */
  run(): Promise<void> {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runOnce(): Promise<void> {
    const { brokerId, clock, random, topics } = this.#parts;
    const name = topicNameOf('persistent', 'pulsar', brokerId, 'healthcheck');
    const probe = new Probe(uuid(random));
    const check = async () => {
      const topic = await topics.load(name, { create: true });
      await probe.attach(topic, clock.wallMs());
      await probe.seen;
    };
    let timeout = () => {};
    const expired = new Promise<never>((_, reject) => {
      const late = () => reject(topicErrors.UNAVAILABLE(name.full, `a message was not stored and read back within ${deadlineMs} ms`));
      const timer = clock.after(deadlineMs, late);
      timeout = () => timer.cancel();
    });
    try {
      await Promise.race([check(), expired]);
    } finally {
      timeout();
      probe.close();
    }
  }
}

/** Both ends of one check: the producer and the reader that waits for its message. */
class Probe implements ProducerSession, ConsumerSession {
  readonly isWritable = true;
  readonly seen: Promise<void>;
  readonly #token: string;
  readonly #closers: (() => void)[] = [];
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};
  #isClosed = false;

  constructor(token: string) {
    this.#token = token;
    this.seen = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever waits hears of it; when nobody waits any more nothing has to.
    this.seen.catch(() => {});
  }

  async attach(topic: Topic, wallMs: number): Promise<void> {
    const consumer = await topic.subscribe(
      {
        subscription: `healthcheck-${this.#token}`,
        type: 'Exclusive',
        isDurable: false,
        initial: 'latest',
        consumerName: undefined,
        priorityLevel: 0,
        negativeAckDelayMs: 0,
        ackTimeoutMs: 0,
        flow: { kind: 'window', size: 10 },
        remoteAddress: '',
      },
      this,
    );
    this.#onClose(() => consumer.close());
    const producer = await topic.addProducer({ producerName: undefined, initialSequenceId: undefined, remoteAddress: '' }, this);
    this.#onClose(() => producer.close());
    const message = { sequenceId: producer.nextSequenceId(), publishTimeMs: wallMs, payload: Buffer.from(this.#token) };
    producer.publish(new MessageEncoder(producer.producerName).encode(message));
  }

  published(): void {}

  publishFailed(_count: number, error: Error): void {
    this.#reject(error);
  }

  deliver(deliveries: readonly Delivery[]): void {
    if (deliveries.some(({ entry }) => entry.payload.includes(this.#token))) this.#resolve();
  }

  ended(): void {
    this.#reject(topicErrors.UNAVAILABLE('the health check topic', 'it was unloaded during the check'));
  }

  close(): void {
    this.#isClosed = true;
    for (const close of this.#closers.splice(0)) close();
  }

  /** Also when attaching ends after the deadline. */
  #onClose(close: () => void): void {
    if (this.#isClosed) close();
    else this.#closers.push(close);
  }
}
