import type { SubscriptionType } from '../topic/topic-api.js';
import type { Consumer } from './consumer.js';

/**
 * Who gets the next message: the only thing in which subscription types differ. Holds the connected consumers and decides, without any I/O; the
 * subscription reads, delivers and keeps the books. All implementations pass the suite in `conformance.ts`.
 */
export interface Dispatcher {
  readonly type: SubscriptionType;
  readonly consumers: readonly Consumer[];
  /** `TOPIC_CONSUMER_BUSY` when there is no place. */
  add(consumer: Consumer): void;
  /** The place is free at once. */
  remove(consumer: Consumer): void;
  /** How many messages could go out now to all consumers together. */
  readonly roomCount: number;
  /** The consumer for the next message: one with `roomCount` > 0, or undefined when there is none. */
  next(): Consumer | undefined;
  /** Shown as `activeConsumerName` in the statistics. */
  readonly activeConsumer: Consumer | undefined;
}
