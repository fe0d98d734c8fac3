import { topicErrors } from './errors.js';
import { RateWindow } from './rates.js';
import type { EndReason, ProducerOptions, ProducerSession, TopicProducer } from './topic-api.js';

/** What a producer asks of the topic it belongs to. */
export interface ProducerOwner {
  append(producer: Producer, entry: Uint8Array): void;
  readonly isFull: boolean;
  onDrain(task: () => void): void;
}

/** One connected producer: its name, its sequence and its counters. */
export class Producer implements TopicProducer {
  readonly producerName: string;
  readonly producerId: number;
  readonly remoteAddress: string;
  readonly connectedSinceMs: number;
  readonly inRate = new RateWindow();
  readonly session: ProducerSession;
  messagesInCount = 0;
  bytesInCount = 0;
  readonly #owner: ProducerOwner;
  readonly #producers: Producers;
  /** What of the counters the rate knows already. */
  #ratedCount = 0;
  #ratedBytes = 0;
  #nextSequenceId: bigint;
  #isClosed = false;

  constructor(parts: {
    owner: ProducerOwner;
    session: ProducerSession;
    options: ProducerOptions;
    producerName: string;
    producerId: number;
    connectedSinceMs: number;
    producers: Producers;
  }) {
    this.#owner = parts.owner;
    this.#producers = parts.producers;
    this.session = parts.session;
    this.producerName = parts.producerName;
    this.producerId = parts.producerId;
    this.remoteAddress = parts.options.remoteAddress;
    this.connectedSinceMs = parts.connectedSinceMs;
    this.#nextSequenceId = parts.options.initialSequenceId === undefined ? 0n : parts.options.initialSequenceId + 1n;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  nextSequenceId(): bigint {
    return this.#nextSequenceId++;
  }

  publish(entry: Uint8Array): void {
    if (!this.#isClosed) this.#owner.append(this, entry);
  }

  /** Brings the rate up to the counters: once per answered run instead of once per message. */
  rate(monoMs: number): void {
    if (this.messagesInCount === this.#ratedCount) return;
    this.inRate.add(monoMs, this.messagesInCount - this.#ratedCount, this.bytesInCount - this.#ratedBytes);
    this.#ratedCount = this.messagesInCount;
    this.#ratedBytes = this.bytesInCount;
  }

  get isFull(): boolean {
    return this.#owner.isFull;
  }

  onDrain(task: () => void): void {
    this.#owner.onDrain(task);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#producers.removed(this);
  }

  end(reason: EndReason): void {
    if (this.#isClosed) return;
    this.close();
    this.session.ended(reason);
  }
}

/** The producers of one topic: a name belongs to one of them, and is free the moment it closes. */
export class Producers {
  readonly #byName = new Map<string, Producer>();
  #nextId = 0;

  get count(): number {
    return this.#byName.size;
  }

  /** @internal For a producer that closes. */
  removed(producer: Producer): void {
    this.#byName.delete(producer.producerName);
  }

  list(): Producer[] {
    return [...this.#byName.values()];
  }

  /** `TOPIC_PRODUCER_BUSY`. `makeName` is asked when the client gave no name, until one is free. */
  add(parts: {
    owner: ProducerOwner;
    session: ProducerSession;
    options: ProducerOptions;
    makeName: () => string;
    connectedSinceMs: number;
    topicName: string;
  }): Producer {
    let { producerName } = parts.options;
    if (producerName !== undefined && this.#byName.has(producerName)) throw topicErrors.PRODUCER_BUSY(producerName, parts.topicName);
    while (producerName === undefined || this.#byName.has(producerName)) producerName = parts.makeName();
    const producer = new Producer({
      owner: parts.owner,
      session: parts.session,
      options: parts.options,
      producerName,
      producerId: this.#nextId++,
      connectedSinceMs: parts.connectedSinceMs,
      producers: this,
    });
    this.#byName.set(producerName, producer);
    return producer;
  }
}
