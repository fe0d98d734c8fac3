import {
  type AppendAcknowledgement,
  type AppendBatch,
  type AppendReply,
  type AppendRequest,
  appendRequestBytesDefault,
  appendStreamVersion,
  type BookieCode,
  type BookieIdentity,
  isSameIdentity,
} from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { PatienceTimer } from './patience-timer.js';

/** One opened stream of messages to a bookie. */
export interface AppendTransport {
  /** False: taken, but wait for `drained` before the next. */
  write(request: AppendRequest): boolean;
  /** Ends it at once; no event follows. */
  cancel(): void;
}

export interface AppendTransportEvents {
  reply(reply: AppendReply): void;
  drained(): void;
  /** Nothing comes any more: broken, ended by the bookie, or it never came about. */
  ended(): void;
}

export interface AppendStreamOptions {
  clock: Clock;
  expected: BookieIdentity;
  open: (events: AppendTransportEvents) => AppendTransport;
  /** Bytes of unanswered batches; one more is answered `TOO_MANY_REQUESTS` at once. */
  outstandingBytesMax: number;
  /** A batch unanswered for this long means that the stream is stuck: it is cancelled. */
  timeoutMs: number;
}

type Done = (code: BookieCode) => void;

interface Outstanding {
  readonly batch: AppendBatch;
  readonly done: Done;
  readonly atMs: number;
  isAnswered: boolean;
}

/**
 * All appends of this process to one bookie over one stream: what is pending at the end of a turn of the event loop goes out as few messages, answers come
 * as ranges. A stream that fails answers everything outstanding with `UNAVAILABLE` (whether it arrived is unknown); the next append opens a new one.
 */
export class AppendStream {
  readonly #o: AppendStreamOptions;
  readonly #patience: PatienceTimer;
  readonly #flush = () => this.#flushTurn();
  #transport: AppendTransport | undefined;
  #isGreeted = false;
  #isBlocked = false;
  #isFlushDue = false;
  #isClosed = false;
  /** Not yet written. */
  #pending: Outstanding[] = [];
  /** Written; the first has number `#firstSequence`. */
  #written: Outstanding[] = [];
  #firstSequence = 0;
  #bytes = 0;

  constructor(options: AppendStreamOptions) {
    this.#o = options;
    this.#patience = new PatienceTimer(options.clock, options.timeoutMs / 4, this);
  }

  get outstandingBytes(): number {
    return this.#bytes;
  }

  /** @internal For the timer. */
  get isWaiting(): boolean {
    return this.#oldest() !== undefined;
  }

  append(batch: AppendBatch, done: Done): void {
    const { clock, outstandingBytesMax } = this.#o;
    const isOverBudget = this.#bytes > 0 && this.#bytes + batch.bytes.length > outstandingBytesMax;
    if (this.#isClosed || isOverBudget) {
      clock.endOfTurn(() => done(isOverBudget ? 'TOO_MANY_REQUESTS' : 'UNAVAILABLE'));
      return;
    }
    this.#bytes += batch.bytes.length;
    this.#pending.push({ batch, done, atMs: clock.monoMs(), isAnswered: false });
    if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      clock.endOfTurn(this.#flush);
    }
    this.#patience.start();
  }

  close(): void {
    this.#isClosed = true;
    this.#fail('UNAVAILABLE');
  }

  #flushTurn(): void {
    this.#isFlushDue = false;
    if (this.#pending.length === 0 || this.#isClosed) return;
    if (this.#transport === undefined) this.#open();
    let from = 0;
    while (from < this.#pending.length && !this.#isBlocked && this.#transport !== undefined) from += this.#writeSome(this.#transport, from);
    this.#pending = from === this.#pending.length ? [] : this.#pending.slice(from);
  }

  #open(): void {
    const events: AppendTransportEvents = {
      reply: (reply) => this.#transport === transport && this.#replied(reply),
      drained: () => {
        if (this.#transport !== transport) return;
        this.#isBlocked = false;
        this.#flushTurn();
      },
      ended: () => this.#transport === transport && this.#fail('UNAVAILABLE'),
    };
    const transport = this.#o.open(events);
    this.#transport = transport;
    this.#isGreeted = false;
    this.#firstSequence = 0;
    this.#isBlocked = !transport.write({ kind: 'hello', version: appendStreamVersion, expected: this.#o.expected });
  }

  /** Writes one message of pending batches, the first one whatever its size; returns how many. */
  #writeSome(transport: AppendTransport, from: number): number {
    const batches: Buffer[] = [];
    const firstSequence = this.#firstSequence + this.#written.length;
    let bytes = 0;
    for (let at = from; at < this.#pending.length; at++) {
      const item = this.#pending[at] as Outstanding;
      bytes += item.batch.bytes.length;
      if (batches.length > 0 && bytes > appendRequestBytesDefault) break;
      batches.push(item.batch.bytes);
      this.#written.push(item);
    }
    this.#isBlocked = !transport.write({ kind: 'batches', firstSequence, batches });
    return batches.length;
  }

  #replied(reply: AppendReply): void {
    if (reply.kind === 'hello') {
      // Another bookie at the address, or other disks: nothing was or will be stored (P6).
      if (reply.code !== 'OK' || !isSameIdentity(reply.identity, this.#o.expected)) this.#fail('UNAVAILABLE');
      else this.#isGreeted = true;
      return;
    }
    if (this.#isGreeted && reply.ranges.every((range) => this.#acknowledged(range))) this.#dropAnswered();
    else this.#fail('UNAVAILABLE');
  }

  /** False when the range makes no sense: then nothing on this stream does. */
  #acknowledged({ first, last, code }: AppendAcknowledgement): boolean {
    const written = this.#written;
    const base = this.#firstSequence;
    if (first < base || last >= base + written.length) return false;
    for (let sequence = first; sequence <= last; sequence++) {
      const item = written[sequence - base] as Outstanding;
      if (item.isAnswered) return false;
      item.isAnswered = true;
      this.#bytes -= item.batch.bytes.length;
      item.done(code);
      if (this.#written !== written) return true; // `done` closed the stream.
    }
    return true;
  }

  #dropAnswered(): void {
    let count = 0;
    while (this.#written[count]?.isAnswered === true) count++;
    if (count === 0) return;
    this.#written = this.#written.slice(count);
    this.#firstSequence += count;
  }

  #fail(code: 'UNAVAILABLE' | 'TIMEOUT'): void {
    const transport = this.#transport;
    const unanswered = [...this.#written, ...this.#pending].filter((item) => !item.isAnswered);
    this.#transport = undefined;
    this.#isBlocked = false;
    this.#written = [];
    this.#pending = [];
    this.#bytes = 0;
    this.#patience.stop();
    transport?.cancel();
    for (const item of unanswered) item.done(code);
  }

  /** Looks at the oldest: everything behind it waits for less long. */
  /** @internal For the timer. */
  judge(nowMs: number): void {
    const oldest = this.#oldest();
    if (oldest !== undefined && nowMs - oldest.atMs >= this.#o.timeoutMs) this.#fail('TIMEOUT');
  }

  #oldest(): Outstanding | undefined {
    return this.#written.find((item) => !item.isAnswered) ?? this.#pending[0];
  }
}
