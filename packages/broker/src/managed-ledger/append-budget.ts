/** Who waits for room. */
export interface RoomWaiter {
  /** There is room again. */
  roomMade(): void;
}

/** Bytes of unanswered appends over all logs of a broker. */
export class AppendBudget {
  readonly #bytesMax: number;
  #bytes = 0;
  #waiting = new Set<RoomWaiter>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#waiting.size === 0 || this.#bytes > this.#bytesMax * 0.75) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const waiter of waiting) waiter.roomMade();
  }

  /** Tells `waiter` once there is room again. */
  onRoom(waiter: RoomWaiter): void {
    this.#waiting.add(waiter);
  }

  forget(waiter: RoomWaiter): void {
    this.#waiting.delete(waiter);
  }
}
