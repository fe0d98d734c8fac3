import type { Network } from './network.js';

interface Item {
  readonly what: string;
  readonly bytes: number;
  readonly atMs: number;
  readonly deliver: () => void;
}

/** One direction of a connection: in order, without loss; slow while messages are retransmitted, silent while the link is cut. */
export class Pipe {
  readonly #network: Network;
  readonly #from: string;
  readonly #to: string;
  #items: Item[] = [];
  #lastAtMs = 0;
  #isMoving = false;
  #bytes = 0;

  constructor(network: Network, from: string, to: string) {
    this.#network = network;
    this.#from = from;
    this.#to = to;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#items.length;
  }

  send(what: string, bytes: number, deliver: () => void): void {
    const { queue, random, faults } = this.#network;
    const lateMs = random.chance(faults.lossChance) ? random.between(50, 400) : 0;
    this.#lastAtMs = Math.max(this.#lastAtMs, queue.nowMs + this.#network.delayMs(this.#from, this.#to) + lateMs);
    this.#items.push({ what, bytes, atMs: this.#lastAtMs, deliver });
    this.#bytes += bytes;
    this.#move();
  }

  /** Drops what was sent after the first `count` messages that have not arrived. */
  keepFirst(count: number): void {
    this.#items = this.#items.slice(0, count);
    this.#bytes = this.#items.reduce((sum, item) => sum + item.bytes, 0);
  }

  #move(): void {
    const head = this.#items[0];
    if (this.#isMoving || head === undefined) return;
    this.#isMoving = true;
    const { queue } = this.#network;
    queue.schedule(Math.max(0, head.atMs - queue.nowMs), () => this.#arrive(), `net ${this.#from}>${this.#to} ${head.what}`);
  }

  #arrive(): void {
    const link = this.#network.link(this.#from, this.#to);
    if (link.isCut) {
      link.waiting.push(() => this.#arrive());
      return;
    }
    this.#isMoving = false;
    const head = this.#items.shift();
    if (head === undefined) return;
    this.#bytes -= head.bytes;
    head.deliver();
    this.#move();
  }
}
