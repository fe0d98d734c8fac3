import { ClientError } from './errors.js';
import { type Message, parseMessage } from './message.js';
import { ReceiveQueue } from './receive-queue.js';
import { ReconnectingSocket } from './reconnect.js';

export interface ConsumerOptions {
  /** Default Exclusive. */
  subscriptionType?: 'Exclusive' | 'Shared';
  /** Where a new subscription begins. Default Latest. */
  subscriptionInitialPosition?: 'Latest' | 'Earliest';
  /** Messages delivered and not yet acknowledged, 1 to 1000. */
  receiverQueueSize?: number;
  ackTimeoutMillis?: number;
  negativeAckRedeliveryDelay?: number;
  consumerName?: string;
}

/** Receives from one subscription; `for await` over it ends when it is closed. What is not acknowledged comes again, here or elsewhere. */
export class Consumer implements AsyncIterable<Message> {
  readonly #socket: ReconnectingSocket;
  readonly #queue = new ReceiveQueue();

  constructor(url: string, token: string | undefined) {
    this.#socket = new ReconnectingSocket({
      url: () => url,
      token,
      opened: () => {},
      message: (text) => {
        const message = parseMessage(JSON.parse(text));
        if (message !== undefined) this.#queue.put(message);
      },
      interrupted: () => this.#queue.clear(),
      ended: (error) => this.#queue.fail(error),
    });
  }

  async open(): Promise<void> {
    await this.#socket.open();
  }

  /** The next message; undefined once closed. */
  async receive(): Promise<Message | undefined> {
    return await this.#queue.take();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Message> {
    for (let message = await this.receive(); message !== undefined; message = await this.receive()) yield message;
  }

  /** Without a connection nothing is sent: the message comes again. */
  acknowledge(message: Message | string): void {
    this.#command({ messageId: idOf(message) });
  }

  negativeAcknowledge(message: Message | string): void {
    this.#command({ type: 'negativeAcknowledge', messageId: idOf(message) });
  }

  close(): void {
    this.#socket.close();
    this.#queue.close();
  }

  #command(command: object): void {
    this.#socket.socket?.send(JSON.stringify(command));
  }
}

/** Reads a topic without a subscription. Takes each message off the server's window as it is received. */
export class Reader implements AsyncIterable<Message> {
  readonly #socket: ReconnectingSocket;
  readonly #queue = new ReceiveQueue();
  #lastId: string;

  /** `urlAfter(id)` is the socket's address for reading after `id` (`earliest` and `latest` included). */
  constructor(urlAfter: (messageId: string) => string, token: string | undefined, startAfter: string) {
    this.#lastId = startAfter;
    this.#socket = new ReconnectingSocket({
      url: () => urlAfter(this.#lastId),
      token,
      opened: () => {},
      message: (text) => {
        const message = parseMessage(JSON.parse(text));
        if (message !== undefined) this.#queue.put(message);
      },
      interrupted: () => this.#queue.clear(),
      ended: (error) => this.#queue.fail(error),
    });
  }

  async open(): Promise<void> {
    await this.#socket.open();
  }

  async receive(): Promise<Message | undefined> {
    const message = await this.#queue.take();
    if (message === undefined) return undefined;
    this.#lastId = message.messageId;
    this.#socket.socket?.send(JSON.stringify({ messageId: message.messageId }));
    return message;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Message> {
    for (let message = await this.receive(); message !== undefined; message = await this.receive()) yield message;
  }

  close(): void {
    this.#socket.close();
    this.#queue.close();
  }
}

function idOf(message: Message | string): string {
  const id = typeof message === 'string' ? message : message.messageId;
  if (id === '') throw new ClientError('BAD_ARGUMENT', 'a message id must not be empty');
  return id;
}
