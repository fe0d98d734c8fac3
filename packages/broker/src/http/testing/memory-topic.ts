import { comparePositions, type EntryId, type LedgerId, type Position, type TopicName } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { ManagedLedgerStats, StoredEntry } from '../../managed-ledger/managed-ledger-api.js';
import { topicErrors } from '../../topic/errors.js';
import type {
  ConsumerSession,
  EndReason,
  InitialPosition,
  ProducerOptions,
  ProducerSession,
  SubscribeOptions,
  Topic,
  TopicConsumer,
  TopicInternalStats,
  TopicProducer,
} from '../../topic/topic-api.js';
import type { TopicStats } from '../../topic/topic-stats.js';

interface MemoryConsumer extends TopicConsumer {
  readonly session: ConsumerSession;
  readonly held: Map<string, Position>;
  /** How many more messages may go to it now. */
  room(): number;
  used(): void;
}

interface MemorySubscription {
  readonly name: string;
  readonly isDurable: boolean;
  readonly acknowledged: Set<string>;
  /** Not delivered, or to be delivered again, in order. */
  waiting: StoredEntry[];
  readonly redelivered: Map<string, number>;
  readonly consumers: Set<MemoryConsumer>;
  type: string;
}

const key = ({ ledgerId, entryId }: Position) => `${ledgerId}:${entryId}`;

/** A topic in memory, for tests of the front end only: the contract of topic-api.ts without bookies, delays or time-outs. */
export class MemoryTopic implements Topic {
  readonly name: TopicName;
  readonly entries: StoredEntry[] = [];
  readonly producers = new Map<string, ProducerSession>();
  readonly subscriptions = new Map<string, MemorySubscription>();
  readonly properties = new Map<string, string>();
  /** Tests: publishes are not answered while true. */
  isStalled = false;
  /** Tests: `isFull` of its producers. */
  isFull = false;
  readonly #clock: Clock;
  #ledgerId = 1;
  #nextEntryId = 0;
  #unanswered: { session: ProducerSession; entry: StoredEntry }[] = [];
  #isAnswering = false;
  readonly #drainTasks: (() => void)[] = [];

  constructor(name: TopicName, clock: Clock) {
    this.name = name;
    this.#clock = clock;
  }

  get subscriptionNames(): string[] {
    return [...this.subscriptions.keys()].sort();
  }

