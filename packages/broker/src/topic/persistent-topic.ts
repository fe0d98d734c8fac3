import { comparePositions, type EntryId, entryId, type LedgerId, type Position, type TopicName } from '@daybook/proto';
import type { Clock, Random } from '@daybook/runtime';
import type { ManagedAppendListener, ManagedLedger } from '../managed-ledger/managed-ledger-api.js';
import type { Obstacle } from '../subscription/explain.js';
import type { DispatchLimits, Subscription } from '../subscription/subscription.js';
import { AppendRuns } from './append-runs.js';
import { topicErrors } from './errors.js';
import { persistentTopicStats } from './persistent-topic-stats.js';
import { type Producer, type ProducerOwner, Producers } from './producers.js';
import { RateWindow } from './rates.js';
import { Subscriptions } from './subscriptions.js';
import type {
  ConsumerSession,
  EndReason,
  InitialPosition,
  ProducerOptions,
  ProducerSession,
  SubscribeOptions,
  SubscriptionReading,
  Topic,
  TopicConsumer,
  TopicInternalStats,
  TopicProducer,
} from './topic-api.js';
import type { TopicStats } from './topic-stats.js';

/** How long an unload waits for publishes under way before it fails them. */
const drainMaxMs = 1000;

/** What all topics of a broker share. */
export interface TopicHost {
  readonly brokerId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: DispatchLimits;
  /** A producer name never used before. */
  makeProducerName(): string;
  /** The log cannot be written any more (another broker has it): the sessions were ended, forget this topic and close its log. */
  lost(topic: PersistentTopic, error: Error): void;
}

/**
 * A topic over a managed ledger: producers append to it, subscriptions read from it.
 *
 * open -> closing (unload: publishes under way are answered, nobody new gets in) -> closed (sessions ended). Loss of the log goes to closed at once. The
 * log itself is closed or deleted by whoever closed the topic.
 */
export class PersistentTopic implements Topic, ProducerOwner, ManagedAppendListener {
  readonly name: TopicName;
  readonly log: ManagedLedger;
  readonly producers = new Producers();
  readonly subscriptions: Subscriptions;
  readonly inRate = new RateWindow();
  messagesInCount = 0;
  bytesInCount = 0;
  readonly #host: TopicHost;
  readonly #runs = new AppendRuns<Producer>();
  #state: 'open' | 'closing' | 'closed' = 'open';
  #whenDrained: (() => void) | undefined;
  #ratedCount = 0;
  #ratedBytes = 0;

  /** Over a log that was just opened: nobody listens to it yet. */
  constructor(host: TopicHost, name: TopicName, log: ManagedLedger) {
    this.name = name;
    this.log = log;
    this.#host = host;
    log.listen(this);
    this.subscriptions = new Subscriptions(host, name.full, log);
  }

  get brokerId(): string {
    return this.#host.brokerId;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  get subscriptionNames(): readonly string[] {
    return this.subscriptions.names;
  }

  get lastPosition(): Position {
    return this.log.lastConfirmed;
  }

  get connectionsCount(): number {
    return this.producers.count + this.subscriptions.consumersCount;
  }

  get properties(): ReadonlyMap<string, string> {
    return this.log.properties;
  }

  async setProperties(change: (properties: Map<string, string>) => void): Promise<void> {
    this.#assertOpen();
    await this.log.setProperties(change);
  }

  async addProducer(options: ProducerOptions, session: ProducerSession): Promise<TopicProducer> {
    this.#assertOpen();
    return this.producers.add({
      owner: this,
      session,
      options,
      makeName: () => this.#host.makeProducerName(),
      connectedSinceMs: this.#host.clock.wallMs(),
      topicName: this.name.full,
    });
  }

  async subscribe(options: SubscribeOptions, session: ConsumerSession): Promise<TopicConsumer> {
    this.#assertOpen();
    return this.subscriptions.subscribe(options, session);
  }

  async createSubscription(name: string, initial: InitialPosition): Promise<void> {
    this.#assertOpen();
    await this.subscriptions.create(name, initial);
  }

  async deleteSubscription(name: string, force: boolean): Promise<void> {
    this.#assertOpen();
    await this.subscriptions.delete(name, force);
  }

