import { toBase64 } from './base64.js';
import { ClientError } from './errors.js';
import { ReconnectingSocket } from './reconnect.js';
import type { Socket } from './socket.js';

export interface ProducerOptions {
  producerName?: string;
  /** Messages sent and not yet answered; `send` waits above. Default 1000. */
  unansweredMax?: number;
}

export interface SendOptions {
  key?: string;
  properties?: Readonly<Record<string, string>>;
  eventTime?: Date;
}

interface Unanswered {
  frame: string;
  resolve(messageId: string): void;
  reject(error: ClientError): void;
}

/**
 * Publishes to one topic. After a lost connection everything unanswered is sent again, so that a message may be stored twice but is never lost in silence.
 */
export class Producer {
  readonly #socket: ReconnectingSocket;
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #waiting: (() => void)[] = [];
  readonly #unansweredMax: number;
  #nextContext = 0;
  #end: ClientError | undefined;

  constructor(url: string, token: string | undefined, options: ProducerOptions = {}) {
    this.#unansweredMax = options.unansweredMax ?? 1_000;
    this.#socket = new ReconnectingSocket({
      url: () => url,
      token,
      opened: (socket) => this.#sendAgain(socket),
      message: (text) => this.#answered(text),
      interrupted: () => {},
      ended: (error) => this.#ended(error),
    });
  }

  async open(): Promise<void> {
    await this.#socket.open();
  }

  /** Resolves to the message id once the message is stored durably. Rejects with `SEND_FAILED` when the server refused it. */
  async send(payload: string | Uint8Array, options: SendOptions = {}): Promise<string> {
    while (this.#unanswered.size >= this.#unansweredMax && this.#end === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#end !== undefined) throw this.#end;
    const context = String(this.#nextContext++);
    const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
    const { eventTime, ...rest } = options;
    const frame = JSON.stringify({
      payload: toBase64(bytes),
      context,
      ...rest,
      ...(eventTime === undefined ? {} : { eventTime: eventTime.toISOString() }),
    });
    return await new Promise((resolve, reject) => {
      this.#unanswered.set(context, { frame, resolve, reject });
      this.#socket.socket?.send(frame);
    });
  }

  /** Waits for what is unanswered, then closes. */
  async close(): Promise<void> {
    while (this.#unanswered.size > 0 && this.#end === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#ended(new ClientError('CLOSED', 'this producer was closed'));
    this.#socket.close();
  }

  #sendAgain(socket: Socket): void {
    for (const { frame } of this.#unanswered.values()) socket.send(frame);
  }

  #answered(text: string): void {
    const answer = JSON.parse(text) as { result?: string; context?: string; messageId?: string; errorMsg?: string };
    const sent = this.#unanswered.get(answer.context ?? '');
    if (sent === undefined || answer.context === undefined) return;
    this.#unanswered.delete(answer.context);
    if (answer.result === 'ok') sent.resolve(answer.messageId ?? '');
    else sent.reject(new ClientError('SEND_FAILED', `${answer.result}: ${answer.errorMsg ?? 'the message was not stored'}`));
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #ended(error: ClientError): void {
    this.#end ??= error;
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
