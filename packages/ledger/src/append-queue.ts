import type { EntryId } from '@daybook/proto';

interface Waiting {
  readonly payload: Buffer;
  readonly resolve: (entryId: EntryId | Promise<EntryId>) => void;
  readonly reject: (error: unknown) => void;
}

/** Appends that found the window full, in their order, with copies of their payloads. */
export class AppendQueue {
  #waiting: Waiting[] = [];
  #head = 0;
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#head === this.#waiting.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(payload: Uint8Array): Promise<EntryId> {
    this.#bytes += payload.length;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ payload: Buffer.from(payload), resolve, reject });
    });
  }

  /** Hands over the first one. */
  takeFirst(append: (payload: Buffer) => Promise<EntryId>): void {
    const first = this.#waiting[this.#head] as Waiting;
    this.#head++;
    this.#bytes -= first.payload.length;
    if (this.isEmpty) this.#clear();
    else if (this.#head > 256 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    try {
      first.resolve(append(first.payload));
    } catch (error) {
      first.reject(error);
    }
  }

  failed(error: Error): void {
    const rest = this.#waiting.slice(this.#head);
    this.#clear();
    for (const { reject } of rest) reject(error);
  }

  #clear(): void {
    this.#waiting = [];
    this.#head = 0;
    this.#bytes = 0;
  }
}
