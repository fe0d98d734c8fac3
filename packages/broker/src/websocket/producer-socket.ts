import { type EntryId, MessageEncoder, type Position, type TopicName } from '@daybook/proto';
import { type Clock, DaybookError, type Logger, type Timer } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import { topicErrors } from '../topic/errors.js';
import type { EndReason, ProducerSession, Topic, TopicProducer } from '../topic/topic-api.js';
import { errorAnswer, storedAnswer } from './answer-frames.js';
import { closeCodes } from './close-codes.js';
import { decodePayload, encodeEntry } from './entry-codec.js';
import type { WebSocketLimits } from './limits.js';
import { moveSession } from './move-session.js';
import { readProducerFrame, readProducerFrameStrictly } from './producer-frame.js';
import { type PublishRefusal, PublishRequest } from './publish-request.js';
import type { ProducerParameters } from './query-parameters.js';
import { holds, type SessionHandler, type SessionSocket } from './session-socket.js';
import { UnansweredRing } from './unanswered.js';

export interface ProducerSocketOptions {
  session: SessionSocket;
  broker: BrokerApi;
  topic: TopicName;
  parameters: ProducerParameters;
  clock: Clock;
  limits: WebSocketLimits;
  logger: Logger;
}

/** Of the frame being read: all sockets share it, as nothing of it outlives that. */
const request = new PublishRequest();

/** What one unanswered publish is counted as beside its payload. */
const publishOverheadBytes = 256;

/**
 * A producer's WebSocket. States: attached to a topic; moving (its topic was unloaded: frames wait, the socket is not read, the topic is looked up and
 * loaded again); ended. Answers come in publish order, except that a refused frame is answered at once.
 */
export class ProducerSocket implements ProducerSession, SessionHandler {
  readonly #options: ProducerSocketOptions;
  readonly #session: SessionSocket;
  readonly #unanswered = new UnansweredRing();
  /** Frames that came while nothing could be published; no more than one read of the socket brings, as it is held then. */
  readonly #waiting: Buffer[] = [];
  #producer: TopicProducer | undefined;
  #encoder: MessageEncoder | undefined;
  #producerName: string | undefined;
  #lastSequenceId: bigint | undefined;
  #isDrainAwaited = false;
  #timeout: Timer | undefined;
  /** Publishes under way that were already answered, with a timeout: what becomes of them is told to nobody. */
  #expiredCount = 0;

  constructor(options: ProducerSocketOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#lastSequenceId = options.parameters.initialSequenceId;
    this.#producerName = options.parameters.producerName;
  }

  async attach(topic: Topic): Promise<void> {
    const producer = await topic.addProducer(
      {
        producerName: this.#producerName,
        initialSequenceId: this.#lastSequenceId,
        remoteAddress: this.#session.remoteAddress,
      },
      this,
    );
    if (this.#session.isEnded) {
      producer.close();
      return;
    }
    this.#producer = producer;
    this.#producerName = producer.producerName;
    this.#encoder = new MessageEncoder(producer.producerName);
  }

  frame(data: Buffer): void {
    if (this.#waiting.length > 0 || !this.#canPublish()) this.#keep(data);
    else this.#publish(data);
  }

  binaryFrame(): void {
    this.#session.send(errorAnswer(3, 'Failed to de-serialize from JSON: messages are text frames, not binary ones', undefined));
  }

  writable(): void {}

  closed(): void {
    this.#disarmTimeout();
    this.#producer?.close();
    this.#producer = undefined;
    this.#waiting.length = 0;
  }

  published(first: Position, count: number): void {
    const partition = this.#options.topic.partition ?? -1;
    const from = this.#skipExpired(count);
    for (let i = from; i < count && this.#unanswered.count > 0; i++) {
      this.#session.send(storedAnswer(first.ledgerId, (first.entryId + i) as EntryId, partition, this.#unanswered.shift()));
    }
    this.#goOn();
  }

  publishFailed(count: number, error: Error): void {
    const text = error instanceof DaybookError ? error.message : 'the message could not be stored';
    if (!(error instanceof DaybookError)) this.#options.logger.error({ error, topic: this.#options.topic.full }, 'publishing failed unexpectedly');
    this.#failOldest(count - this.#skipExpired(count), text);
    this.#goOn();
  }

  ended(reason: EndReason): void {
    this.#producer = undefined;
    this.#failOldest(this.#unanswered.count, 'the topic was closed before the message was known to be stored');
    this.#expiredCount = 0;
    if (this.#session.isEnded) return;
    if (reason !== 'unloaded') {
      this.#session.close(closeCodes.topicDeleted, `Topic ${this.#options.topic.full} was deleted`);
      return;
    }
    this.#session.hold(holds.topic);
    void moveSession({ ...this.#options, attach: (found) => this.attach(found), attached: () => this.#goOn() });
  }

  #canPublish(): boolean {
    return this.#producer !== undefined && !this.#producer.isFull && this.#unanswered.bytes < this.#options.limits.unansweredBytesMax;
  }

  #keep(data: Buffer): void {
    this.#waiting.push(data);
    this.#session.hold(holds.topic);
    this.#awaitDrain();
  }

  #awaitDrain(): void {
    if (this.#isDrainAwaited || this.#producer === undefined || !this.#producer.isFull) return;
    this.#isDrainAwaited = true;
    this.#producer.onDrain(() => {
      this.#isDrainAwaited = false;
      this.#goOn();
    });
  }

