import { AppendSession } from '@daybook/bookie/testing';
import type { AppendTransport, AppendTransportEvents } from '@daybook/ledger/testing';
import { type AppendReply, bookieServiceDefinition } from '@daybook/proto';
import { below } from '@daybook/runtime';
import type { SimClock } from '@daybook/runtime/sim';
import type { Listener, Network } from './network.js';
import { Pipe } from './pipe.js';

export interface StreamOptions {
  machine: string;
  clock: SimClock;
  address: string;
  events: AppendTransportEvents;
}

/** Outgoing bytes at which a writer has to wait. */
const windowBytes = 24 * 1024;
/** Unanswered bytes of one stream at which the bookie does not read it any more. */
const unansweredBytesMax = 48 * 1024;

/** Addresses of this world are `machine:port`. */
export function machineOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

/**
 * An append stream as two ordered pipes of bytes, between the client's real stream and the bookie's real session. It may break; then a first part of what is
 * under way still arrives.
 */
export class Stream implements AppendTransport {
  listener: Listener | undefined;
  readonly #network: Network;
  readonly #o: StreamOptions;
  readonly #target: string;
  readonly #forward: Pipe;
  readonly #back: Pipe;
  readonly #onEnd: () => void;
  #session: AppendSession | undefined;
  #state: 'open' | 'broken' | 'cancelled' = 'open';
  #isBlocked = false;
  #isBackBlocked = false;
  /** What arrived while the bookie did not read. */
  #unread: Buffer[] | undefined;

  constructor(network: Network, options: StreamOptions, onEnd: () => void) {
    this.#network = network;
    this.#o = options;
    this.#onEnd = onEnd;
    this.#target = machineOf(options.address);
    this.#forward = new Pipe(network, options.machine, this.#target);
    this.#back = new Pipe(network, this.#target, options.machine);
  }

  write(request: Parameters<AppendTransport['write']>[0]): boolean {
    if (this.#state !== 'open') return true;
    const bytes = bookieServiceDefinition.append.requestSerialize(request);
    this.#forward.send('append', bytes.length, () => this.#arrived(bytes));
    if (this.#network.random.chance(this.#network.faults.resetChance)) this.break();
    if (this.#forward.bytes < windowBytes) return true;
    this.#isBlocked = true;
    return false;
  }

  cancel(): void {
    if (this.#state === 'open') this.#end('cancelled');
  }

  /** The connection is gone; its client hears of it unless the way back is cut. */
  break(): void {
    if (this.#state !== 'open') return;
    this.#end('broken');
    this.#tellEnd('reset');
  }

  #end(state: 'broken' | 'cancelled'): void {
    this.#state = state;
    this.#onEnd();
    for (const pipe of [this.#forward, this.#back]) pipe.keepFirst(below(this.#network.random, pipe.count + 1));
    this.#forward.send('closed', 0, () => this.listener?.clock.deliver(() => this.#session?.closed()));
  }

  /** By the bookie, after what it sent; with a text when its client broke the rules. */
  #endedByBookie(refusal?: string): void {
    if (refusal !== undefined) this.break();
    if (this.#state !== 'open') return;
    this.#state = 'broken';
    this.#onEnd();
    this.#tellEnd('end');
  }

  #tellEnd(what: string): void {
    this.#back.send(what, 0, () => this.#o.clock.deliver(() => this.#o.events.ended()));
  }

  #arrived(bytes: Buffer): void {
    this.#unblock();
    const listener = this.#network.listenerAt(this.#o.address);
    if (listener === undefined || (this.listener !== undefined && this.listener !== listener)) {
      if (!this.#network.dark.has(this.#target)) this.break();
      return;
    }
    this.listener = listener;
    this.#session ??= this.#open(listener);
    listener.clock.deliver(() => this.#read(bytes));
  }

  #read(bytes: Buffer): void {
    if (this.#unread !== undefined) this.#unread.push(bytes);
    else this.#session?.receive(bookieServiceDefinition.append.requestDeserialize(bytes));
  }

  #open({ service, identity, clock, appends }: Listener): AppendSession {
    return new AppendSession({
      service,
      identity,
      clock,
      budget: appends,
      bytesMax: unansweredBytesMax,
      channel: {
        send: (reply) => this.#reply(reply),
        pause: () => {
          this.#unread ??= [];
        },
        resume: () => this.#resume(),
        end: (refusal) => this.#endedByBookie(refusal),
      },
    });
  }

  #resume(): void {
    const unread = this.#unread ?? [];
    this.#unread = undefined;
    // It may stop reading again meanwhile.
    for (const bytes of unread) this.#read(bytes);
  }

  /** False when the client does not take its answers. */
  #reply(reply: AppendReply): boolean {
    if (this.#state !== 'open') return true;
    const bytes = bookieServiceDefinition.append.responseSerialize(reply);
    this.#back.send('append reply', bytes.length, () => {
      this.#unblockBack();
      this.#o.clock.deliver(() => this.#o.events.reply(bookieServiceDefinition.append.responseDeserialize(bytes)));
    });
    if (this.#back.bytes < windowBytes) return true;
    this.#isBackBlocked = true;
    return false;
  }

  #unblock(): void {
    if (!this.#isBlocked || this.#forward.bytes >= windowBytes / 2 || this.#state !== 'open') return;
    this.#isBlocked = false;
    this.#o.clock.deliver(() => this.#o.events.drained());
  }

  #unblockBack(): void {
    if (!this.#isBackBlocked || this.#back.bytes >= windowBytes / 2) return;
    this.#isBackBlocked = false;
    this.listener?.clock.deliver(() => this.#session?.drained());
  }
}
