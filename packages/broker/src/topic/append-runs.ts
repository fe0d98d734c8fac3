import { invariant } from '@daybook/runtime';

/**
 * Who appended what, oldest first: a ring of runs (producer, number of consecutive appends). The log answers in order and by count, so nothing is kept per message.
 */
export class AppendRuns<Owner> {
  #owners: (Owner | undefined)[] = [];
  #counts: number[] = [];
  #head = 0;
  #size = 0;
  #total = 0;

  /** Appends not yet answered. */
  get count(): number {
    return this.#total;
  }

  /** One more append by `owner`. */
  push(owner: Owner): void {
    this.#total++;
    if (this.#size > 0) {
      const last = this.#index(this.#size - 1);
      if (this.#owners[last] === owner) {
        this.#counts[last]!++;
        return;
      }
    }
    if (this.#size === this.#owners.length) this.#grow();
    const at = this.#index(this.#size++);
    this.#owners[at] = owner;
    this.#counts[at] = 1;
  }

  /** Removes the oldest `count` appends; `each` gets them run by run, with the offset of the run in what was removed. */
  shift(count: number, each: (owner: Owner, count: number, offset: number) => void): void {
    invariant(count <= this.#total, 'the log answers only what was appended');
    let offset = 0;
    while (offset < count) {
      const head = this.#head;
      const owner = this.#owners[head] as Owner;
      const taken = Math.min(this.#counts[head]!, count - offset);
      this.#total -= taken;
      if (taken === this.#counts[head]) {
        this.#owners[head] = undefined;
        this.#head = this.#index(1);
        this.#size--;
      } else {
        this.#counts[head]! -= taken;
      }
      each(owner, taken, offset);
      offset += taken;
    }
  }

  #index(offset: number): number {
    return (this.#head + offset) & (this.#owners.length - 1);
  }

  #grow(): void {
    const capacity = Math.max(1, this.#owners.length * 2);
    const owners: (Owner | undefined)[] = new Array(capacity).fill(undefined);
    const counts: number[] = new Array(capacity).fill(0);
    for (let i = 0; i < this.#size; i++) {
      const from = this.#index(i);
      owners[i] = this.#owners[from];
      counts[i] = this.#counts[from]!;
    }
    this.#owners = owners;
    this.#counts = counts;
    this.#head = 0;
  }
}
