/** A publish on its way to the bookies. */
export interface Unanswered {
  context: string | undefined;
  bytes: number;
  sentAtMs: number;
}

/** An empty ring keeps no more slots than this: what a burst needed is not kept by an idle socket. */
const emptySlotsMax = 64;

/** Publishes of one socket that have no answer yet, oldest first: a ring of reused slots, so that a message costs no object. */
export class UnansweredRing {
  #slots: Unanswered[] = [];
  #mask = -1;
  #head = 0;
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The oldest one, or undefined. Valid until the next push. */
  get oldest(): Unanswered | undefined {
    return this.#count === 0 ? undefined : this.#slots[this.#head];
  }

  push(context: string | undefined, bytes: number, sentAtMs: number): void {
    if (this.#count > this.#mask) this.#grow();
    const slot = this.#slots[(this.#head + this.#count) & this.#mask] as Unanswered;
    slot.context = context;
    slot.bytes = bytes;
    slot.sentAtMs = sentAtMs;
    this.#count++;
    this.#bytes += bytes;
  }

  /** Removes the oldest one and returns its context. */
  shift(): string | undefined {
    const slot = this.#slots[this.#head] as Unanswered;
    const { context } = slot;
    slot.context = undefined;
    this.#head = (this.#head + 1) & this.#mask;
    this.#count--;
    this.#bytes -= slot.bytes;
    if (this.#count === 0 && this.#mask >= emptySlotsMax) this.#drop();
    return context;
  }

  /** Takes the newest one back and returns its context. */
  pop(): string | undefined {
    this.#count--;
    const slot = this.#slots[(this.#head + this.#count) & this.#mask] as Unanswered;
    const { context } = slot;
    slot.context = undefined;
    this.#bytes -= slot.bytes;
    return context;
  }

  #drop(): void {
    this.#slots = [];
    this.#mask = -1;
    this.#head = 0;
  }

  #grow(): void {
    const ordered: Unanswered[] = [];
    for (let i = 0; i < this.#count; i++) ordered.push(this.#slots[(this.#head + i) & this.#mask] as Unanswered);
    const size = Math.max(1, this.#count * 2);
    while (ordered.length < size) ordered.push({ context: undefined, bytes: 0, sentAtMs: 0 });
    this.#slots = ordered;
    this.#mask = size - 1;
    this.#head = 0;
  }
}
