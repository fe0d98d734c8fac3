import type { Socket } from 'node:net';
import type { Clock } from '@daybook/runtime';
import type { WebSocket } from 'ws';
import { type CloseCode, closeCodes, closeReason } from './close-codes.js';
import type { KeepAlive, KeepAliveTicket } from './keep-alive.js';
import { type ByteSink, Outbox } from './outbox.js';

/** What a producer, consumer or reader does with its socket. */
export interface SessionHandler {
  /** A text frame. The buffer may be a part of a larger one: copy what is kept. */
  frame(data: Buffer): void;
  binaryFrame(): void;
  /** The client takes bytes again. */
  writable(): void;
  /** The session is over, whoever ended it. Called once. */
  closed(): void;
}

/** Why this side does not read from a socket; bits, because several may hold at once. */
export const holds = {
  /** The topic takes no more, or is being moved. */
  topic: 1,
  /** The client does not take our answers. */
  client: 2,
} as const;
type Hold = (typeof holds)[keyof typeof holds];

export interface SessionSocketOptions {
  socket: Socket;
  clock: Clock;
  keepAlive: KeepAlive;
  /** With more bytes waiting for the client than this, nothing is delivered and nothing more is read from it. */
  outgoingBytesMax: number;
}

const webSocketOpen = 1;

/** One WebSocket: frames in, frames out (one write a turn), back-pressure both ways, keep-alive and exactly one end. */
export class SessionSocket {
  readonly remoteAddress: string;
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  readonly #keepAlive: KeepAlive;
  readonly #outgoingBytesMax: number;
  #webSocket: WebSocket | undefined;
  #handler: SessionHandler | undefined;
  #ticket: KeepAliveTicket | undefined;
  #holds = 0;
  #isEnded = false;
  #isWriteRefused = false;
  /** A close asked for before the handshake was complete. */
  #earlyClose: { code: CloseCode; reason: string } | undefined;

  constructor(options: SessionSocketOptions) {
    this.#socket = options.socket;
    this.#keepAlive = options.keepAlive;
    this.#outgoingBytesMax = options.outgoingBytesMax;
    this.remoteAddress = `/${options.socket.remoteAddress ?? 'unknown'}:${options.socket.remotePort ?? 0}`;
    this.#outbox = new Outbox(this.#sink(), options.clock);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The handshake is complete: frames flow. */
  open(webSocket: WebSocket, handler: SessionHandler): void {
    this.#webSocket = webSocket;
    this.#handler = handler;
    webSocket.on('message', (data: Buffer, isBinary: boolean) => this.#received(data, isBinary));
    webSocket.on('ping', (data: Buffer) => {
      this.#ticket?.heard();
      this.#outbox.pong(data);
      this.#watchOutgoing();
    });
    webSocket.on('pong', () => this.#ticket?.heard());
    webSocket.on('close', () => this.#end());
    // Protocol errors (bad UTF-8, too large, ...): `ws` has sent the fitting close code already, and `close` follows.
    webSocket.on('error', () => this.#end());
    this.#socket.on('drain', () => this.#drained());
    this.#ticket = this.#keepAlive.watch(this);
    this.#outbox.open();
    if (this.#holds !== 0) webSocket.pause();
    if (this.#earlyClose !== undefined) this.close(this.#earlyClose.code, this.#earlyClose.reason);
  }

  /** Sends a text frame (octets, see answer-frames.ts) with this turn's write. */
  send(octets: string): void {
    if (this.#isEnded) return;
    this.#outbox.text(octets);
    this.#watchOutgoing();
  }

  /** False while too many bytes wait for the client; {@link SessionHandler.writable} tells when that is over. */
  get isWritable(): boolean {
    if (this.#outbox.bytesWaiting < this.#outgoingBytesMax) return true;
    this.#isWriteRefused = true;
    return false;
  }

  hold(reason: Hold): void {
    if (this.#holds === 0) this.#webSocket?.pause();
    this.#holds |= reason;
  }

  release(reason: Hold): void {
    if (this.#holds === 0) return;
    this.#holds &= ~reason;
    if (this.#holds === 0) this.#webSocket?.resume();
  }

  /** What waits goes out first, then a close frame. Frames that still come are dropped; the connection is cut when the client does not answer in time. */
  close(code: CloseCode, reason: string): void {
    if (this.#isEnded) return;
    if (this.#webSocket === undefined) {
      this.#earlyClose ??= { code, reason };
      return;
    }
    this.#outbox.flush();
    this.#end();
    this.#webSocket.close(code, closeReason(reason));
    this.#webSocket.resume();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#end();
    this.#socket.destroy();
  }

  ping(): void {
    this.#outbox.ping();
  }

  silent(): void {
    this.close(closeCodes.policyViolation, 'two pings were left unanswered');
  }

  get isNotReadByUs(): boolean {
    return (this.#holds & holds.topic) !== 0;
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#isEnded) return;
    this.#ticket?.heard();
    if (isBinary) this.#handler?.binaryFrame();
    else this.#handler?.frame(data);
  }

  /** Answers pile up because the client does not read: then its questions wait too. */
  #watchOutgoing(): void {
    if (this.#outbox.bytesWaiting >= this.#outgoingBytesMax) this.hold(holds.client);
  }

  #drained(): void {
    this.release(holds.client);
    if (!this.#isWriteRefused) return;
    this.#isWriteRefused = false;
    this.#handler?.writable();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#ticket?.stop();
    this.#handler?.closed();
  }

  /** The TCP socket as the outbox sees it: closed for data as soon as a close frame went out. */
  #sink(): ByteSink {
    const socket = this.#socket;
    const webSocket = () => this.#webSocket;
    return {
      get writableLength() {
        return socket.writableLength;
      },
      get destroyed() {
        return socket.destroyed || webSocket()?.readyState !== webSocketOpen;
      },
      write: (text, encoding) => {
        const isTaken = socket.write(text, encoding);
        // The kernel took it all at once: then there will be no `drain`.
        if (isTaken) this.#drained();
        return isTaken;
      },
    };
  }
}
