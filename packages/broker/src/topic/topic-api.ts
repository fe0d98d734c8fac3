import type { Position, TopicName } from '@daybook/proto';
import type { ManagedLedgerStats, StoredEntry } from '../managed-ledger/managed-ledger-api.js';
import type { TopicStats } from './topic-stats.js';

/** What a session (WebSocket now, the binary protocol later) and the REST API may ask of any topic served by this broker. Errors: `topicErrors`. */
export interface Topic {
  readonly name: TopicName;
  /** `TOPIC_PRODUCER_BUSY` when a live producer has that name. */
  addProducer(options: ProducerOptions, session: ProducerSession): Promise<TopicProducer>;
  /** `TOPIC_CONSUMER_BUSY` (Exclusive taken, other type connected), `TOPIC_UNSUPPORTED`. Creates the subscription when it is new. */
  subscribe(options: SubscribeOptions, session: ConsumerSession): Promise<TopicConsumer>;
  readonly subscriptionNames: readonly string[];
  /** `TOPIC_SUBSCRIPTION_EXISTS`. */
  createSubscription(name: string, initial: InitialPosition): Promise<void>;
  /** `TOPIC_SUBSCRIPTION_NOT_FOUND`; `TOPIC_SUBSCRIPTION_IN_USE` unless forced (then its sessions end with `subscription-deleted`). */
  deleteSubscription(name: string, force: boolean): Promise<void>;
  readonly properties: ReadonlyMap<string, string>;
  /** Durable when it resolves. */
  setProperties(change: (properties: Map<string, string>) => void): Promise<void>;
  stats(): TopicStats;
  internalStats(): TopicInternalStats;
  readonly lastPosition: Position;
  /** Number of connected producers and consumers. */
  readonly connectionsCount: number;
}

/** The log's state, and how far each subscription has read and handed out. */
export interface TopicInternalStats {
  log: ManagedLedgerStats;
  reading: ReadonlyMap<string, SubscriptionReading>;
}

export interface SubscriptionReading {
  /** Read and handed out up to and including this entry. */
  position: Position;
  /** Entries after the mark-delete position up to {@link position}. */
  entriesSinceMarkDelete: number;
  isWaitingForAppend: boolean;
  isReading: boolean;
  isReadingAgain: boolean;
  /** Acknowledgements since the topic was loaded. */
  acknowledgedCount: number;
  hasConsumers: boolean;
}

export interface ProducerOptions {
  /** Undefined: the broker makes one. */
  producerName: string | undefined;
  initialSequenceId: bigint | undefined;
  /** Shown in stats, `/10.0.0.1:5000`. */
  remoteAddress: string;
}

/** Implemented by the session; called from the event loop, never from inside `publish`. */
export interface ProducerSession {
  /** The oldest `count` unanswered publishes of this producer are stored as consecutive entries of one ledger beginning at `first`. */
  published(first: Position, count: number): void;
  /** The oldest `count` unanswered publishes failed. */
  publishFailed(count: number, error: Error): void;
  /** The topic no longer serves this producer; what is unanswered was failed before. See {@link EndReason}. */
  ended(reason: EndReason): void;
}

export interface TopicProducer {
  readonly producerName: string;
  /** Id for the next message's metadata: 0, 1, 2, ... or from `initialSequenceId` + 1. */
  nextSequenceId(): bigint;
  /** Appends one entry (MessageMetadata + payload, encoded by the session). The buffer is copied. */
  publish(entry: Uint8Array): void;
  /** True while the topic takes no more: stop reading the socket until `onDrain`. */
  readonly isFull: boolean;
  onDrain(task: () => void): void;
  /** Frees the name at once. Publishes under way are still stored but no longer answered. */
  close(): void;
}

/**
 * `unloaded`: look the topic up again and attach again (it may be here or on another broker). `topic-deleted`, `subscription-deleted`: close the socket
 * for good. `slow`: the client did not read for too long.
 */
export type EndReason = 'unloaded' | 'topic-deleted' | 'subscription-deleted';

export type SubscriptionType = 'Exclusive' | 'Shared' | 'Failover' | 'Key_Shared';
export type InitialPosition = 'earliest' | 'latest' | { readonly position: Position; readonly isInclusive: boolean };

export interface SubscribeOptions {
  subscription: string;
  type: SubscriptionType;
  /** False: lives in memory, ends with its last consumer, holds nothing back (readers). */
  isDurable: boolean;
  /** Only for a new subscription. */
  initial: InitialPosition;
  /** Undefined: the broker makes one. */
  consumerName: string | undefined;
  priorityLevel: number;
  negativeAckDelayMs: number;
  /** 0: off. */
  ackTimeoutMs: number;
  flow: Flow;
  remoteAddress: string;
}

/**
 * `window`: up to `size` messages outstanding; a slot is free again when a message delivered to this consumer is acknowledged (by whomever), negatively
 * acknowledged, or times out. `credit`: nothing moves but by `permit`.
 */
export type Flow = { readonly kind: 'window'; readonly size: number } | { readonly kind: 'credit' };

export interface ConsumerSession {
  /** One or more messages in order; each holds a slot or has used a permit. */
  deliver(deliveries: readonly Delivery[]): void;
  /** False while the client is not reading (bytes waiting in its socket are at their bound): nothing is delivered until {@link TopicConsumer.writable}. */
  readonly isWritable: boolean;
  ended(reason: EndReason): void;
}

export interface Delivery {
  readonly entry: StoredEntry;
  readonly redeliveryCount: number;
}

export interface TopicConsumer {
  readonly consumerName: string;
  /** Credit flow: `count` more messages may come; kept for messages to come. */
  permit(count: number): void;
  /** The session takes messages again. */
  writable(): void;
  /** Any message of this subscription, whoever holds it. What is not outstanding (unknown, foreign, already acknowledged) has no effect. */
  acknowledge(position: Position): void;
  /** Comes again after the consumer's negative-ack delay, never earlier. What is not outstanding has no effect. */
  negativeAcknowledge(position: Position): void;
  /** Deletes the subscription when this is its only consumer, else `TOPIC_SUBSCRIPTION_IN_USE`. */
  unsubscribe(): Promise<void>;
  /** True when the topic was terminated and this consumer has nothing left to come. */
  isEndOfTopic(): boolean;
  /** Frees the place at once; what is unacknowledged is redelivered with count + 1. */
  close(): void;
}