  explain(subscription: string): Obstacle[] {
    return this.subscriptions.get(subscription).explain();
  }

  stats(): TopicStats {
    return persistentTopicStats(this, this.#host.clock.monoMs());
  }

  internalStats(): TopicInternalStats {
    return {
      log: this.log.internalStats(),
      reading: new Map(this.subscriptions.list().map((subscription) => [subscription.name, this.#readingOf(subscription)])),
    };
  }

  #readingOf({ cursor, reader, traffic, consumers }: Subscription): SubscriptionReading {
    return {
      position: reader.position,
      entriesSinceMarkDelete:
        comparePositions(reader.position, cursor.markDelete) > 0 ? this.log.countBetween(cursor.markDelete, reader.position) : 0,
      isWaitingForAppend: reader.isWaitingForAppend,
      isReading: reader.isReading,
      isReadingAgain: reader.isReadingAgain,
      acknowledgedCount: traffic.acknowledgedCount,
      hasConsumers: consumers.length > 0,
    };
  }

  get isFull(): boolean {
    return this.#state !== 'open' || this.log.isFull;
  }

  onDrain(task: () => void): void {
    // Not open: the sessions are about to be told that it ends.
    if (this.#state === 'open') this.log.onDrain(task);
  }

  append(producer: Producer, entry: Uint8Array): void {
    this.#runs.push(producer);
    this.messagesInCount++;
    this.bytesInCount += entry.length;
    producer.messagesInCount++;
    producer.bytesInCount += entry.length;
    try {
      this.log.append(entry);
    } catch (error) {
      // Answered in its turn with everything else that is under way, and never from inside `publish`.
      this.#host.clock.endOfTurn(() => this.#lose(error instanceof Error ? error : new Error(String(error))));
    }
  }

  appended(ledgerId: LedgerId, first: EntryId, count: number): void {
    const monoMs = this.#host.clock.monoMs();
    this.inRate.add(monoMs, this.messagesInCount - this.#ratedCount, this.bytesInCount - this.#ratedBytes);
    this.#ratedCount = this.messagesInCount;
    this.#ratedBytes = this.bytesInCount;
    if (this.#state === 'closed') return;
    this.#runs.shift(count, (producer, runCount, offset) => {
      producer.rate(monoMs);
      if (!producer.isClosed) producer.session.published({ ledgerId, entryId: entryId(first + offset) }, runCount);
    });
    this.#checkDrained();
  }

  failed(count: number, error: Error): void {
    if (this.#state === 'closed') return;
    this.#failRuns(count, error);
    this.#checkDrained();
  }

  fenced(error: Error): void {
    this.#lose(error);
  }

  /** Ends all sessions; with `unloaded` what is being published is answered before, as far as that goes quickly. Idempotent. */
  async close(reason: EndReason): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    if (reason === 'unloaded' && this.#runs.count > 0) await this.#drain();
    this.#end(reason, topicErrors.UNAVAILABLE(this.name.full, 'it is being closed'));
  }

  /** At once: ownership is gone, nothing may be served any more. */
  abort(error: Error): void {
    this.#end('unloaded', error);
  }

  #assertOpen(): void {
    if (this.#state !== 'open') throw topicErrors.UNAVAILABLE(this.name.full, 'it is being closed');
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#host.clock.after(drainMaxMs, resolve);
      this.#whenDrained = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #checkDrained(): void {
    if (this.#runs.count > 0) return;
    this.#whenDrained?.();
    this.#whenDrained = undefined;
  }

  #lose(error: Error): void {
    if (this.#state === 'closed') return;
    this.#end('unloaded', error);
    this.#host.lost(this, error);
  }

  #end(reason: EndReason, error: Error): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#failRuns(this.#runs.count, error);
    this.#checkDrained();
    this.subscriptions.close(reason);
    for (const producer of this.producers.list()) producer.end(reason);
  }

  #failRuns(count: number, error: Error): void {
    this.#runs.shift(count, (producer, runCount) => {
      if (!producer.isClosed) producer.session.publishFailed(runCount, error);
    });
  }
}
