import type { Position, TopicName } from '@daybook/proto';
import { type Clock, DaybookError, type Logger } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import type { ConsumerSession, Delivery, EndReason, InitialPosition, SubscribeOptions, Topic, TopicConsumer } from '../topic/topic-api.js';
import { endOfTopicAnswer } from './answer-frames.js';
import { type CloseCode, closeCodes } from './close-codes.js';
import { type Command, scanAcknowledgement } from './command-frame.js';
import { deliveryText } from './delivery-frame.js';
import { decodeEntry } from './entry-codec.js';
import type { WebSocketLimits } from './limits.js';
import { moveSession } from './move-session.js';
import { holds, type SessionHandler, type SessionSocket } from './session-socket.js';

export interface ConsumerSocketOptions {
  session: SessionSocket;
  broker: BrokerApi;
  topic: TopicName;
  subscribe: Omit<SubscribeOptions, 'remoteAddress'>;
  /** Reads what is not a plain acknowledgement. */
  readCommand(frame: Buffer): Command;
  clock: Clock;
  limits: WebSocketLimits;
  logger: Logger;
}

/**
 * A consumer's WebSocket; a reader's too (reader-socket.ts). States: attached to a subscription; moving (the topic was unloaded: commands wait, the socket
 * is not read); ended. Flow control is the subscription's: this only turns frames into calls and deliveries into frames.
 */
export class ConsumerSocket implements ConsumerSession, SessionHandler {
  readonly #options: ConsumerSocketOptions;
  readonly #session: SessionSocket;
  readonly #partition: number;
  readonly #waiting: Buffer[] = [];
  #consumer: TopicConsumer | undefined;
  #consumerName: string | undefined;
  /** Credit flow: permits given and not used, which a new subscription of this session has to get again. */
  #unusedPermits = 0;
  /** Where a subscription that lives in memory goes on after its topic was unloaded. */
  #resumeAt: InitialPosition;

  constructor(options: ConsumerSocketOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#partition = options.topic.partition ?? -1;
    this.#consumerName = options.subscribe.consumerName;
    this.#resumeAt = options.subscribe.initial;
  }

  async attach(topic: Topic): Promise<void> {
    const { subscribe } = this.#options;
    // "Latest" of the first moment, not of the moment after a move: what was published in between would be lost.
    if (!subscribe.isDurable && this.#resumeAt === 'latest') this.#resumeAt = { position: topic.lastPosition, isInclusive: false };
    const consumer = await topic.subscribe(
      {
        ...subscribe,
        initial: subscribe.isDurable ? subscribe.initial : this.#resumeAt,
        consumerName: this.#consumerName,
        remoteAddress: this.#session.remoteAddress,
      },
      this,
    );
    if (this.#session.isEnded) {
      consumer.close();
      return;
    }
    this.#consumer = consumer;
    this.#consumerName = consumer.consumerName;
    if (this.#unusedPermits > 0) consumer.permit(this.#unusedPermits);
  }

  frame(data: Buffer): void {
    if (this.#consumer === undefined || this.#waiting.length > 0) {
      this.#waiting.push(data);
      this.#session.hold(holds.topic);
      return;
    }
    this.#command(data, this.#consumer);
  }

  binaryFrame(): void {
    this.#end(closeCodes.unsupportedData, 'commands are text frames, not binary ones');
  }

  get isWritable(): boolean {
    return this.#session.isWritable;
  }

  writable(): void {
    this.#consumer?.writable();
  }

  closed(): void {
    this.#consumer?.close();
    this.#consumer = undefined;
    this.#waiting.length = 0;
  }

  deliver(deliveries: readonly Delivery[]): void {
    for (const { entry, redeliveryCount } of deliveries) {
      const message = decodeEntry(entry.payload);
      if (message === undefined) {
        // It stays unacknowledged: it is neither lost nor does it hold up what follows.
        this.#options.logger.error(
          { topic: this.#options.topic.full, position: entry.position },
          'a stored message cannot be read and is not delivered',
        );
        continue;
      }
      this.#session.send(deliveryText(entry, message, redeliveryCount, this.#partition));
    }
    this.#unusedPermits = Math.max(0, this.#unusedPermits - deliveries.length);
    const last = deliveries.at(-1);
    if (last !== undefined && !this.#options.subscribe.isDurable) this.#resumeAt = { position: last.entry.position, isInclusive: false };
  }

  ended(reason: EndReason): void {
    this.#consumer = undefined;
    if (this.#session.isEnded) return;
    const { topic, subscribe } = this.#options;
    switch (reason) {
      case 'topic-deleted':
        this.#session.close(closeCodes.topicDeleted, `Topic ${topic.full} was deleted`);
        break;
      case 'subscription-deleted':
        this.#session.close(closeCodes.subscriptionDeleted, `Subscription ${subscribe.subscription} was deleted`);
        break;
      case 'unloaded':
        this.#session.hold(holds.topic);
        void moveSession({ ...this.#options, attach: (found) => this.attach(found), attached: () => this.#goOn() });
    }
  }

  #goOn(): void {
    let next = 0;
    while (next < this.#waiting.length && this.#consumer !== undefined) this.#command(this.#waiting[next++] as Buffer, this.#consumer);
    this.#waiting.splice(0, next);
    if (this.#waiting.length === 0 && this.#consumer !== undefined) this.#session.release(holds.topic);
  }

  #command(data: Buffer, consumer: TopicConsumer): void {
    const acknowledged: Position | undefined = scanAcknowledgement(data);
    if (acknowledged !== undefined) consumer.acknowledge(acknowledged);
    else this.#obey(this.#options.readCommand(data), consumer);
  }

  #obey(command: Command, consumer: TopicConsumer): void {
    switch (command.kind) {
      case 'acknowledge':
        consumer.acknowledge(command.position);
        break;
      case 'negative-acknowledge':
        consumer.negativeAcknowledge(command.position);
        break;
      case 'permit':
        this.#permit(command.count, consumer);
        break;
      case 'is-end-of-topic':
        this.#session.send(endOfTopicAnswer(consumer.isEndOfTopic()));
        break;
      case 'unsubscribe':
        consumer.unsubscribe().then(
          () => this.#end(closeCodes.subscriptionDeleted, `Subscription ${this.#options.subscribe.subscription} was deleted`),
          (error: unknown) => this.#unsubscribeFailed(error),
        );
        break;
      case 'malformed':
        this.#end(command.code, command.reason);
        break;
      case 'nothing':
    }
  }

  /** In window flow a permit means nothing; 0 asks for nothing. */
  #permit(count: number, consumer: TopicConsumer): void {
    if (this.#options.subscribe.flow.kind !== 'credit' || count === 0) return;
    this.#unusedPermits = Math.min(this.#unusedPermits + count, Number.MAX_SAFE_INTEGER);
    consumer.permit(count);
  }

  #unsubscribeFailed(error: unknown): void {
    if (!(error instanceof DaybookError)) this.#options.logger.error({ error, topic: this.#options.topic.full }, 'unsubscribing failed unexpectedly');
    this.#end(closeCodes.commandFailed, `unsubscribe failed: ${error instanceof DaybookError ? error.message : 'see the log of the broker'}`);
  }

  #end(code: CloseCode, reason: string): void {
    this.#session.close(code, reason);
  }
}
