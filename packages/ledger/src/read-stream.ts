import type { Addressed, BookieCode, BookieIdentity, NumberedRead, ReadPart, ReadReply, ReadRequest } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { PatienceTimer } from './patience-timer.js';

/** One opened stream of reads to a bookie. */
export interface ReadTransport {
  write(request: NumberedRead): void;
  /** Ends it at once; no event follows. */
  cancel(): void;
}

export interface ReadTransportEvents {
  part(part: ReadPart): void;
  /** Nothing comes any more. `NOT_KNOWN`: the bookie is of a version that has no such stream. */
  ended(why: BookieCode | 'NOT_KNOWN'): void;
}

export interface ReadStreamOptions {
  clock: Clock;
  expected: BookieIdentity;
  open: (events: ReadTransportEvents) => ReadTransport;
  timeoutMs: number;
}

interface Waiting {
  readonly asked: Addressed<ReadRequest>;
  readonly answer: (reply: ReadReply | 'NOT_KNOWN') => void;
  readonly atMs: number;
  readonly entries: Buffer[];
}

/** Unanswered; more are answered `TOO_MANY_REQUESTS`. A bookie reads some hundreds off its socket, the others wait here. */
const waitingCountMax = 16_384;
const judgeMs = 250;

/**
 * The reads of this process from one bookie over one stream: a message each, where a call would cost ten times as much. What is not answered in time is answered
 * `TIMEOUT` and forgotten; a stream that was silent for as long is cancelled. One that fails answers all that wait; the next read opens a new one.
 */
export class ReadStream {
  readonly #o: ReadStreamOptions;
  readonly #patience: PatienceTimer;
  /** By number, hence the oldest first. */
  readonly #waiting = new Map<number, Waiting>();
  #transport: ReadTransport | undefined;
  #nextNumber = 0;
  #heardMs = 0;
  #isClosed = false;

  constructor(options: ReadStreamOptions) {
    this.#o = options;
    this.#patience = new PatienceTimer(options.clock, Math.min(judgeMs, options.timeoutMs / 4), this);
  }

  /** @internal For the timer. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** `NOT_KNOWN` when the bookie has no such stream. */
  read(request: ReadRequest): Promise<ReadReply | 'NOT_KNOWN'> {
    if (this.#isClosed) return Promise.resolve(failed('UNAVAILABLE'));
    if (this.#waiting.size >= waitingCountMax) return Promise.resolve(failed('TOO_MANY_REQUESTS'));
    return new Promise((answer) => {
      const asked = { expected: this.#o.expected, request };
      const number = this.#nextNumber++;
      this.#waiting.set(number, { asked, answer, atMs: this.#o.clock.monoMs(), entries: [] });
      this.#transport ??= this.#open();
      this.#transport.write({ number, read: asked });
      this.#patience.start();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#fail('UNAVAILABLE');
  }

  #open(): ReadTransport {
    this.#heardMs = this.#o.clock.monoMs();
    const transport: ReadTransport = this.#o.open({
      part: (part) => this.#transport === transport && this.#arrived(part),
      ended: (why) => this.#transport === transport && this.#fail(why),
    });
    return transport;
  }

  #arrived(part: ReadPart): void {
    this.#heardMs = this.#o.clock.monoMs();
    const waiting = this.#waiting.get(part.number);
    if (waiting === undefined) {
      // Of one that is not waited for any more, or nonsense: then nothing on this stream makes sense.
      if (part.number >= this.#nextNumber) this.#fail('IO_ERROR');
      return;
    }
    const { entries, asked, answer } = waiting;
    const isFirst = entries.length === 0;
    for (const entry of part.entries) entries.push(entry);
    if (entries.length > asked.request.entryIds.length || (part.code !== 'OK' && !isFirst)) this.#fail('IO_ERROR');
    else if (part.isLast) {
      this.#waiting.delete(part.number);
      if (!this.isWaiting) this.#patience.stop();
      answer({ code: part.code, entries });
    }
  }

  #fail(why: BookieCode | 'NOT_KNOWN'): void {
    const transport = this.#transport;
    const unanswered = [...this.#waiting.values()];
    this.#transport = undefined;
    this.#waiting.clear();
    this.#patience.stop();
    transport?.cancel();
    for (const { answer } of unanswered) answer(why === 'NOT_KNOWN' ? why : failed(why));
  }

  /** @internal For the timer. */
  judge(nowMs: number): void {
    for (const [number, { atMs, answer }] of this.#waiting) {
      if (nowMs - atMs < this.#o.timeoutMs) break;
      if (nowMs - this.#heardMs >= this.#o.timeoutMs) {
        this.#fail('TIMEOUT');
        return;
      }
      this.#waiting.delete(number);
      answer(failed('TIMEOUT'));
    }
  }
}

function failed(code: BookieCode): ReadReply {
  return { code, entries: [] };
}
