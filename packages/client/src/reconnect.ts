import { ClientError } from './errors.js';
import { openSocket, type Socket } from './socket.js';

export interface ReconnectOptions {
  url: () => string;
  token: string | undefined;
  /** Wait before the first new try; doubles up to `delayMaxMs`. */
  delayMinMs?: number;
  delayMaxMs?: number;
  opened(socket: Socket): void;
  message(text: string): void;
  /** The connection is gone; a new one is being made. */
  interrupted(): void;
  /** No further try will be made. */
  ended(error: ClientError): void;
}

/** Close codes by which a server says that coming back is pointless: normal end, bad data, policy, too big, and Daybook's own 4xxx. */
const isFinal = (code: number): boolean => code === 1000 || code === 1003 || (code >= 1007 && code <= 1009) || code >= 4000;

/** Keeps one WebSocket open: opens it again with back-off after a loss, gives up on a refusal or a final close. */
export class ReconnectingSocket {
  #socket: Socket | undefined;
  #isClosed = false;
  #failures = 0;
  readonly #options: ReconnectOptions;

  constructor(options: ReconnectOptions) {
    this.#options = options;
  }

  /** The first connection; rejects where a later one would be tried again. */
  async open(): Promise<void> {
    await this.#connect();
  }

  get socket(): Socket | undefined {
    return this.#socket;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #connect(): Promise<void> {
    const socket = await openSocket(this.#options.url(), this.#options.token, {
      message: (text) => this.#options.message(text),
      closed: (code, reason) => this.#closed(code, reason),
    });
    if (this.#isClosed) return socket.close();
    this.#socket = socket;
    this.#failures = 0;
    this.#options.opened(socket);
  }

  #closed(code: number, reason: string): void {
    this.#socket = undefined;
    if (this.#isClosed) return;
    if (isFinal(code)) {
      this.#isClosed = true;
      this.#options.ended(new ClientError('CLOSED', `the server closed the socket (${code}): ${reason || 'no reason given'}`));
      return;
    }
    this.#options.interrupted();
    this.#retry();
  }

  #retry(): void {
    const { delayMinMs = 100, delayMaxMs = 5_000 } = this.#options;
    const delayMs = Math.min(delayMaxMs, delayMinMs * 2 ** this.#failures++);
    setTimeout(() => {
      if (this.#isClosed) return;
      this.#connect().catch((error: unknown) => {
        const known = error instanceof ClientError ? error : new ClientError('UNREACHABLE', String(error));
        // 409: our own old session may still hold the place for a moment. 5xx and 429 pass.
        const isPassing = known.code === 'UNREACHABLE' || known.status === 409 || known.status === 429 || (known.status ?? 0) >= 500;
        if (isPassing) return this.#retry();
        this.#isClosed = true;
        this.#options.ended(known);
      });
    }, delayMs);
  }
}
