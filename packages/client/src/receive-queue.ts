import type { ClientError } from './errors.js';
import type { Message } from './message.js';

/** Messages that arrived and were not taken yet; the server's window bounds their number. */
export class ReceiveQueue {
  readonly #messages: Message[] = [];
  readonly #takers: { resolve(message: Message | undefined): void; reject(error: ClientError): void }[] = [];
  #end: ClientError | undefined;
  #isClosed = false;

  put(message: Message): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#messages.push(message);
    else taker.resolve(message);
  }

  /** The next message; undefined after `close`; rejects after `fail`. */
  take(): Promise<Message | undefined> {
    const message = this.#messages.shift();
    if (message !== undefined) return Promise.resolve(message);
    if (this.#end !== undefined) return Promise.reject(this.#end);
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
  }

  /** Forgets what was not taken: it will be delivered again. */
  clear(): void {
    this.#messages.length = 0;
  }

  fail(error: ClientError): void {
    this.#end ??= error;
    for (const taker of this.#takers.splice(0)) taker.reject(error);
  }

  close(): void {
    this.#isClosed = true;
    this.clear();
    for (const taker of this.#takers.splice(0)) taker.resolve(undefined);
  }
}