  get lastPosition(): Position {
    return this.entries.at(-1)?.position ?? { ledgerId: this.#ledgerId as LedgerId, entryId: -1 as EntryId };
  }

  get connectionsCount(): number {
    return this.producers.size + [...this.subscriptions.values()].reduce((sum, { consumers }) => sum + consumers.size, 0);
  }

  async setProperties(change: (properties: Map<string, string>) => void): Promise<void> {
    change(this.properties);
  }

  async addProducer(options: ProducerOptions, session: ProducerSession): Promise<TopicProducer> {
    const producerName = options.producerName ?? `memory-${this.producers.size}`;
    if (this.producers.has(producerName)) throw topicErrors.PRODUCER_BUSY(producerName, this.name.full);
    this.producers.set(producerName, session);
    let next = (options.initialSequenceId ?? -1n) + 1n;
    const topic = this;
    return {
      producerName,
      nextSequenceId: () => next++,
      publish: (entry) => topic.#append(session, Buffer.from(entry)),
      get isFull() {
        return topic.isFull;
      },
      onDrain: (task) => topic.#drainTasks.push(task),
      close: () => {
        if (topic.producers.get(producerName) === session) topic.producers.delete(producerName);
      },
    };
  }

  #append(session: ProducerSession, payload: Buffer): void {
    const position = { ledgerId: this.#ledgerId as LedgerId, entryId: this.#nextEntryId++ as EntryId };
    this.#unanswered.push({ session, entry: { position, payload } });
    this.answer();
  }

  /** Tests: answers what waits, unless stalled. */
  answer(): void {
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    this.#clock.endOfTurn(() => {
      this.#isAnswering = false;
      if (this.isStalled) return;
      for (const { session, entry } of this.#unanswered.splice(0)) {
        this.entries.push(entry);
        for (const subscription of this.subscriptions.values()) subscription.waiting.push(entry);
        session.published(entry.position, 1);
      }
      for (const subscription of this.subscriptions.values()) this.#dispatch(subscription);
    });
  }

  /** Tests: publishes that are not answered yet fail. */
  fail(error: Error): void {
    for (const { session } of this.#unanswered.splice(0)) session.publishFailed(1, error);
  }

  /** Tests: the topic takes publishes again. */
  drain(): void {
    this.isFull = false;
    for (const task of this.#drainTasks.splice(0)) task();
  }

  async subscribe(options: SubscribeOptions, session: ConsumerSession): Promise<TopicConsumer> {
    const subscription =
      this.subscriptions.get(options.subscription) ?? this.#makeSubscription(options.subscription, options.initial, options.isDurable);
    if (subscription.consumers.size > 0 && (options.type === 'Exclusive' || subscription.type === 'Exclusive')) {
      throw topicErrors.CONSUMER_BUSY('Exclusive consumer is already connected');
    }
    subscription.type = options.type;
    const consumer = this.#makeConsumer(subscription, options, session);
    subscription.consumers.add(consumer);
    this.#dispatch(subscription);
    return consumer;
  }

  #makeSubscription(name: string, initial: InitialPosition, isDurable: boolean): MemorySubscription {
    const isAfter = (position: Position) => {
      if (typeof initial === 'string') return initial === 'earliest';
      const order = comparePositions(position, initial.position);
      return order > 0 || (order === 0 && initial.isInclusive);
    };
    const waiting = this.entries.filter(({ position }) => isAfter(position));
    const subscription = {
      name,
      isDurable,
      waiting,
      acknowledged: new Set<string>(),
      redelivered: new Map<string, number>(),
      consumers: new Set<MemoryConsumer>(),
      type: 'None',
    };
    this.subscriptions.set(name, subscription);
    return subscription;
  }

  #makeConsumer(subscription: MemorySubscription, options: SubscribeOptions, session: ConsumerSession): MemoryConsumer {
    const held = new Map<string, Position>();
    let credit = 0;
    const consumer: MemoryConsumer = {
      consumerName: options.consumerName ?? 'memory',
      session,
      held,
      room: () => (options.flow.kind === 'window' ? options.flow.size - held.size : credit),
      used: () => {
        credit--;
      },
      permit: (count) => {
        credit += count;
        this.#dispatch(subscription);
      },
      writable: () => this.#dispatch(subscription),
      acknowledge: (position) => {
        subscription.acknowledged.add(key(position));
        for (const other of subscription.consumers) other.held.delete(key(position));
        subscription.waiting = subscription.waiting.filter((entry) => key(entry.position) !== key(position));
        this.#dispatch(subscription);
      },
      negativeAcknowledge: (position) => {
        if (!held.delete(key(position))) return;
        this.#clock.after(options.negativeAckDelayMs, () => this.#redeliver(subscription, [position]));
        this.#dispatch(subscription);
      },
      unsubscribe: async () => {
        if (subscription.consumers.size > 1) throw topicErrors.SUBSCRIPTION_IN_USE();
        this.subscriptions.delete(subscription.name);
      },
      isEndOfTopic: () => false,
      close: () => {
        if (!subscription.consumers.delete(consumer)) return;
        if (!subscription.isDurable && subscription.consumers.size === 0) this.subscriptions.delete(subscription.name);
        this.#redeliver(subscription, [...held.values()]);
      },
    };
    return consumer;
  }

  #redeliver(subscription: MemorySubscription, positions: readonly Position[]): void {
    const keys = new Set(positions.map(key).filter((text) => !subscription.acknowledged.has(text)));
    for (const text of keys) subscription.redelivered.set(text, (subscription.redelivered.get(text) ?? 0) + 1);
    subscription.waiting = [...this.entries.filter(({ position }) => keys.has(key(position))), ...subscription.waiting];
    this.#dispatch(subscription);
  }

  #dispatch(subscription: MemorySubscription): void {
    this.#clock.endOfTurn(() => {
      for (const consumer of subscription.consumers) {
        while (subscription.waiting.length > 0 && consumer.room() > 0 && consumer.session.isWritable) {
          const entry = subscription.waiting.shift() as StoredEntry;
          consumer.used();
          consumer.held.set(key(entry.position), entry.position);
          consumer.session.deliver([{ entry, redeliveryCount: subscription.redelivered.get(key(entry.position)) ?? 0 }]);
        }
      }
    });
  }

  async createSubscription(name: string, initial: InitialPosition): Promise<void> {
    if (this.subscriptions.has(name)) throw topicErrors.SUBSCRIPTION_EXISTS();
    this.#makeSubscription(name, initial, true);
  }

  async deleteSubscription(name: string, force: boolean): Promise<void> {
    const subscription = this.subscriptions.get(name);
    if (subscription === undefined) throw topicErrors.SUBSCRIPTION_NOT_FOUND(name, this.name.full);
    if (subscription.consumers.size > 0 && !force) throw topicErrors.SUBSCRIPTION_IN_USE();
    this.subscriptions.delete(name);
    for (const { session } of subscription.consumers) session.ended('subscription-deleted');
  }

  /** All sessions end; after an unload the subscriptions stay, with everything unacknowledged to be delivered again. */
  end(reason: EndReason): void {
    this.fail(topicErrors.UNAVAILABLE(this.name.full, 'unloaded'));
    const producers = [...this.producers.values()];
    this.producers.clear();
    for (const session of producers) session.ended(reason);
    for (const subscription of this.subscriptions.values()) {
      const consumers = [...subscription.consumers];
      subscription.consumers.clear();
      if (!subscription.isDurable) this.subscriptions.delete(subscription.name);
      this.#redeliver(
        subscription,
        consumers.flatMap(({ held }) => [...held.values()]),
      );
      for (const { session } of consumers) session.ended(reason);
    }
    this.#ledgerId++;
    this.#nextEntryId = 0;
  }

  stats(): TopicStats {
    const subscriptions = Object.fromEntries(
      Array.from(this.subscriptions, ([name, { waiting, consumers }]) => [
        name,
        { msgBacklog: waiting.length, consumers: [...consumers].map(() => ({})) },
      ]),
    );
    return { msgInCounter: this.entries.length, publishers: [...this.producers.keys()], subscriptions } as unknown as TopicStats;
  }

  internalStats(): TopicInternalStats {
    const log: ManagedLedgerStats = {
      entriesAddedCounter: this.entries.length,
      numberOfEntries: this.entries.length,
      totalBytes: 0,
      currentLedgerEntries: 0,
      currentLedgerBytes: 0,
      lastLedgerCreatedMs: 0,
      lastLedgerCreationFailureMs: undefined,
      waitingCursorsCount: 0,
      pendingAppendsCount: 0,
      lastConfirmed: this.lastPosition,
      state: 'LedgerOpened',
      ledgers: [],
      cursors: new Map(),
      ensemble: { size: 1, configured: 1 },
    };
    return { log, reading: new Map() };
  }
}
