import type { Position } from '@daybook/proto';
import type { Random } from '@daybook/runtime';
import type { ConsumerSession, Delivery, EndReason, SubscribeOptions, TopicConsumer } from '../topic/topic-api.js';
import type { Handout } from './pending-acks.js';
import { Permits } from './permits.js';
import { Traffic } from './traffic.js';

/** What a consumer asks of the subscription it belongs to. */
export interface ConsumerOwner {
  /** The consumer may have room now. */
  wake(): void;
  permitted(consumer: Consumer): void;
  acknowledge(consumer: Consumer, position: Position): void;
  negativeAcknowledge(consumer: Consumer, position: Position): void;
  unsubscribe(consumer: Consumer): Promise<void>;
  closed(consumer: Consumer): void;
}

export interface ConsumerParts {
  owner: ConsumerOwner;
  session: ConsumerSession;
  options: SubscribeOptions;
  consumerName: string;
  /** How many unacknowledged messages it may hold. */
  unackedMax: number;
  connectedSinceMs: number;
}

/** One connected consumer: its permits, its counters, and the messages collected for it in this turn. */
export class Consumer implements TopicConsumer {
  readonly consumerName: string;
  readonly priorityLevel: number;
  readonly negativeAckDelayMs: number;
  readonly ackTimeoutMs: number;
  readonly remoteAddress: string;
  readonly connectedSinceMs: number;
  readonly unackedMax: number;
  readonly permits: Permits;
  readonly traffic = new Traffic();
  /** Delivered to it and not acknowledged, given back or timed out. */
  heldCount = 0;
  /** Given back by it and not yet due. */
  waitingCount = 0;
  /** Messages taken in this turn, and where they are booked. */
  turn: { deliveries: Delivery[]; handout: Handout<Consumer> } | undefined;
  readonly #owner: ConsumerOwner;
  readonly #session: ConsumerSession;
  #isClosed = false;

  constructor(parts: ConsumerParts) {
    const { options } = parts;
    this.#owner = parts.owner;
    this.#session = parts.session;
    this.consumerName = parts.consumerName;
    this.priorityLevel = options.priorityLevel;
    this.negativeAckDelayMs = options.negativeAckDelayMs;
    this.ackTimeoutMs = options.ackTimeoutMs;
    this.remoteAddress = options.remoteAddress;
    this.connectedSinceMs = parts.connectedSinceMs;
    if (options.flow.kind === 'window') this.traffic.lastFlowMs = parts.connectedSinceMs;
    this.unackedMax = parts.unackedMax;
    this.permits = new Permits(options.flow);
  }

  /** How many messages it may get right now. */
  get roomCount(): number {
    if (this.#isClosed || !this.#session.isWritable) return 0;
    return Math.max(0, Math.min(this.permits.available, this.unackedMax - this.heldCount));
  }

  get isWritable(): boolean {
    return this.#session.isWritable;
  }

  /** A message it held is no longer its own. */
  release(): void {
    this.heldCount--;
    this.permits.release();
  }

  /** Hands the turn's messages to the session. The books are right before it is called: it may acknowledge, or close, from inside. */
  flush(): void {
    const turn = this.turn;
    this.turn = undefined;
    if (turn !== undefined && !this.#isClosed) this.#session.deliver(turn.deliveries);
  }

  permit(count: number): void {
    if (this.#isClosed) return;
    this.permits.add(count);
    this.#owner.permitted(this);
  }

  writable(): void {
    if (!this.#isClosed) this.#owner.wake();
  }

  acknowledge(position: Position): void {
    if (!this.#isClosed) this.#owner.acknowledge(this, position);
  }

  negativeAcknowledge(position: Position): void {
    if (!this.#isClosed) this.#owner.negativeAcknowledge(this, position);
  }

  async unsubscribe(): Promise<void> {
    if (!this.#isClosed) await this.#owner.unsubscribe(this);
  }

  isEndOfTopic(): boolean {
    // True once the topic is terminated and read to its end; no topic can be terminated yet.
    return false;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.turn = undefined;
    this.#owner.closed(this);
  }

  /** The subscription ends it: the session is told. */
  end(reason: EndReason): void {
    if (this.#isClosed) return;
    this.close();
    this.#session.ended(reason);
  }
}

/** As Pulsar names consumers: five letters or digits. */
export function randomConsumerName(random: Random): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
  let name = '';
  for (const byte of random.bytes(5)) name += alphabet[byte % alphabet.length];
  return name;
}
