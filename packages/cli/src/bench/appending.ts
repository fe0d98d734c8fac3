import { randomBytes } from 'node:crypto';
import type { LedgerWriter } from '@daybook/ledger';
import type { Latencies } from './latencies.js';

export interface AppendingOptions {
  writer: LedgerWriter;
  entryBytes: number;
  unansweredMax: number;
  latencies: Latencies;
  onFailure(why: string): void;
}

/** A ledger writer that always has as many entries unconfirmed as allowed. */
export class Appending {
  readonly #options: AppendingOptions;
  readonly #payload: Buffer;
  readonly #sentMs: Float64Array;
  #sent = 0;
  #confirmed = 0;
  #isFilling = false;
  #isStopped = false;
  #drained: (() => void) | undefined;

  constructor(options: AppendingOptions) {
    this.#options = options;
    this.#payload = randomBytes(options.entryBytes);
    this.#sentMs = new Float64Array(options.unansweredMax);
    options.writer.listen({
      confirmed: (lastAddConfirmed) => this.#noteConfirmed(lastAddConfirmed + 1),
      failed: (error) => options.onFailure(error.message),
    });
    this.#fill();
  }

  get confirmed(): number {
    return this.#confirmed;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#confirmed === this.#sent) return;
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  #fill(): void {
    this.#isFilling = false;
    const { writer, unansweredMax } = this.#options;
    const nowMs = performance.now();
    while (!this.#isStopped && this.#sent - this.#confirmed < unansweredMax) {
      if (writer.isFull) {
        writer.onDrain(() => this.#fillSoon());
        return;
      }
      this.#sentMs[this.#sent++ % unansweredMax] = nowMs;
      writer.push(this.#payload);
    }
  }

  #fillSoon(): void {
    if (this.#isFilling) return;
    this.#isFilling = true;
    setImmediate(() => this.#fill());
  }

  #noteConfirmed(confirmed: number): void {
    const nowMs = performance.now();
    for (; this.#confirmed < confirmed; this.#confirmed++) {
      this.#options.latencies.add(nowMs - this.#sentMs[this.#confirmed % this.#options.unansweredMax]!);
    }
    if (this.#isStopped && this.#confirmed === this.#sent) this.#drained?.();
    this.#fillSoon();
  }
}
