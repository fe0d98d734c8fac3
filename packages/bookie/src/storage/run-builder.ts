import { type Run, runBytes } from './index-format.js';
import { grown } from './range-chains.js';

/** Gathers consecutive entries of a ledger into runs. */
export class RunBuilder {
  readonly #runs: Run[] = [];
  #positions = new Uint32Array(1024);
  #count = 0;
  #end = 0;

  get bytes(): number {
    return this.#count * 4 + this.#runs.length * runBytes(0);
  }

  add(ledgerId: number, entryId: number, position: number, end: number): void {
    const run = this.#runs.at(-1);
    if (run !== undefined && run.ledgerId === ledgerId && run.firstEntryId + run.count === entryId && position === this.#end) {
      run.count++;
    } else {
      this.#endRun();
      this.#runs.push({ ledgerId, firstEntryId: entryId, count: 1, positions: this.#positions, at: this.#count });
    }
    this.#push(position);
    this.#end = end;
  }

  finish(): Run[] {
    this.#endRun();
    for (const run of this.#runs) run.positions = this.#positions;
    return this.#runs;
  }

  #endRun(): void {
    if (this.#runs.length > 0) this.#push(this.#end);
  }

  #push(position: number): void {
    if (this.#count === this.#positions.length) this.#positions = grown(this.#positions, new Uint32Array(this.#count * 2));
    this.#positions[this.#count++] = position;
  }
}
