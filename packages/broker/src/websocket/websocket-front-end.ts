import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Logger, Random } from '@daybook/runtime';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { BrokerApi } from '../broker-api.js';
import { statusOf } from '../http/error-mapping.js';
import { type Forwarder, forwardedHeader } from '../http/forward.js';
import { isSystemTopic } from '../http/names.js';
import type { Topic } from '../topic/topic-api.js';
import { closeCodes } from './close-codes.js';
import { readCommand } from './command-frame.js';
import { ConsumerSocket } from './consumer-socket.js';
import { KeepAlive } from './keep-alive.js';
import type { WebSocketLimits } from './limits.js';
import { locateTopic, patiently } from './locate-topic.js';
import { ProducerSocket } from './producer-socket.js';
import {
  type ConsumerParameters,
  consumerParameters,
  InvalidParameter,
  type ProducerParameters,
  producerParameters,
  type ReaderParameters,
  readerParameters,
} from './query-parameters.js';
import { readerSocket } from './reader-socket.js';
import { refuseUpgrade } from './refusal.js';
import { isRefusal, parseSessionPath, type Refusal, type SessionPath } from './session-path.js';
import { type SessionHandler, type SessionHost, SessionSocket, SessionWebSocket } from './session-socket.js';

export interface WebSocketFrontEndOptions {
  broker: BrokerApi;
  clock: Clock;
  random: Random;
  logger: Logger;
  limits: WebSocketLimits;
  forwarder: Forwarder;
}

type Parameters =
  | { kind: 'producer'; values: ProducerParameters }
  | { kind: 'consumer'; values: ConsumerParameters }
  | { kind: 'reader'; values: ReaderParameters };

interface Attachable extends SessionHandler {
  attach(topic: Topic): Promise<void>;
}

/**
 * Takes HTTP upgrades: path, query parameters, the topic's broker (forwarding when it is another one), topic, producer or subscription, and only then the
 * handshake: whatever fails is an HTTP status with its reason, never an opened and closed socket.
 */
export class WebSocketFrontEnd implements SessionHost {
  readonly #options: WebSocketFrontEndOptions;
  readonly #server: WebSocketServer;
  readonly clock: Clock;
  readonly keepAlive: KeepAlive;
  readonly outgoingBytesMax: number;
  readonly #sessions = new Set<SessionSocket>();
  #isClosing = false;

  constructor(options: WebSocketFrontEndOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.keepAlive = new KeepAlive(options.clock, options.limits.pingMs);
    this.outgoingBytesMax = options.limits.outgoingBytesMax;
    const serverOptions: ServerOptions<typeof SessionWebSocket> & { closeTimeout: number } = {
      WebSocket: SessionWebSocket,
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: options.limits.frameBytesMax,
      // The one timer that is not the clock's: `ws` cuts a connection whose client does not answer a close frame.
      closeTimeout: options.limits.closeMs,
    };
    this.#server = new WebSocketServer(serverOptions);
  }

