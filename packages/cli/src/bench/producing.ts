import { randomBytes } from 'node:crypto';
import { clientFrame } from './frames.js';
import type { Latencies } from './latencies.js';
import { LoadSocket } from './load-socket.js';

export interface ProducingOptions {
  url: string;
  token?: string | undefined;
  /** Encoded, `persistent/public/default/t`. */
  topicPath: string;
  messageBytes: number;
  unansweredMax: number;
  /** Stop by itself after so many; default never. */
  messagesMax?: number;
  latencies: Latencies;
  onFailure(why: string): void;
}

const ok = Buffer.from('"result":"ok"');

/** Frame of a message with `bytes` random bytes (which do not compress). */
export function messageFrame(bytes: number): Buffer {
  return clientFrame(Buffer.from(`{"payload":"${randomBytes(bytes).toString('base64')}"}`));
}

/** A producer socket that always has as many messages unanswered as allowed. Answers come in order, so a ring of send times is enough for latencies. */
export class Producing {
  readonly #options: ProducingOptions;
  readonly #frame: Buffer;
  readonly #sentMs: Float64Array;
  #socket: LoadSocket | undefined;
  #sent = 0;
  #answered = 0;
  #isFilling = false;
  #isStopped = false;
  #drained: (() => void) | undefined;

  private constructor(options: ProducingOptions) {
    this.#options = options;
    this.#frame = messageFrame(options.messageBytes);
    this.#sentMs = new Float64Array(options.unansweredMax);
  }

  static async start(options: ProducingOptions): Promise<Producing> {
    const producing = new Producing(options);
    const { url, token, topicPath, onFailure } = options;
    producing.#socket = await LoadSocket.open({
      url,
      token,
      path: `/ws/v2/producer/${topicPath}`,
      onText: (bytes, start, end) => producing.#answer(bytes, start, end),
      onLost: onFailure,
    });
    producing.#fill();
    return producing;
  }

  get answered(): number {
    return this.#answered;
  }

  /** Sends nothing more, and resolves when all is answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#answered < this.#sent) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
    this.#socket?.close();
  }

  #fill(): void {
    this.#isFilling = false;
    const { unansweredMax, messagesMax = Number.POSITIVE_INFINITY } = this.#options;
    const nowMs = performance.now();
    while (!this.#isStopped && this.#sent - this.#answered < unansweredMax && this.#sent < messagesMax) {
      this.#sentMs[this.#sent++ % unansweredMax] = nowMs;
      this.#socket?.send(this.#frame);
    }
  }

  #answer(bytes: Buffer, start: number, end: number): void {
    const at = bytes.indexOf(ok, start);
    if (at < 0 || at >= end) {
      this.#options.onFailure(`a message was refused: ${bytes.toString('utf8', start, end)}`);
      return;
    }
    this.#options.latencies.add(performance.now() - this.#sentMs[this.#answered++ % this.#options.unansweredMax]!);
    if (this.#answered === this.#sent && this.#isStopped) this.#drained?.();
    if (this.#isFilling) return;
    // All answers of a turn first, then one refill.
    this.#isFilling = true;
    setImmediate(() => this.#fill());
  }
}
