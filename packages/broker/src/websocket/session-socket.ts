import type { Socket } from 'node:net';
import type { Clock } from '@daybook/runtime';
import { type RawData, WebSocket } from 'ws';
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

/** What all sockets share. */
export interface SessionHost {
  readonly clock: Clock;
  readonly keepAlive: KeepAlive;
  /** With more bytes waiting for the client than this, nothing is delivered and nothing more is read from it. */
  readonly outgoingBytesMax: number;
  /** The connection of a socket that was opened is gone. */
  gone(session: SessionSocket): void;
}

/** A WebSocket that knows its session: one set of listeners serves all of them. */
export class SessionWebSocket extends WebSocket {
  session: SessionSocket | undefined;
}

/** One WebSocket: frames in, frames out (one write a turn), back-pressure both ways, keep-alive and exactly one end. */
export class SessionSocket {
  readonly remoteAddress: string;
  readonly #host: SessionHost;
  readonly #socket: Socket;
  readonly #outbox: Outbox;
  #webSocket: SessionWebSocket | undefined;
  #handler: SessionHandler | undefined;
  #ticket: KeepAliveTicket | undefined;
  #holds = 0;
  #isEnded = false;
  #isWriteRefused = false;
  /** A close asked for before the handshake was complete. */
  #earlyClose: { code: CloseCode; reason: string } | undefined;

  constructor(host: SessionHost, socket: Socket) {
    this.#host = host;
    this.#socket = socket;
    this.remoteAddress = `/${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`;
    this.#outbox = new Outbox(new SocketSink(socket, this), host.clock);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The handshake is complete: frames flow. */
  open(webSocket: SessionWebSocket, handler: SessionHandler): void {
    this.#webSocket = webSocket;
    this.#handler = handler;
    webSocket.session = this;
    webSocket.on('message', onMessage).on('ping', onPing).on('pong', onPong).on('close', onClose).on('error', onError);
    this.#ticket = this.#host.keepAlive.watch(this);
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
    if (this.#outbox.bytesWaiting < this.#host.outgoingBytesMax) return true;
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

  /** @internal */
  received(data: Buffer, isBinary: boolean): void {
    if (this.#isEnded) return;
    this.#ticket?.heard();
    if (isBinary) this.#handler?.binaryFrame();
    else this.#handler?.frame(data);
  }

  /** Answers pile up because the client does not read: then its questions wait too. */
  #watchOutgoing(): void {
    if (this.#outbox.bytesWaiting >= this.#host.outgoingBytesMax) this.hold(holds.client);
  }

  /** @internal */
  pinged(data: Buffer): void {
    this.#ticket?.heard();
    this.#outbox.pong(data);
    this.#watchOutgoing();
  }

  /** @internal */
  ponged(): void {
    this.#ticket?.heard();
  }

  /** @internal */
  failed(): void {
    this.#end();
  }

  /** @internal */
  gone(): void {
    this.#end();
    this.#host.gone(this);
  }

  /** @internal Frames may be written: after a close frame no more. */
  get isOpen(): boolean {
    return this.#webSocket?.readyState === WebSocket.OPEN;
  }

  /** @internal */
  drained(): void {
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
}

/** The TCP socket as the outbox sees it: closed for data as soon as a close frame went out. */
class SocketSink implements ByteSink {
  readonly #socket: Socket;
  readonly #session: SessionSocket;
  #isDrainAwaited = false;

  constructor(socket: Socket, session: SessionSocket) {
    this.#socket = socket;
    this.#session = session;
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get destroyed(): boolean {
    return this.#socket.destroyed || !this.#session.isOpen;
  }

  write(text: string, encoding: 'latin1'): boolean {
    const isTaken = this.#socket.write(text, encoding);
    // The kernel took it all at once: then there will be no `drain`.
    if (isTaken) this.#session.drained();
    else this.#awaitDrain();
    return isTaken;
  }

  #awaitDrain(): void {
    if (this.#isDrainAwaited) return;
    this.#isDrainAwaited = true;
    this.#socket.once('drain', () => {
      this.#isDrainAwaited = false;
      this.#session.drained();
    });
  }
}

function onMessage(this: WebSocket, data: RawData, isBinary: boolean): void {
  (this as SessionWebSocket).session?.received(data as Buffer, isBinary);
}

function onPing(this: WebSocket, data: Buffer): void {
  (this as SessionWebSocket).session?.pinged(data);
}

function onPong(this: WebSocket): void {
  (this as SessionWebSocket).session?.ponged();
}

function onClose(this: WebSocket): void {
  (this as SessionWebSocket).session?.gone();
}

/** Protocol errors (bad UTF-8, too large, ...): `ws` has sent the fitting close code already, and `close` follows. */
function onError(this: WebSocket): void {
  (this as SessionWebSocket).session?.failed();
}
