import { Agent, request as httpRequest, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { refuseUpgrade } from '../websocket/refusal.js';
import type { Answer } from './answer.js';
import { Refused } from './answer.js';
import type { Call } from './call.js';
import { FrameBoundary } from './frame-boundary.js';

/** Set on every forwarded call, to the id of the broker that forwarded it: the next one answers or gives up, it never forwards again. */
export const forwardedHeader = 'x-daybook-forwarded';

const upgradeMs = 20_000;
const hangUpMs = 2000;
const refusalBytesMax = 64 * 1024;
/** Headers that belong to one connection only (RFC 9110 section 7.6.1). */
const hopHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'proxy-connection'];

/** Passes calls for topics of other brokers on to them: clients may talk to any broker. */
export class Forwarder {
  readonly #brokerId: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  /** For each forwarded WebSocket what ends it. */
  readonly #pairs = new Set<() => void>();

  constructor(brokerId: string) {
    this.#brokerId = brokerId;
  }

  /** The other broker's answer; its body is streamed. */
  rest(call: Call, brokerId: string): Promise<Answer> {
    if (call.headers[forwardedHeader] !== undefined) throw new Refused(503, 'the topic is changing hands: try again');
    const headers: Record<string, string | string[]> = { [forwardedHeader]: this.#brokerId };
    for (const [name, value] of Object.entries(call.headers)) {
      if (value !== undefined && !hopHeaders.includes(name) && name !== 'content-length' && name !== 'expect') headers[name] = value;
    }
    if (call.body.length > 0) headers['content-length'] = String(call.body.length);
    return new Promise((resolve, reject) => {
      const request = httpRequest({ ...addressOf(brokerId), method: call.method, path: call.url, headers, agent: this.#agent });
      request.once('response', (response) => resolve({ status: response.statusCode ?? 502, headers: endToEnd(response), body: response }));
      request.once('error', () => reject(new Refused(503, `broker ${brokerId}, which serves the topic, cannot be reached: try again`)));
      request.end(call.body);
    });
  }

  /** Hands a WebSocket's connection over: bytes are piped both ways, so that pings, closes and back-pressure pass through as they are. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, brokerId: string): void {
    const headers = { ...request.headers, [forwardedHeader]: this.#brokerId };
    const onward = httpRequest({ ...addressOf(brokerId), method: 'GET', path: request.url, headers, agent: false });
    onward.setTimeout(upgradeMs, () => onward.destroy(new Error('no answer')));
    socket.once('close', () => onward.destroy());
    onward.once('error', () => refuseUpgrade(socket, 503, `broker ${brokerId}, which serves the topic, cannot be reached: try again`));
    onward.once('response', (response) => relayRefusal(response, socket));
    onward.once('upgrade', (response, peer: Socket, peerHead: Buffer) => {
      socket.write(headText(response));
      if (peerHead.length > 0) socket.write(peerHead);
      if (head.length > 0) peer.write(head);
      this.#join(socket, peer, peerHead);
    });
    onward.end();
  }

  /** Forwarded sockets get a legal close and are cut a moment later. */
  close(): void {
    for (const finish of [...this.#pairs]) finish();
    this.#agent.destroy();
  }

  #join(client: Socket, peer: Socket, peerHead: Buffer): void {
    const boundary = new FrameBoundary();
    boundary.pass(peerHead);
    /** The owner ended the session, was killed, or we are ending: unless its own close frame went by, the client gets one from here. */
    const finish = () => {
      if (!this.#pairs.delete(finish)) return;
      if (boundary.canClose) client.end(ownerLostFrame);
      else client.end();
      // What the client still sends is read and dropped, so that its own close is seen.
      client.unpipe(peer);
      client.resume();
      client.setTimeout(hangUpMs, () => client.destroy());
      peer.destroySoon();
    };
    this.#pairs.add(finish);
    for (const socket of [client, peer]) {
      socket.setNoDelay(true);
      socket.setTimeout(0);
      socket.on('error', () => socket.destroy());
    }
    peer.on('data', (chunk: Buffer) => boundary.pass(chunk));
    peer.once('end', finish);
    peer.once('close', finish);
    client.once('close', () => {
      this.#pairs.delete(finish);
      peer.destroySoon();
    });
    peer.pipe(client, { end: false });
    client.pipe(peer);
  }
}

/** Close 1012 (service restart) with its reason, as a whole frame. */
const ownerLostFrame = (() => {
  const reason = Buffer.from('the broker that serves the topic is gone: connect again');
  return Buffer.concat([Buffer.from([0x88, reason.length + 2, 1012 >> 8, 1012 & 0xff]), reason]);
})();

function addressOf(brokerId: string): { host: string; port: number } {
  const colon = brokerId.lastIndexOf(':');
  return { host: brokerId.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(brokerId.slice(colon + 1)) };
}

function endToEnd(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !hopHeaders.includes(name)) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

function headText(response: IncomingMessage): string {
  let text = `HTTP/1.1 101 ${STATUS_CODES[101]}\r\n`;
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2) text += `${response.rawHeaders[i]}: ${response.rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}

/** The owner refused: its status and reason go to the client. */
function relayRefusal(response: IncomingMessage, socket: Socket): void {
  let body = '';
  response.setEncoding('utf8');
  response.on('data', (part: string) => {
    if (body.length < refusalBytesMax) body += part;
  });
  response.once('error', () => socket.destroy());
  response.once('end', () => refuseUpgrade(socket, response.statusCode ?? 502, reasonIn(body)));
}

function reasonIn(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null && 'reason' in value && typeof value.reason === 'string') return value.reason;
  } catch {
    // Not ours: passed on as it is.
  }
  return body;
}
