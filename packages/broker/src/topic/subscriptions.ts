import type { Clock, Random } from '@daybook/runtime';
import type { Cursor, ManagedLedger } from '../managed-ledger/managed-ledger-api.js';
import type { Consumer } from '../subscription/consumer.js';
import { type DispatchLimits, Subscription, type SubscriptionHost } from '../subscription/subscription.js';
import { topicErrors } from './errors.js';
import { startOf } from './start-position.js';
import { Tombstones } from './tombstones.js';
import type { ConsumerSession, EndReason, InitialPosition, SubscribeOptions } from './topic-api.js';

/** What the subscriptions of all topics share. */
export interface SubscriptionsHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: DispatchLimits;
}

/** The subscriptions of one topic, by name: those with a durable cursor from the start, transient ones while their consumers live. */
export class Subscriptions implements SubscriptionHost {
  readonly #host: SubscriptionsHost;
  readonly #topicName: string;
  readonly #log: ManagedLedger;
  readonly #byName = new Map<string, Subscription>();
  /** Names whose cursor is being made or deleted right now: the next one to use the name waits for it. */
  #busy: Map<string, Promise<void>> | undefined;
  readonly #tombstones: Tombstones;
  #isClosed = false;
  /** Of subscriptions that are gone. */
  #goneMessagesOut = 0;
  #goneBytesOut = 0;

  constructor(host: SubscriptionsHost, topicName: string, log: ManagedLedger) {
    this.#host = host;
    this.#topicName = topicName;
    this.#log = log;
    this.#tombstones = new Tombstones(host.clock);
    for (const cursor of log.cursors.values()) this.#add(cursor);
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }

  list(): Subscription[] {
    return [...this.#byName.values()];
  }

  get consumersCount(): number {
    let count = 0;
    for (const subscription of this.#byName.values()) count += subscription.consumers.length;
    return count;
  }

  outTotals(): { messages: number; bytes: number } {
    const total = { messages: this.#goneMessagesOut, bytes: this.#goneBytesOut };
    for (const subscription of this.#byName.values()) {
      total.messages += subscription.traffic.messagesOutCount;
      total.bytes += subscription.traffic.bytesOutCount;
    }
    return total;
  }

  /** `TOPIC_SUBSCRIPTION_NOT_FOUND`. */
  get(name: string): Subscription {
    const subscription = this.#byName.get(name);
    if (subscription === undefined) throw topicErrors.SUBSCRIPTION_NOT_FOUND(name, this.#topicName);
    return subscription;
  }

  async subscribe(options: SubscribeOptions, session: ConsumerSession): Promise<Consumer> {
    const name = options.subscription;
    if (options.type !== 'Exclusive' && options.type !== 'Shared') throw topicErrors.UNSUPPORTED(`subscription type ${options.type}`);
    for (;;) {
      this.#assertOpen();
      const existing = this.#byName.get(name);
      if (existing !== undefined) return this.#attach(existing, options, session);
      const busy = this.#busy?.get(name);
      if (busy !== undefined) {
        await busy;
      } else {
        if (this.#tombstones.has(name)) throw topicErrors.RECENTLY_DELETED(`subscription ${name} of ${this.#topicName}`);
        if (options.isDurable) await this.#whileBusy(name, () => this.#open(name, options.initial));
        else this.#add(this.#log.openTransientCursor(name, startOf(this.#log, options.initial)));
      }
    }
  }

  /** `TOPIC_SUBSCRIPTION_EXISTS`. */
  async create(name: string, initial: InitialPosition): Promise<void> {
    await this.#untilIdle(name);
    this.#assertOpen();
    if (this.#byName.has(name)) throw topicErrors.SUBSCRIPTION_EXISTS();
    this.#tombstones.lift(name);
    await this.#whileBusy(name, () => this.#open(name, initial));
  }

  async delete(name: string, force: boolean): Promise<void> {
    await this.#untilIdle(name);
    const subscription = this.get(name);
    if (subscription.consumers.length > 0) {
      if (!force) throw topicErrors.SUBSCRIPTION_IN_USE();
      // Its clients would come back and make it again before anybody saw that it was gone.
      this.#tombstones.add(name);
    }
    await this.remove(subscription);
  }

  async remove(subscription: Subscription): Promise<void> {
    const { name, cursor } = subscription;
    if (this.#byName.get(name) !== subscription) return;
    this.#forget(subscription);
    subscription.close('subscription-deleted');
    if (!cursor.isDurable) return;
    await this.#whileBusy(name, async () => {
      try {
        await this.#log.deleteCursor(name);
      } catch (error) {
        // Not deleted as far as we know: it must not be gone from sight while it still holds data back.
        this.#tombstones.lift(name);
        const left = this.#log.cursors.get(name);
        if (left !== undefined && !this.#isClosed) this.#add(left);
        throw error;
      }
    });
  }

  abandoned(subscription: Subscription): void {
    if (this.#byName.get(subscription.name) === subscription) this.#forget(subscription);
  }

  close(reason: EndReason): void {
    this.#isClosed = true;
    for (const subscription of this.list()) subscription.close(reason);
  }

  #attach(subscription: Subscription, options: SubscribeOptions, session: ConsumerSession): Consumer {
    if (subscription.cursor.isDurable !== options.isDurable) {
      const kind = subscription.cursor.isDurable ? 'Durable' : 'NonDurable';
      throw topicErrors.CONSUMER_BUSY(`${kind} subscription with the same name already exists.`);
    }
    return subscription.addConsumer(options, session);
  }

  async #open(name: string, initial: InitialPosition): Promise<void> {
    const cursor = await this.#log.openCursor(name, startOf(this.#log, initial));
    this.#assertOpen();
    this.#add(cursor);
  }

  #add(cursor: Cursor): void {
    const { clock, random, limits } = this.#host;
    const log = this.#log;
    this.#byName.set(cursor.name, new Subscription({ name: cursor.name, clock, random, log, cursor, limits, host: this }));
  }

  #forget(subscription: Subscription): void {
    this.#byName.delete(subscription.name);
    this.#goneMessagesOut += subscription.traffic.messagesOutCount;
    this.#goneBytesOut += subscription.traffic.bytesOutCount;
  }

  async #whileBusy(name: string, work: () => Promise<void>): Promise<void> {
    const done = work();
    const settled = done.then(
      () => {},
      () => {},
    );
    this.#busy ??= new Map();
    this.#busy.set(name, settled);
    try {
      await done;
    } finally {
      this.#busy.delete(name);
    }
  }

  async #untilIdle(name: string): Promise<void> {
    while (this.#busy?.has(name)) await this.#busy.get(name);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw topicErrors.UNAVAILABLE(this.#topicName, 'it is being closed');
  }
}
