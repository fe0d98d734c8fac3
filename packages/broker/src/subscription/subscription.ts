import { comparePositions, type Position } from '@daybook/proto';
import { type Clock, invariant, type Random } from '@daybook/runtime';
import type { Cursor, ManagedLedger, StoredEntry } from '../managed-ledger/managed-ledger-api.js';
import { topicErrors } from '../topic/errors.js';
import type { ConsumerSession, EndReason, SubscribeOptions, SubscriptionType } from '../topic/topic-api.js';
import { Consumer, type ConsumerOwner, randomConsumerName } from './consumer.js';
import type { Dispatcher } from './dispatcher.js';
import { DueTimer } from './due-timer.js';
import { EntryReader } from './entry-reader.js';
import { ExclusiveDispatcher } from './exclusive.js';
import { explain, type Obstacle } from './explain.js';
import { PendingAcks } from './pending-acks.js';
import { missingOf, Redelivery, type RedeliveryRun } from './redelivery.js';
import { SharedDispatcher } from './shared.js';
import { countAcknowledged, countDelivered, Traffic } from './traffic.js';

/** Given-back messages become due in steps of this; a negative ack is late by less than two of them. */
const redeliveryTickMs = 20;

export interface DispatchLimits {
  /** Shared only: how many unacknowledged messages one consumer may hold. */
  unackedPerConsumerMax: number;
  /** Delivered and not acknowledged, wherever they are: bounds the books of a subscription. */
  unackedPerSubscriptionMax: number;
  /** Entries of a first read; a backlog raises it tenfold. */
  readEntriesMax: number;
  readBytesMax: number;
}

/** The topic, as its subscriptions see it. */
export interface SubscriptionHost {
  /** Removes the subscription and its cursor; called with no consumer connected. */
  remove(subscription: Subscription): Promise<void>;
  /** A transient subscription lost its last consumer. */
  abandoned(subscription: Subscription): void;
}

export interface SubscriptionParts {
  name: string;
  clock: Clock;
  random: Random;
  log: ManagedLedger;
  cursor: Cursor;
  limits: DispatchLimits;
  host: SubscriptionHost;
}

/**
 * A read position in a topic (cursor), its consumers (dispatcher), and the books between them: every unacknowledged message is either not yet read,
 * held by exactly one consumer, waiting for its redelivery time, or ready to go out again.
 *
 * It reads only as much as consumers have room for, one read at a time. What was read and finds no room any more is forgotten and read again later, so
 * there is no hidden queue. Nothing runs while nothing is due.
 */
export class Subscription implements ConsumerOwner {
  readonly name: string;
  readonly cursor: Cursor;
  readonly traffic = new Traffic();
  lastMarkDeleteAdvancedMs = 0;
  readonly #parts: SubscriptionParts;
  readonly #pending = new PendingAcks<Consumer>();
  readonly #redelivery = new Redelivery<Consumer>(redeliveryTickMs);
  readonly #reader: EntryReader;
  readonly #timer: DueTimer;
  #dispatcher: Dispatcher | undefined;
  #isWakeScheduled = false;
  #isClosed = false;