  /** Publishes what waited, as far as that is possible now, and reads the socket again when all of it is gone. */
  #goOn(): void {
    if (this.#unanswered.count === 0) this.#disarmTimeout();
    if (this.#session.isEnded) return;
    let next = 0;
    while (next < this.#waiting.length && this.#canPublish()) this.#publish(this.#waiting[next++] as Buffer);
    this.#waiting.splice(0, next);
    if (this.#waiting.length === 0 && this.#canPublish()) this.#session.release(holds.topic);
    else this.#awaitDrain();
  }

  #publish(data: Buffer): void {
    const producer = this.#producer as TopicProducer;
    const { clock } = this.#options;
    const nowMs = clock.wallMs();
    let refusal = readProducerFrame(data, nowMs, request) ?? this.#tooLarge(request);
    let payload = refusal === undefined ? decodePayload(request) : undefined;
    if (refusal === undefined && payload === undefined) {
      refusal = readProducerFrameStrictly(data, nowMs, request);
      payload = decodePayload(request);
    }
    if (refusal !== undefined || payload === undefined) {
      this.#refuse(refusal ?? { code: 7, text: 'Invalid Base64 message-payload', context: request.context });
      return;
    }
    const sequenceId = producer.nextSequenceId();
    const entry = encodeEntry(this.#encoder as MessageEncoder, producer.producerName, request, payload, sequenceId, nowMs);
    this.#unanswered.push(request.context, payload.length + publishOverheadBytes, clock.monoMs());
    this.#lastSequenceId = sequenceId;
    this.#armTimeout();
    try {
      producer.publish(entry);
    } catch (error) {
      this.#publishThrew(error);
    }
    if (!this.#canPublish()) {
      this.#session.hold(holds.topic);
      this.#awaitDrain();
    }
  }

  /** The newest publish did not even start. The ones before it are still under way, so that its answer has to be given here, out of turn. */
  #publishThrew(error: unknown): void {
    const context = this.#unanswered.pop();
    if (!(error instanceof DaybookError)) throw error;
    this.#refuse({ code: 8, text: error.message, context });
  }

  #tooLarge(request: PublishRequest): PublishRefusal | undefined {
    const { messageBytesMax } = this.#options.limits;
    if (request.payloadBytes <= messageBytesMax) return undefined;
    return { code: 8, text: topicErrors.TOO_LARGE(request.payloadBytes, messageBytesMax).message, context: request.context };
  }

  #refuse(refusal: PublishRefusal): void {
    this.#session.send(errorAnswer(refusal.code, refusal.text, refusal.context));
  }

  #failOldest(count: number, text: string): void {
    for (let i = 0; i < count && this.#unanswered.count > 0; i++) this.#session.send(errorAnswer(8, text, this.#unanswered.shift()));
  }

  /** How many of the oldest `count` publishes were answered with a timeout before. */
  #skipExpired(count: number): number {
    const skipped = Math.min(count, this.#expiredCount);
    this.#expiredCount -= skipped;
    return skipped;
  }

  /** One timer a socket, for its oldest publish; none while nothing is unanswered. */
  #armTimeout(): void {
    const { clock, parameters } = this.#options;
    const oldest = this.#unanswered.oldest;
    if (this.#timeout !== undefined || parameters.sendTimeoutMs === 0 || oldest === undefined) return;
    this.#timeout = clock.after(Math.max(1, oldest.sentAtMs + parameters.sendTimeoutMs - clock.monoMs()), () => {
      this.#timeout = undefined;
      this.#expire();
      this.#armTimeout();
    });
  }

  #disarmTimeout(): void {
    this.#timeout?.cancel();
    this.#timeout = undefined;
  }

  #expire(): void {
    const { clock, parameters } = this.#options;
    if (this.#session.isEnded) return;
    const dueMs = clock.monoMs() - parameters.sendTimeoutMs;
    for (let oldest = this.#unanswered.oldest; oldest !== undefined && oldest.sentAtMs <= dueMs; oldest = this.#unanswered.oldest) {
      this.#expiredCount++;
      this.#failOldest(1, `The message was not known to be stored within the send timeout of ${parameters.sendTimeoutMs} ms`);
    }
  }
}
