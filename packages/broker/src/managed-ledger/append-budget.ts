/** Bytes of unanswered appends over all logs of a broker. */
export class AppendBudget {
  readonly #bytesMax: number;
  #bytes = 0;
  #waiting = new Set<() => void>();

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
    for (const task of waiting) task();
  }

  /** Calls `task` once there is room again. */
  onRoom(task: () => void): void {
    this.#waiting.add(task);
  }

  forget(task: () => void): void {
    this.#waiting.delete(task);
  }
}