  /** Open sockets. */
  get sessionsCount(): number {
    return this.#sessions.size;
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', destroyOnError);
    this.#accept(request, socket, head).catch((error: unknown) => {
      const { status, text } = this.#explain(error, request);
      refuseUpgrade(socket, status, text);
    });
  }

  gone(session: SessionSocket): void {
    this.#sessions.delete(session);
  }

  /** Every session gets a legal close; resolves when all sockets are gone or `graceMs` is over. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    for (const session of [...this.#sessions]) session.close(closeCodes.goingAway, 'the broker is shutting down: connect again');
    const { clock } = this.#options;
    const deadlineMs = clock.monoMs() + graceMs;
    while (this.#sessions.size > 0 && clock.monoMs() < deadlineMs) await clock.sleep(10);
    for (const session of [...this.#sessions]) session.destroy();
    this.keepAlive.close();
    this.#server.close();
  }

  async #accept(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    if (this.#isClosing) return refuseUpgrade(socket, 503, 'the broker is shutting down');
    if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      return refuseUpgrade(socket, 400, 'only WebSocket upgrades are taken');
    }
    const path = parseSessionPath(request.url ?? '');
    if (isRefusal(path)) return refuseUpgrade(socket, path.status, path.text);
    const parameters = parametersOf(path);
    const refusal = await this.#refusalOf(path);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal.status, refusal.text);
    await this.#attach({ request, socket, head, path, parameters });
  }

  async #refusalOf(path: SessionPath): Promise<Refusal | undefined> {
    const { topic } = path;
    if (path.kind === 'producer' && isSystemTopic(topic))
      return { status: 403, text: `${topic.full} is a system topic: clients cannot publish to it` };
    if (topic.partition === undefined || (await this.#options.broker.topics.exists(topic))) return undefined;
    return { status: 404, text: `${prefixOf(path.kind)}Topic ${topic.full} not found: there is no such partition` };
  }

  async #attach(handshake: { request: IncomingMessage; socket: Socket; head: Buffer; path: SessionPath; parameters: Parameters }): Promise<void> {
    const { request, socket, head, path, parameters } = handshake;
    const { broker, clock, limits, forwarder } = this.#options;
    const session = new SessionSocket(this, socket);
    const handler = this.#handlerOf(session, path, parameters);
    let isGone = false;
    const onGone = () => {
      isGone = true;
    };
    socket.once('close', onGone);
    const place = await patiently({ clock, patienceMs: limits.handshakeMs, isOver: () => isGone || this.#isClosing }, async () => {
      const found = await locateTopic(broker, path.topic, { create: true });
      if (found.kind === 'here' && !isGone) await handler.attach(found.topic);
      return found;
    });
    socket.removeListener('close', onGone);
    if (place.kind === 'elsewhere') {
      if (request.headers[forwardedHeader] !== undefined) return refuseUpgrade(socket, 503, `${path.topic.full} is changing hands: try again`);
      return forwarder.upgrade(request, socket, head, place.brokerId);
    }
    if (isGone) return handler.closed();
    this.#open({ request, socket, head, session, handler });
  }

  #open(parts: { request: IncomingMessage; socket: Socket; head: Buffer; session: SessionSocket; handler: Attachable }): void {
    const { request, socket, head, session, handler } = parts;
    let isOpen = false;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      isOpen = true;
      socket.setNoDelay(true);
      socket.removeListener('error', destroyOnError); // `ws` listens to it now.
      this.#sessions.add(session);
      session.open(webSocket as SessionWebSocket, handler);
    });
    // `ws` has refused the handshake itself (its key or version is wrong) or found the socket gone.
    if (!isOpen) handler.closed();
  }

  #handlerOf(session: SessionSocket, path: SessionPath, parameters: Parameters): Attachable {
    const { broker, clock, limits, logger, random } = this.#options;
    const { topic } = path;
    const common = { session, broker, topic, clock, limits, logger };
    switch (parameters.kind) {
      case 'producer':
        return new ProducerSocket({ session, broker, topic, clock, limits, logger, parameters: parameters.values });
      case 'reader':
        return readerSocket(common, parameters.values, random);
      case 'consumer':
        return new ConsumerSocket({
          ...common,
          readCommand,
          subscribe: { ...parameters.values, subscription: path.kind === 'consumer' ? path.subscription : '' },
        });
    }
  }

  #explain(error: unknown, request: IncomingMessage): Refusal {
    if (error instanceof InvalidParameter) return { status: 400, text: `Invalid query params: ${error.message}` };
    const status = statusOf(error);
    if (status === undefined) {
      this.#options.logger.error({ error, url: request.url }, 'a WebSocket handshake failed unexpectedly');
      return { status: 500, text: 'an unexpected error, see the log of the broker' };
    }
    return { status, text: `${prefixOf(parseKind(request.url))}${(error as Error).message}` };
  }
}

function destroyOnError(this: Socket): void {
  this.destroy();
}

function parametersOf(path: SessionPath): Parameters {
  switch (path.kind) {
    case 'producer':
      return { kind: 'producer', values: producerParameters(path.query) };
    case 'consumer':
      return { kind: 'consumer', values: consumerParameters(path.query) };
    case 'reader':
      return { kind: 'reader', values: readerParameters(path.query) };
  }
}

function parseKind(url: string | undefined): SessionPath['kind'] {
  return url?.startsWith('/ws/v2/reader/') ? 'reader' : 'producer';
}

function prefixOf(kind: SessionPath['kind']): string {
  return kind === 'reader' ? 'Failed to create reader: ' : 'Failed to create producer/consumer: ';
}
