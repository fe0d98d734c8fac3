import type { Clock } from '@daybook/runtime';

/** The part of a TCP socket that frames are written to. */
export interface ByteSink {
  readonly writableLength: number;
  readonly destroyed: boolean;
  write(text: string, encoding: 'latin1'): boolean;
}

/**
 * Server-to-client frames of one WebSocket. What is added during an event-loop turn goes out as one write, in order: the single largest saving on this
 * path. Texts are octet texts (answer-frames.ts); headers are built here, as `ws` would cost a write and several objects for each message.
 */
export class Outbox {
  readonly #sink: ByteSink;
  readonly #clock: Clock;
  #pending = '';
  #isScheduled = false;
  #isHeld = true;

  constructor(sink: ByteSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  /** Frames may go out from now on: before that (the handshake is under way) they wait. */
  open(): void {
    this.#isHeld = false;
    this.#schedule();
  }

  /** Bytes that the client has not taken from us yet. */
  get bytesWaiting(): number {
    return this.#pending.length + this.#sink.writableLength;
  }

  text(octets: string): void {
    this.#pending += frameHead(0x81, octets.length) + octets;
    this.#schedule();
  }

  ping(): void {
    this.#pending += '\x89\x04PING';
    this.#schedule();
  }

  /** Answers a ping; its data has at most 125 bytes. */
  pong(data: Buffer): void {
    this.#pending += frameHead(0x8a, data.length) + data.toString('latin1');
    this.#schedule();
  }

  flush(): void {
    if (this.#isHeld || this.#pending === '') return;
    const frames = this.#pending;
    this.#pending = '';
    if (!this.#sink.destroyed) this.#sink.write(frames, 'latin1');
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isHeld || this.#pending === '') return;
    this.#isScheduled = true;
    this.#clock.endOfTurn(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }
}

/** RFC 6455 section 5.2, never masked: first byte, then the length in 7, 7 + 16 or 7 + 64 bits. */
function frameHead(first: number, length: number): string {
  if (length < 126) return String.fromCharCode(first, length);
  if (length < 65_536) return String.fromCharCode(first, 126, length >> 8, length & 0xff);
  return String.fromCharCode(first, 127, 0, 0, 0, 0, (length >>> 24) & 0xff, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff);
}
