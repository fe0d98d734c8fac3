import { WebSocket } from 'ws';

export interface Frame {
  [name: string]: unknown;
}

/** A WebSocket as any client library of the world would open it: JSON frames in, JSON frames out. */
export class Session {
  readonly #socket: WebSocket;
  readonly #frames: Frame[] = [];
  readonly #waiting: ((frame: Frame) => void)[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString('utf8')) as Frame;
      const next = this.#waiting.shift();
      if (next === undefined) this.#frames.push(frame);
      else next(frame);
    });
    this.closed = new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') })));
  }

  /** Rejects with the HTTP status when the upgrade is refused. */
  static async open(url: string): Promise<Session> {
    const socket = new WebSocket(url);
    const session = new Session(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        reject(new Refused(response.statusCode ?? 0));
        response.destroy();
      });
    });
    return session;
  }

  send(frame: Frame | string): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** The next frame; rejects when none comes in time. */
  next(withinMs = 5_000): Promise<Frame> {
    const frame = this.#frames.shift();
    if (frame !== undefined) return Promise.resolve(frame);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(new Error(`no frame within ${withinMs} ms`));
      }, withinMs);
      const take = (arrived: Frame): void => {
        clearTimeout(timer);
        resolve(arrived);
      };
      this.#waiting.push(take);
    });
  }

  async take(count: number): Promise<Frame[]> {
    const frames: Frame[] = [];
    while (frames.length < count) frames.push(await this.next());
    return frames;
  }

  /** What came within `ms`, without waiting for anything in particular. */
  async during(ms: number): Promise<Frame[]> {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return this.#frames.splice(0);
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.closed;
  }
}

export class Refused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`the upgrade was refused with ${status}`);
    this.status = status;
  }
}

export const encoded = (text: string): string => Buffer.from(text).toString('base64');
export const decoded = (frame: Frame): string => Buffer.from(String(frame.payload), 'base64').toString('utf8');
