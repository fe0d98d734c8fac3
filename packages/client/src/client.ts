import { AdminClient } from './admin.js';
import { Consumer, type ConsumerOptions, Reader } from './consumer.js';
import { Producer, type ProducerOptions } from './producer.js';
import { topicPath } from './topic-path.js';

export interface ClientOptions {
  /** A broker's HTTP address, `http://127.0.0.1:8080`; any broker of the cluster will do. */
  url: string;
  /** JSON Web Token, when the cluster asks for one. */
  token?: string;
}

export interface ReaderOptions {
  /** `earliest`, `latest` (default), or a message id: reading begins after it. */
  startAfter?: string;
  receiverQueueSize?: number;
}

/** Entry point: producers, consumers and readers over WebSocket, and the admin calls over REST. Runs in Node and in browsers. */
export class Client {
  readonly admin: AdminClient;
  readonly #socketBase: string;
  readonly #token: string | undefined;

  constructor(options: ClientOptions) {
    const url = options.url.replace(/\/+$/, '');
    this.admin = new AdminClient(url, options.token);
    this.#socketBase = `${url.replace(/^http/, 'ws')}/ws/v2`;
    this.#token = options.token;
  }

  async producer(topic: string, options: ProducerOptions = {}): Promise<Producer> {
    const { unansweredMax: _local, ...parameters } = options;
    const producer = new Producer(this.#url('producer', topicPath(topic), parameters), this.#token, options);
    await producer.open();
    return producer;
  }

  async consumer(topic: string, subscription: string, options: ConsumerOptions = {}): Promise<Consumer> {
    const consumer = new Consumer(this.#url('consumer', `${topicPath(topic)}/${encodeURIComponent(subscription)}`, options), this.#token);
    await consumer.open();
    return consumer;
  }

  async reader(topic: string, options: ReaderOptions = {}): Promise<Reader> {
    const { startAfter = 'latest', ...parameters } = options;
    const path = topicPath(topic);
    const reader = new Reader((messageId) => this.#url('reader', path, { ...parameters, messageId }), this.#token, startAfter);
    await reader.open();
    return reader;
  }

  #url(kind: string, path: string, parameters: object): string {
    const query = Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`)
      .join('&');
    return `${this.#socketBase}/${kind}/${path}${query === '' ? '' : `?${query}`}`;
  }
}
