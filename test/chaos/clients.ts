import { WebSocket } from 'ws';

/** What a black-box client saw: which messages were acknowledged to it, in order. */
export interface Published {
  number: number;
  messageId: string;
  atMs: number;
}

/** Publishes 0, 1, 2, ... with many unanswered, over any of several brokers; goes on with the next broker after a lost socket. Unanswered messages are not sent again. */
export class Publisher {
  readonly published: Published[] = [];
  readonly errors: string[] = [];
  readonly disconnects: string[] = [];
  readonly #urls: readonly string[];
  readonly #unansweredMax: number;
  #next: number;
  #unanswered = 0;
  #isStopped = false;
  #socket: WebSocket | undefined;
  #tries = 0;

  constructor(urls: readonly string[], first: number, unansweredMax = 200) {
    this.#urls = urls;
    this.#next = first;
    this.#unansweredMax = unansweredMax;
    this.#connect();
  }
  get next(): number {
    return this.#next;
  }
  /** The longest time without an acknowledgement since `sinceMs`, the one that still lasts included. */
  longestGapMs(sinceMs: number): number {
    let longestMs = 0;
    let beforeMs = sinceMs;
    for (const { atMs } of this.published.slice(this.#firstSince(sinceMs))) {
      longestMs = Math.max(longestMs, atMs - beforeMs);
      beforeMs = atMs;
    }
    return Math.max(longestMs, performance.now() - beforeMs);
  }
  /** How many were acknowledged since then. */
  countSince(sinceMs: number): number {
    return this.published.length - this.#firstSince(sinceMs);
  }
  #firstSince(sinceMs: number): number {
    let first = this.published.length;
    while (first > 0 && (this.published[first - 1] as Published).atMs >= sinceMs) first--;
    return first;
  }
  stop(): void {
    this.#isStopped = true;
    this.#socket?.terminate();
  }
  #connect(): void {
    if (this.#isStopped) return;
    const url = this.#urls[this.#tries++ % this.#urls.length] as string;
    const socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: 5_000 });
    this.#socket = socket;
    this.#unanswered = 0;
    socket.on('open', () => this.#fill(socket));
    socket.on('message', (data: Buffer) => this.#answered(socket, data.toString('utf8')));
    socket.on('error', () => {});
    socket.on('close', (code, reason) => {
      if (this.#isStopped) return;
      this.disconnects.push(`${code} ${reason.toString('utf8')}`);
      setTimeout(() => this.#connect(), 50);
    });
  }
  #fill(socket: WebSocket): void {
    while (!this.#isStopped && this.#unanswered < this.#unansweredMax) {
      const number = this.#next++;
      this.#unanswered++;
      socket.send(JSON.stringify({ payload: Buffer.from(String(number)).toString('base64'), context: String(number) }));
    }
  }
  #answered(socket: WebSocket, text: string): void {
    if (socket !== this.#socket) return;
    const answer = JSON.parse(text) as { result: string; context: string; messageId: string; errorMsg?: string };
    this.#unanswered--;
    if (answer.result === 'ok') this.published.push({ number: Number(answer.context), messageId: answer.messageId, atMs: performance.now() });
    else this.errors.push(`${answer.context}: ${answer.result} ${answer.errorMsg}`);
    setImmediate(() => this.#fill(socket));
  }
}

/** Receives and acknowledges on a subscription, over any of several brokers; remembers when each acknowledgement was handed to the socket. */
export class Acknowledger {
  readonly ackedAtMs = new Map<number, number>();
  readonly received: number[] = [];
  readonly #urls: readonly string[];
  #socket: WebSocket | undefined;
  #tries = 0;
  #isStopped = false;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
    this.#connect();
  }
  stop(): void {
    this.#isStopped = true;
    this.#socket?.terminate();
  }
  #connect(): void {
    if (this.#isStopped) return;
    const socket = new WebSocket(this.#urls[this.#tries++ % this.#urls.length] as string, { perMessageDeflate: false, handshakeTimeout: 5_000 });
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => setTimeout(() => this.#connect(), 100));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString('utf8')) as { messageId: string; payload: string };
      const number = Number(Buffer.from(frame.payload, 'base64').toString('utf8'));
      this.received.push(number);
      socket.send(JSON.stringify({ messageId: frame.messageId }));
      this.ackedAtMs.set(number, performance.now());
    });
  }
}

export interface Read {
  number: number;
  messageId: string;
}

/** Reads a topic from its beginning until `quietMs` passed without a message. */
export async function readAll(url: string, quietMs = 1_500): Promise<Read[]> {
  const all: Read[] = [];
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise<void>((resolve, reject) => {
    let timer = setTimeout(resolve, 10_000);
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString('utf8')) as { messageId: string; payload: string };
      all.push({ number: Number(Buffer.from(frame.payload, 'base64').toString('utf8')), messageId: frame.messageId });
      socket.send(JSON.stringify({ messageId: frame.messageId }));
      clearTimeout(timer);
      timer = setTimeout(resolve, quietMs);
    });
  });
  socket.terminate();
  return all;
}

/** Every acknowledged message is stored, once, under its id and in the order of the acknowledgements. Returns what is wrong. */
export function findLosses(published: readonly Published[], stored: readonly Read[]): string[] {
  const problems: string[] = [];
  const placeOf = new Map<string, number>();
  for (const [place, { messageId }] of stored.entries()) {
    if (placeOf.has(messageId)) problems.push(`message id ${messageId} was read twice`);
    placeOf.set(messageId, place);
  }
  let before = -1;
  for (const { number, messageId } of published) {
    const place = placeOf.get(messageId);
    if (place === undefined) problems.push(`message ${number} (${messageId}) was acknowledged and is gone`);
    else if (stored[place]?.number !== number)
      problems.push(`message id ${messageId} was acknowledged for ${number} and now holds ${stored[place]?.number}`);
    else if (place < before) problems.push(`message ${number} was acknowledged later, but is stored earlier than its predecessor`);
    else before = place;
  }
  return problems;
}