  constructor(parts: SubscriptionParts) {
    this.name = parts.name;
    this.cursor = parts.cursor;
    this.#parts = parts;
    this.#timer = new DueTimer(parts.clock, () => this.#onTimer());
    this.#reader = new EntryReader({
      clock: parts.clock,
      log: parts.log,
      start: parts.cursor.markDelete,
      entriesMax: parts.limits.readEntriesMax,
      bytesMax: parts.limits.readBytesMax,
      received: (entries, run) => this.#received(entries, run),
      wake: () => this.wake(),
      failed: () => this.#arm(),
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The type of the connected consumers, or of the last ones; undefined before the first. */
  get type(): SubscriptionType | undefined {
    return this.#dispatcher?.type;
  }

  get consumers(): readonly Consumer[] {
    return this.#dispatcher?.consumers ?? [];
  }

  get activeConsumer(): Consumer | undefined {
    return this.#dispatcher?.activeConsumer;
  }

  /** Ready to go out again. */
  get replayCount(): number {
    return this.#redelivery.readyCount;
  }

  /** Delivered by a connected consumer's count: held, or given back and not yet due. */
  get unackedCount(): number {
    let count = 0;
    for (const consumer of this.consumers) count += consumer.heldCount + consumer.waitingCount;
    return count;
  }

  get isBlockedOnUnacked(): boolean {
    return this.consumers.length > 0 && this.#deliveredCount >= this.#parts.limits.unackedPerSubscriptionMax;
  }

  get reader(): Pick<EntryReader, 'position' | 'isReading' | 'isReadingAgain' | 'isWaitingForAppend'> {
    return this.#reader;
  }

  /** Takes a place; what blocks it from others is free again the moment its consumer closes. `TOPIC_CONSUMER_BUSY`, `TOPIC_UNSUPPORTED`. */
  addConsumer(options: SubscribeOptions, session: ConsumerSession): Consumer {
    invariant(!this.#isClosed, 'consumers are added only to open subscriptions');
    const dispatcher = this.#dispatcherFor(options.type);
    const nowMs = this.#parts.clock.wallMs();
    const { unackedPerConsumerMax, unackedPerSubscriptionMax } = this.#parts.limits;
    const consumer = new Consumer({
      owner: this,
      session,
      options,
      consumerName: options.consumerName ?? randomConsumerName(this.#parts.random),
      unackedMax: options.type === 'Shared' ? unackedPerConsumerMax : unackedPerSubscriptionMax,
      connectedSinceMs: nowMs,
    });
    dispatcher.add(consumer);
    this.#dispatcher = dispatcher;
    if (options.flow.kind === 'window') this.traffic.lastFlowMs = nowMs;
    this.#arm();
    this.wake();
    return consumer;
  }

  wake(): void {
    if (this.#isWakeScheduled || this.#isClosed) return;
    this.#isWakeScheduled = true;
    this.#parts.clock.endOfTurn(() => {
      this.#isWakeScheduled = false;
      this.#step();
    });
  }

  permitted(consumer: Consumer): void {
    consumer.traffic.lastFlowMs = this.#parts.clock.wallMs();
    this.traffic.lastFlowMs = consumer.traffic.lastFlowMs;
    this.wake();
  }

  acknowledge(consumer: Consumer, position: Position): void {
    if (this.#isClosed) return;
    const holder = this.#pending.remove(position);
    if (holder !== undefined) {
      holder.release();
      this.wake();
    }
    if (this.#redelivery.isTracking) {
      const owner = this.#redelivery.forget(position);
      if (owner !== undefined) owner.waitingCount--;
    }
    const markBefore = this.cursor.markDelete;
    // Not delivered here is fine: whoever knows an id of this topic may acknowledge it, and it never comes.
    if (!this.cursor.acknowledge(position)) return;
    countAcknowledged(this.#parts.clock, [consumer.traffic, this.traffic]);
    if (comparePositions(this.cursor.markDelete, markBefore) !== 0) this.lastMarkDeleteAdvancedMs = this.traffic.lastAckedMs;
  }

  negativeAcknowledge(consumer: Consumer, position: Position): void {
    if (this.#isClosed) return;
    const holder = this.#pending.remove(position);
    if (holder === undefined) return;
    holder.release();
    if (consumer.negativeAckDelayMs <= 0) {
      this.#redelivery.returnNow(position);
    } else {
      this.#redelivery.returnAt(position, this.#parts.clock.monoMs() + consumer.negativeAckDelayMs, consumer);
      consumer.waitingCount++;
    }
    this.#arm();
    this.wake();
  }

  async unsubscribe(consumer: Consumer): Promise<void> {
    if (this.consumers.length > 1) throw topicErrors.SUBSCRIPTION_IN_USE();
    consumer.close();
    // A transient one went with its last consumer.
    if (!this.#isClosed) await this.#parts.host.remove(this);
  }

  closed(consumer: Consumer): void {
    this.#dispatcher?.remove(consumer);
    if (this.#isClosed) return;
    if (consumer.heldCount > 0) for (const position of this.#pending.removeAllOf(consumer)) this.#redelivery.returnNow(position);
    this.#redelivery.disown(consumer);
    if (this.consumers.length === 0 && !this.cursor.isDurable) {
      this.#shutDown();
      this.#parts.host.abandoned(this);
      return;
    }
    this.#arm();
    this.wake();
  }

  /** Ends all sessions; nothing moves any more. The cursor is left to the topic. */
  close(reason: EndReason): void {
    if (this.#isClosed) return;
    this.#shutDown();
    for (const consumer of [...this.consumers]) consumer.end(reason);
  }

  /** What blocks it right now; empty when it moves. */
  explain(): Obstacle[] {
    const dueMs = this.#redelivery.nextDueMs;
    return explain({
      backlogCount: this.cursor.backlog,
      heldCount: this.#pending.count,
      readyCount: this.#redelivery.readyCount,
      waitingCount: this.#redelivery.waitingCount,
      nextDueInMs: dueMs === undefined ? undefined : Math.max(0, dueMs - this.#parts.clock.monoMs()),
      unackedMax: this.#parts.limits.unackedPerSubscriptionMax,
      consumers: this.consumers.map((consumer) => ({
        name: consumer.consumerName,
        permitsAvailable: consumer.permits.available,
        isWritable: consumer.isWritable,
        heldCount: consumer.heldCount,
        unackedMax: consumer.unackedMax,
      })),
      readError: this.#reader.error,
    });
  }

  get #deliveredCount(): number {
    return this.#pending.count + this.#redelivery.count;
  }

  #dispatcherFor(type: SubscriptionType): Dispatcher {
    const current = this.#dispatcher;
    if (current?.type === type) return current;
    if (current !== undefined && current.consumers.length > 0) {
      throw topicErrors.CONSUMER_BUSY(
        `Subscription is of different type. Active subscription type of '${current.type}' is different than the connecting consumer's type '${type}'.`,
      );
    }
    switch (type) {
      case 'Exclusive':
        return new ExclusiveDispatcher();
      case 'Shared':
        return new SharedDispatcher();
      case 'Failover':
      case 'Key_Shared':
        throw topicErrors.UNSUPPORTED(`subscription type ${type}`);
    }
  }

  #shutDown(): void {
    this.#isClosed = true;
    this.#reader.close();
    this.#timer.arm(undefined);
  }

  /** Starts the next read if there is room for what it brings: given-back messages first, then new ones. */
  #step(): void {
    if (this.#isClosed || !this.#reader.canRead) return;
    const roomCount = this.#dispatcher?.roomCount ?? 0;
    if (roomCount === 0) return;
    const run = this.#redelivery.firstRun(Math.min(roomCount, this.#reader.entriesMax));
    if (run !== undefined) {
      this.#reader.readRun(run);
      return;
    }
    const newCount = Math.min(roomCount, this.#parts.limits.unackedPerSubscriptionMax - this.#deliveredCount);
    if (newCount > 0) this.#reader.readNew(newCount);
  }

  #received(entries: readonly StoredEntry[], run: RedeliveryRun | undefined): void {
    const touched: Consumer[] = [];
    if (run === undefined) this.#handOutNew(entries, touched);
    else this.#handOutAgain(entries, run, touched);
    this.#flush(touched);
  }

  /** What finds no room is forgotten: the position stays before it, and it is read again. */
  #handOutNew(entries: readonly StoredEntry[], touched: Consumer[]): void {
    for (const entry of entries) {
      if (!this.cursor.isAcknowledged(entry.position)) {
        const consumer = this.#dispatcher?.next();
        if (consumer === undefined) return;
        this.#give(consumer, entry, touched);
      }
      this.#reader.position = entry.position;
    }
  }

  #handOutAgain(entries: readonly StoredEntry[], run: RedeliveryRun, touched: Consumer[]): void {
    for (const position of missingOf(run, entries)) this.#redelivery.forget(position);
    for (const entry of entries) {
      if (!this.#redelivery.isReady(entry.position)) continue;
      if (this.cursor.isAcknowledged(entry.position)) {
        this.#redelivery.forget(entry.position);
        continue;
      }
      const consumer = this.#dispatcher?.next();
      if (consumer === undefined) return;
      this.#redelivery.take(entry.position);
      this.#give(consumer, entry, touched);
    }
  }

  #give(consumer: Consumer, entry: StoredEntry, touched: Consumer[]): void {
    consumer.permits.take();
    consumer.heldCount++;
    let { turn } = consumer;
    if (turn === undefined) {
      const deadlineMs = consumer.ackTimeoutMs > 0 ? this.#parts.clock.monoMs() + consumer.ackTimeoutMs : undefined;
      turn = { deliveries: [], handout: this.#pending.open(consumer, deadlineMs) };
      consumer.turn = turn;
      touched.push(consumer);
    }
    this.#pending.add(entry.position, turn.handout);
    turn.deliveries.push({ entry, redeliveryCount: this.#redelivery.countOf(entry.position) });
  }

  #flush(touched: readonly Consumer[]): void {
    for (const consumer of touched) {
      if (consumer.turn !== undefined) countDelivered(consumer.turn.deliveries, this.#parts.clock, [consumer.traffic, this.traffic]);
      consumer.flush();
    }
    this.#arm();
    // Through the event loop, so that a long backlog does not keep everybody else waiting.
    this.wake();
  }

  /** Nothing is due while nobody is connected: what waits is looked at when somebody comes. */
  #arm(): void {
    this.#timer.arm(this.#isClosed || this.consumers.length === 0 ? undefined : this.#nextDueMs());
  }

  #nextDueMs(): number | undefined {
    let next = this.#redelivery.nextDueMs;
    for (const dueMs of [this.#pending.nextDeadlineMs, this.#reader.retryAtMs]) {
      if (dueMs !== undefined && (next === undefined || dueMs < next)) next = dueMs;
    }
    return next;
  }

  #onTimer(): void {
    const nowMs = this.#parts.clock.monoMs();
    this.#redelivery.release(nowMs, (owner) => {
      owner.waitingCount--;
    });
    this.#pending.removeDue(nowMs, (position, holder) => {
      holder.release();
      this.#redelivery.returnNow(position);
    });
    this.#reader.retry(nowMs);
    this.#arm();
    this.#step();
  }
}
