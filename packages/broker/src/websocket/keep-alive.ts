import type { Clock, Timer } from '@daybook/runtime';

/** A socket as the keep-alive sees it. */
export interface Pinged {
  ping(): void;
  /** Ends the session: the client has not been heard for two pings. */
  silent(): void;
  /** True while this side does not read from the socket for reasons of its own: nothing can be heard then. */
  readonly isNotReadByUs: boolean;
}

/** How a socket tells that its client was heard. */
export interface KeepAliveTicket {
  heard(): void;
  stop(): void;
}

/**
 * Pings every socket every `periodMs`; a client that leaves two pings unanswered is out. One timer for all sockets, none without sockets: an idle
 * socket costs one ping in a period and nothing else.
 */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #watched = new Set<Ticket>();
  #timer: Timer | undefined;

  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  watch(socket: Pinged): KeepAliveTicket {
    const watched = new Ticket(socket, this.#watched);
    this.#watched.add(watched);
    this.#timer ??= this.#clock.after(this.#periodMs, this.#tick);
    return watched;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#watched.clear();
  }

  readonly #tick = (): void => {
    this.#timer = this.#watched.size === 0 ? undefined : this.#clock.after(this.#periodMs, this.#tick);
    for (const watched of [...this.#watched]) {
      if (watched.unanswered >= 2) {
        this.#watched.delete(watched);
        watched.socket.silent();
        continue;
      }
      watched.unanswered = watched.socket.isNotReadByUs ? 0 : watched.unanswered + 1;
      watched.socket.ping();
    }
  };
}

class Ticket implements KeepAliveTicket {
  readonly socket: Pinged;
  unanswered = 0;
  readonly #watched: Set<Ticket>;

  constructor(socket: Pinged, watched: Set<Ticket>) {
    this.socket = socket;
    this.#watched = watched;
  }

  heard(): void {
    this.unanswered = 0;
  }

  stop(): void {
    this.#watched.delete(this);
  }
}
