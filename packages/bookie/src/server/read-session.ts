import {
  type BookieIdentity,
  type BookieService,
  isSameIdentity,
  type NumberedRead,
  partsOfReply,
  type ReadPart,
  type ReadReply,
} from '@daybook/proto';
import type { BudgetWaiter, ByteBudget } from '@daybook/runtime';
import { readBytesOf } from './admission.js';

/** The stream as the session needs it. */
export interface ReadChannel {
  /** `sent` is called when the part was handed to the system; never when the stream broke before. */
  send(part: ReadPart, sent: () => void): void;
  pause(): void;
  resume(): void;
}

export interface ReadSessionOptions {
  service: Pick<BookieService, 'read'>;
  identity: BookieIdentity;
  /** Of the replies of all connections. */
  budget: ByteBudget;
  channel: ReadChannel;
  /** Room that the replies of this stream may take before it has to wait: a client that does not read its replies must not take that of others. */
  bytesMax?: number;
  /** A broken invariant: nobody can go on. */
  onBug: (error: unknown) => void;
}

interface Asked extends NumberedRead {
  readonly bytes: number;
  /** For room for its reply. */
  waiter: BudgetWaiter | undefined;
}

/** At so many that have not begun the stream is not read. */
const queuedCountMax = 256;
/** In the storage at once. */
const readingCountMax = 16;
const bytesMaxDefault = 8 * 1024 * 1024;

/**
 * One read stream. Requests are answered as they are done, not in the order in which they came; only one that goes on where another one ends waits for it: what
 * storage reads ahead for the first is what the second asks for.
 */
export class ReadSession {
  readonly #options: ReadSessionOptions;
  readonly #bytesMax: number;
  #queue: Asked[] = [];
  /** Begun: waiting for room, or in the storage. */
  readonly #reading = new Set<Asked>();
  readonly #sending = new Set<Asked>();
  #bytes = 0;
  #isPaused = false;
  #isEnded = false;

  constructor(options: ReadSessionOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesMax ?? bytesMaxDefault;
  }

  receive({ number, read }: NumberedRead): void {
    if (this.#isEnded) return;
    this.#queue.push({ number, read, bytes: readBytesOf(read.request, this.#options.budget), waiter: undefined });
    this.#beginSome();
    if (this.#isPaused || this.#queue.length < queuedCountMax) return;
    this.#isPaused = true;
    this.#options.channel.pause();
  }

  /** The stream is gone; what is being read is given back when it is there. */
  closed(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#queue = [];
    // First these: what is released is given to who waits.
    for (const { waiter } of this.#reading) waiter?.cancel();
    for (const { bytes } of this.#sending) this.#options.budget.release(bytes);
    this.#reading.clear();
    this.#sending.clear();
  }

  #beginSome(): void {
    const waiting: Asked[] = [];
    let looked = 0;
    while (looked < this.#queue.length && this.#reading.size < readingCountMax && this.#bytes < this.#bytesMax) {
      const asked = this.#queue[looked++] as Asked;
      if (goesOn(this.#reading, asked) || goesOn(waiting, asked)) waiting.push(asked);
      else this.#begin(asked);
    }
    if (looked > 0) this.#queue = [...waiting, ...this.#queue.slice(looked)];
    if (!this.#isPaused || this.#queue.length > queuedCountMax / 2) return;
    this.#isPaused = false;
    this.#options.channel.resume();
  }

  #begin(asked: Asked): void {
    this.#reading.add(asked);
    this.#bytes += asked.bytes;
    asked.waiter = this.#options.budget.acquireThen(asked.bytes, () => this.#read(asked));
  }

  #read(asked: Asked): void {
    const { service, identity, onBug } = this.#options;
    const { expected, request } = asked.read;
    // A request meant for other disks is answered without a look at these (P6).
    const reply = isSameIdentity(expected, identity) ? service.read(request) : Promise.resolve<ReadReply>({ code: 'UNAVAILABLE', entries: [] });
    reply.then((known) => this.#reply(asked, known)).catch(onBug);
  }

  #reply(asked: Asked, reply: ReadReply): void {
    const { budget, channel } = this.#options;
    if (this.#isEnded) {
      budget.release(asked.bytes);
      return;
    }
    this.#reading.delete(asked);
    this.#sending.add(asked);
    const sent = () => this.#sent(asked);
    for (const part of partsOfReply(asked.number, reply)) channel.send(part, part.isLast ? sent : ignore);
    this.#beginSome();
  }

  #sent(asked: Asked): void {
    if (this.#isEnded) return;
    this.#sending.delete(asked);
    this.#bytes -= asked.bytes;
    this.#options.budget.release(asked.bytes);
    this.#beginSome();
  }
}

const ignore = () => undefined;

/** Whether it begins where one of these ends. */
function goesOn(others: Iterable<Asked>, { read: { request } }: Asked): boolean {
  for (const { read } of others) {
    const other = read.request;
    if (other.ledgerId === request.ledgerId && (other.entryIds.at(-1) as number) + 1 === request.entryIds[0]) return true;
  }
  return false;
}
