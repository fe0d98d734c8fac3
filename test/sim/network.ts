import type { BookieConnection, ConnectBookie } from '@daybook/ledger';
import { AppendStream } from '@daybook/ledger/testing';
import type { RegisteredBookie } from '@daybook/metadata';
import {
  type Addressed,
  type AppendBatch,
  type AwaitLacReply,
  type AwaitLacRequest,
  type BookieCode,
  type BookieId,
  type BookieIdentity,
  type BookieInfoReply,
  type BookieMethod,
  type BookieService,
  bookieServiceDefinition,
  type CodeReply,
  type FenceRequest,
  type ForceRequest,
  isSameIdentity,
  type LacReply,
  type LedgerId,
  type ListEntriesReply,
  type ReadReply,
  type ReadRequest,
  type WriteLacRequest,
} from '@daybook/proto';
import { type ByteBudget, below } from '@daybook/runtime';
import type { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import { machineOf, Stream, type StreamOptions } from './stream.js';

/** What goes wrong on the way. Chances are per message. */
export interface NetworkFaults {
  delayMsMin: number;
  delayMsMax: number;
  /** A single request or reply never arrives; a message of a stream arrives late, as after a retransmission. */
  lossChance: number;
  duplicateChance: number;
  /** The stream breaks: what is under way may or may not still arrive. */
  resetChance: number;
  /** Of an answer with entries: a bit of one of them flips where no checksum of the network sees it. */
  flipChance: number;
}

export const calmNetwork: NetworkFaults = { delayMsMin: 0.1, delayMsMax: 0.6, lossChance: 0, duplicateChance: 0, resetChance: 0, flipChance: 0 };

/** One direction between two machines. */
export interface Link {
  isCut: boolean;
  slowedByMs: number;
  waiting: (() => void)[];
}

/** A bookie process that listens. */
export interface Listener {
  readonly machine: string;
  readonly clock: SimClock;
  readonly identity: BookieIdentity;
  readonly service: BookieService;
  /** Appends that its process has received and not answered, of all streams. */
  readonly appends: ByteBudget;
}

export interface NetworkTimeouts {
  appendMs: number;
  requestMs: number;
}

const retransmitMs = 250;

/** Messages between machines: nothing but bytes goes over it. */
export class Network {
  readonly queue: EventQueue;
  readonly random: SimRandom;
  faults: NetworkFaults = calmNetwork;
  readonly #timeouts: NetworkTimeouts;
  readonly #links = new Map<string, Link>();
  readonly #listeners = new Map<string, Listener>();
  readonly #streams = new Set<Stream>();
  /** Machines without power: nobody there to refuse a connection. */
  readonly dark = new Set<string>();

  constructor(queue: EventQueue, timeouts: NetworkTimeouts) {
    this.queue = queue;
    this.random = queue.random.fork('network');
    this.#timeouts = timeouts;
  }

  link(from: string, to: string): Link {
    const key = `${from}>${to}`;
    let link = this.#links.get(key);
    if (link === undefined) {
      link = { isCut: false, slowedByMs: 0, waiting: [] };
      this.#links.set(key, link);
    }
    return link;
  }

  cut(from: string, to: string): void {
    this.link(from, to).isCut = true;
  }

  heal(from: string, to: string): void {
    const link = this.link(from, to);
    link.isCut = false;
    const waiting = link.waiting;
    link.waiting = [];
    for (const task of waiting) this.queue.schedule(this.random.between(0, retransmitMs), task, `net ${from}>${to} again`);
  }

  healAll(): void {
    this.faults = calmNetwork;
    for (const [key, link] of this.#links) {
      link.slowedByMs = 0;
      const [from, to] = key.split('>') as [string, string];
      if (link.isCut) this.heal(from, to);
    }
  }

  listen(address: string, listener: Listener): void {
    this.#listeners.set(address, listener);
  }

  listenerAt(address: string): Listener | undefined {
    return this.#listeners.get(address);
  }

  /** The process behind an address has ended. With the power gone, its peers hear nothing. */
  unlisten(address: string, { isSilent }: { isSilent: boolean }): void {
    const listener = this.#listeners.get(address);
    this.#listeners.delete(address);
    for (const stream of [...this.#streams]) {
      if (stream.listener !== undefined && stream.listener === listener && !isSilent) stream.break();
    }
  }

  /** For one process on `machine`, whose clock says when it hears of anything. */
  connectFrom(machine: string, clock: SimClock): ConnectBookie {
    return (bookie) => new Connection(this, { machine, clock, bookie, timeouts: this.#timeouts });
  }

  delayMs(from: string, to: string): number {
    return this.random.between(this.faults.delayMsMin, this.faults.delayMsMax) + this.link(from, to).slowedByMs;
  }

  received<Reply>(bytes: Buffer, decode: (bytes: Buffer) => Reply): Reply {
    if (!this.random.chance(this.faults.flipChance)) return decode(bytes);
    // A copy: the same message may have arrived already, and its entries be in use.
    const reply = decode(Buffer.from(bytes));
    const { entries = [], lastEntry, entry } = reply as { entries?: Buffer[]; lastEntry?: Buffer; entry?: Buffer };
    const all = [...entries, lastEntry, entry].filter((bytes) => bytes !== undefined);
    const flipped = all[below(this.random, all.length)];
    const at = below(this.random, flipped?.length ?? 0);
    if (flipped?.[at] !== undefined) flipped[at] ^= 1 << below(this.random, 8);
    return reply;
  }

  /** A single message: it may get lost or come twice, and overtakes. */
  post(from: string, to: string, what: string, deliver: () => void): void {
    const copies = this.random.chance(this.faults.duplicateChance) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      if (this.link(from, to).isCut || this.random.chance(this.faults.lossChance)) continue;
      this.queue.schedule(
        this.delayMs(from, to),
        () => {
          if (!this.link(from, to).isCut) deliver();
        },
        `net ${from}>${to} ${what}`,
      );
    }
  }

  openStream(options: StreamOptions): Stream {
    const stream = new Stream(this, options, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream;
  }
}

interface ConnectionOptions {
  machine: string;
  clock: SimClock;
  bookie: RegisteredBookie;
  timeouts: NetworkTimeouts;
}

interface UnaryCall<Request, Reply> {
  method: BookieMethod<Request, Reply>;
  name: string;
  request: Request;
  serve(listener: Listener, request: Request): Promise<Reply>;
  failed(code: BookieCode): Reply;
}

/** The caller's end: the real append stream over a simulated transport, and single requests with a time-out. */
class Connection implements BookieConnection, BookieService {
  readonly bookieId: BookieId;
  readonly service = this;
  readonly #network: Network;
  readonly #o: ConnectionOptions;
  readonly #expected: BookieIdentity;
  readonly #appends: AppendStream;
  readonly #pending = new Set<(code: BookieCode) => void>();
  #isClosed = false;

  constructor(network: Network, options: ConnectionOptions) {
    const { bookie, clock, timeouts } = options;
    this.#network = network;
    this.#o = options;
    this.bookieId = bookie.bookieId;
    this.#expected = { bookieId: bookie.bookieId, incarnation: bookie.incarnation };
    this.#appends = new AppendStream({
      clock,
      expected: this.#expected,
      open: (events) => network.openStream({ machine: options.machine, clock, address: bookie.address, events }),
      outstandingBytesMax: 256 * 1024,
      timeoutMs: timeouts.appendMs,
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#appends.close();
    for (const end of [...this.#pending]) end('UNAVAILABLE');
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    this.#appends.append(batch, done);
  }

  read(request: ReadRequest): Promise<ReadReply> {
    return this.#call<Addressed<ReadRequest>, ReadReply>({
      method: bookieServiceDefinition.read,
      name: 'read',
      request: { expected: this.#expected, request },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE', entries: [] }, () => listener.service.read(asked.request)),
      failed: (code) => ({ code, entries: [] }),
    });
  }

  fence(request: FenceRequest): Promise<LacReply> {
    return this.#call<Addressed<FenceRequest>, LacReply>({
      method: bookieServiceDefinition.fence,
      name: 'fence',
      request: { expected: this.#expected, request },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE' }, () => listener.service.fence(asked.request)),
      failed: (code) => ({ code }),
    });
  }

  readLac(ledgerId: LedgerId): Promise<LacReply> {
    return this.#call<Addressed<LedgerId>, LacReply>({
      method: bookieServiceDefinition.readLac,
      name: 'read-lac',
      request: { expected: this.#expected, request: ledgerId },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE' }, () => listener.service.readLac(asked.request)),
      failed: (code) => ({ code }),
    });
  }

  awaitLac(request: AwaitLacRequest, stop?: AbortSignal): Promise<AwaitLacReply> {
    const call: UnaryCall<Addressed<AwaitLacRequest>, AwaitLacReply> = {
      method: bookieServiceDefinition.awaitLac,
      name: 'await-lac',
      request: { expected: this.#expected, request },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE' }, () => listener.service.awaitLac(asked.request)),
      failed: (code) => ({ code }),
    };
    return this.#call(call, { timeoutMs: request.timeoutMs + this.#o.timeouts.requestMs, stop });
  }

  writeLac(request: WriteLacRequest): Promise<CodeReply> {
    return this.#call<Addressed<WriteLacRequest>, CodeReply>({
      method: bookieServiceDefinition.writeLac,
      name: 'write-lac',
      request: { expected: this.#expected, request },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE' }, () => listener.service.writeLac(asked.request)),
      failed: (code) => ({ code }),
    });
  }

  force(request: ForceRequest): Promise<CodeReply> {
    return this.#call<Addressed<ForceRequest>, CodeReply>({
      method: bookieServiceDefinition.force,
      name: 'force',
      request: { expected: this.#expected, request },
      serve: (listener, asked) => guarded(listener, asked.expected, { code: 'UNAVAILABLE' }, () => listener.service.force(asked.request)),
      failed: (code) => ({ code }),
    });
  }

  listEntries(ledgerId: LedgerId): Promise<ListEntriesReply> {
    return this.#call<Addressed<LedgerId>, ListEntriesReply>({
      method: bookieServiceDefinition.listEntries,
      name: 'list',
      request: { expected: this.#expected, request: ledgerId },
      serve: (listener, asked) =>
        guarded(listener, asked.expected, { code: 'UNAVAILABLE', runs: [] }, () => listener.service.listEntries(asked.request)),
      failed: (code) => ({ code, runs: [] }),
    });
  }

  info(): Promise<BookieInfoReply> {
    const none: BookieInfoReply = { code: 'UNAVAILABLE', totalBytes: 0, freeBytes: 0 };
    return this.#call<BookieIdentity, BookieInfoReply>({
      method: bookieServiceDefinition.info,
      name: 'info',
      request: this.#expected,
      serve: (listener, expected) => guarded(listener, expected, none, () => listener.service.info()),
      failed: (code) => ({ ...none, code }),
    });
  }

  #call<Request, Reply>(
    call: UnaryCall<Request, Reply>,
    { timeoutMs, stop }: { timeoutMs: number; stop: AbortSignal | undefined } = { timeoutMs: this.#o.timeouts.requestMs, stop: undefined },
  ): Promise<Reply> {
    const { machine, clock, bookie } = this.#o;
    return new Promise((resolve) => {
      if (this.#isClosed) return clock.endOfTurn(() => resolve(call.failed('UNAVAILABLE')));
      let isAnswered = false;
      const answer = (reply: Reply) => {
        if (isAnswered) return;
        isAnswered = true;
        this.#pending.delete(end);
        timer.cancel();
        resolve(reply);
      };
      const end = (code: BookieCode) => answer(call.failed(code));
      const timer = clock.after(timeoutMs, () => end('TIMEOUT'));
      stop?.addEventListener('abort', () => end('UNAVAILABLE'), { once: true });
      this.#pending.add(end);
      const bytes = call.method.requestSerialize(call.request);
      const network = this.#network;
      const target = machineOf(bookie.address);
      network.post(machine, target, call.name, () => {
        const listener = network.listenerAt(bookie.address);
        const reply = (what: string, task: () => void) => network.post(target, machine, what, () => clock.deliver(task));
        if (listener === undefined) {
          if (!network.dark.has(target)) reply('refused', () => end('UNAVAILABLE'));
          return;
        }
        listener.clock.deliver(() => {
          void call.serve(listener, call.method.requestDeserialize(bytes)).then((result) => {
            if (listener.clock.state === 'stopped') return;
            const replyBytes = call.method.responseSerialize(result);
            reply(`${call.name} reply`, () => answer(network.received(replyBytes, call.method.responseDeserialize)));
          });
        });
      });
    });
  }
}

/** A request meant for other disks is answered without a look at these (P6). */
async function guarded<Reply>(listener: Listener, expected: BookieIdentity, refusal: Reply, serve: () => Promise<Reply>): Promise<Reply> {
  return isSameIdentity(expected, listener.identity) ? serve() : refusal;
}
