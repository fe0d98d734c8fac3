import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { type Logger, silentLogger } from '@daybook/runtime';
import { RealClock, RealRandom } from '@daybook/runtime/real';
import { WebSocket } from 'ws';
import type { FrontEnd, FrontEndLimits } from '../front-end.js';
import { startFrontEnd } from '../front-end.js';
import { MemoryBroker, MemoryCluster } from './memory-broker.js';

const clock = new RealClock();

export interface UnderTest {
  frontEnd: FrontEnd;
  broker: MemoryBroker;
  base: string;
  /** What was logged as an error. */
  errors: { fields: object; text: string }[];
}

/** A front end over a memory broker on a free port of 127.0.0.1. */
export async function frontEndUnderTest(cluster = new MemoryCluster(), limits: Partial<FrontEndLimits> = {}): Promise<UnderTest> {
  const broker = new MemoryBroker(cluster, 'starting', clock);
  const errors: UnderTest['errors'] = [];
  const logger: Logger = { ...silentLogger, error: (fields, text) => errors.push({ fields, text }), child: () => logger };
  const frontEnd = await startFrontEnd({ broker, clock, random: new RealRandom(), logger, host: '127.0.0.1', port: 0, limits });
  cluster.brokers[cluster.brokers.indexOf('starting')] = frontEnd.address;
  broker.brokerId = frontEnd.address;
  return { frontEnd, broker, base: frontEnd.address, errors };
}

/** A plain WebSocket client that keeps what it gets. */
export class TestClient {
  readonly frames: string[] = [];
  readonly socket: WebSocket;
  closed: { code: number; reason: string } | undefined;
  #waiters: (() => void)[] = [];

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      this.frames.push(data.toString('utf8'));
      this.#wake();
    });
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString('utf8') };
      this.#wake();
    });
    socket.on('error', () => {});
  }

  /** Rejects with `{ status, body }` when the upgrade is refused. */
  static open(base: string, path: string): Promise<TestClient> {
    const socket = new WebSocket(`ws://${base}/ws/v2/${path}`, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
    const client = new TestClient(socket);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.once('unexpected-response', (request, response) => {
        let body = '';
        response.on('data', (part: Buffer) => {
          body += part.toString('utf8');
        });
        response.once('end', () => {
          request.destroy();
          reject(Object.assign(new Error(`refused with ${response.statusCode}: ${body}`), { status: response.statusCode, body }));
        });
      });
      socket.once('close', () => reject(new Error('closed during the handshake')));
    });
  }

  send(frame: string | object): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** The next frames, parsed; fails after `timeoutMs`. */
  async take(count: number, timeoutMs = 5000): Promise<Record<string, unknown>[]> {
    await this.#until(() => this.frames.length >= count, timeoutMs, `${count} frames`);
    return this.frames.splice(0, count).map((frame) => JSON.parse(frame) as Record<string, unknown>);
  }

  async end(timeoutMs = 5000): Promise<{ code: number; reason: string }> {
    await this.#until(() => this.closed !== undefined, timeoutMs, 'a close');
    return this.closed as { code: number; reason: string };
  }

  /** Sends a ping and waits for its pong: everything sent before has been handled then. */
  async settled(): Promise<void> {
    const pong = new Promise((resolve) => this.socket.once('pong', resolve));
    this.socket.ping();
    await pong;
  }

  #until(isDone: () => boolean, timeoutMs: number, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = clock.after(timeoutMs, () =>
        reject(new Error(`${what} expected; frames: ${this.frames.join(' ').slice(0, 500)}, closed: ${JSON.stringify(this.closed)}`)),
      );
      const check = () => {
        if (!isDone()) {
          this.#waiters.push(check);
          return;
        }
        timer.cancel();
        resolve();
      };
      check();
    });
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

export interface RestAnswer {
  status: number;
  text: string;
  json: unknown;
  headers: Headers;
}

export async function rest(base: string, method: string, path: string, body?: string, contentType = 'application/json'): Promise<RestAnswer> {
  const response = await fetch(`http://${base}${path}`, {
    method,
    redirect: 'manual',
    ...(body === undefined ? {} : { body, headers: { 'content-type': contentType } }),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, text, json, headers: response.headers };
}

/** Sends bytes as they are and returns everything that comes back. */
export function raw(base: string, bytes: string | Buffer): Promise<string> {
  const [host, port] = base.split(':') as [string, string];
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host, port: Number(port) });
    let text = '';
    socket.on('data', (part) => {
      text += part.toString('latin1');
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
    socket.write(bytes);
  });
}
