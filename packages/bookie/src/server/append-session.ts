import {
  type AppendBatch,
  type AppendReply,
  type AppendRequest,
  appendStreamVersion,
  type BookieCode,
  type BookieIdentity,
  type BookieService,
  decodeAppendBatch,
  isSameIdentity,
} from '@daybook/proto';
import { type ByteBudget, type Clock, DaybookError } from '@daybook/runtime';

/** The stream as the session needs it. */
export interface AppendChannel {
  /** False when the client does not take its answers fast enough: {@link AppendSession.drained} follows. */
  send(reply: AppendReply): boolean;
  pause(): void;
  resume(): void;
  /** Ends the stream after what was sent; with a text when the client broke the rules. */
  end(refusal?: string): void;
}

export interface AppendSessionOptions {
  service: BookieService;
  identity: BookieIdentity;
  clock: Clock;
  budget: ByteBudget;
  channel: AppendChannel;
  /** Unanswered bytes of this stream at which it is not read any more. */
  bytesMax: number;
}

interface Range {
  first: number;
  last: number;
  code: BookieCode;
}

/**
 * One append stream: hello, then batches one way and acknowledgements, as ranges, the other; those of one turn go as one message.
 *
 * States: expecting-hello -> open -> ended.
 */
export class AppendSession {
  readonly #options: AppendSessionOptions;
  #state: 'expecting-hello' | 'open' | 'ended' = 'expecting-hello';
  #nextSequence = 0;
  #outstandingBytes = 0;
  #ranges: Range[] = [];
  #isSendScheduled = false;
  #isWritable = true;
  #isPaused = false;
  #isResuming = false;

  constructor(options: AppendSessionOptions) {
    this.#options = options;
  }

  receive(message: AppendRequest): void {
    if (this.#state === 'ended') return;
    if (message.kind === 'hello') this.#greet(message);
    else if (this.#state === 'open') this.#append(message.firstSequence, message.batches);
    else this.#refuse('the first message must be a hello');
  }

  /** The channel takes answers again. */
  drained(): void {
    this.#isWritable = true;
    this.#resumeIfPossible();
  }

  /** The stream is gone; what is under way is finished without anybody to tell. */
  closed(): void {
    this.#state = 'ended';
    this.#ranges = [];
  }

  #greet({ version, expected }: Extract<AppendRequest, { kind: 'hello' }>): void {
    if (this.#state === 'open') {
      this.#refuse('there is only one hello');
      return;
    }
    const { identity, channel } = this.#options;
    const isMeant = version === appendStreamVersion && isSameIdentity(expected, identity);
    channel.send({ kind: 'hello', version: appendStreamVersion, identity, code: isMeant ? 'OK' : 'UNAVAILABLE' });
    this.#state = isMeant ? 'open' : 'ended';
    if (!isMeant) channel.end();
  }

  #append(firstSequence: number, batches: readonly Buffer[]): void {
    if (firstSequence !== this.#nextSequence) {
      this.#refuse(`batch ${firstSequence} came where ${this.#nextSequence} was due`);
      return;
    }
    this.#nextSequence += batches.length;
    for (const [i, bytes] of batches.entries()) this.#appendOne(firstSequence + i, bytes);
    const { budget, bytesMax, channel } = this.#options;
    if (this.#isPaused || (this.#outstandingBytes < bytesMax && !budget.isFull && this.#isWritable)) return;
    this.#isPaused = true;
    channel.pause();
    this.#resumeIfPossible();
  }

  #appendOne(sequence: number, bytes: Buffer): void {
    this.#outstandingBytes += bytes.length;
    this.#options.budget.take(bytes.length);
    let batch: AppendBatch;
    try {
      batch = decodeAppendBatch(bytes);
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      this.#answer(sequence, 'BAD_REQUEST', bytes.length);
      return;
    }
    this.#options.service.append(batch, (code) => this.#answer(sequence, code, bytes.length));
  }

  #answer(sequence: number, code: BookieCode, bytes: number): void {
    this.#outstandingBytes -= bytes;
    this.#options.budget.release(bytes);
    if (this.#state === 'ended') return;
    const last = this.#ranges.at(-1);
    if (last !== undefined && last.last + 1 === sequence && last.code === code) last.last = sequence;
    else this.#ranges.push({ first: sequence, last: sequence, code });
    if (!this.#isSendScheduled) {
      this.#isSendScheduled = true;
      this.#options.clock.endOfTurn(() => this.#send());
    }
    if (this.#isPaused) this.#resumeIfPossible();
  }

  #send(): void {
    this.#isSendScheduled = false;
    if (this.#state !== 'open' || this.#ranges.length === 0) return;
    const ranges = this.#ranges;
    this.#ranges = [];
    this.#isWritable = this.#options.channel.send({ kind: 'acknowledgements', ranges }) && this.#isWritable;
  }

  #resumeIfPossible(): void {
    const { budget, bytesMax, channel } = this.#options;
    if (!this.#isPaused || this.#isResuming || !this.#isWritable || this.#outstandingBytes > bytesMax / 2) return;
    this.#isResuming = true;
    budget.onAvailable(() => {
      this.#isResuming = false;
      this.#isPaused = false;
      if (this.#state !== 'ended') channel.resume();
    });
  }

  #refuse(why: string): void {
    this.#state = 'ended';
    this.#options.channel.end(why);
  }
}
