import { SparseBytes } from './sparse-bytes.js';

/** A change of a file that a crash may undo. */
interface PendingChange {
  readonly kind: 'write' | 'truncate';
  readonly position: number;
  /** What a write wrote (own copy); empty for a truncation to `position`. */
  readonly data: Buffer;
  /** `synced`: durable, waiting only for its place in the order. `doomed`: a failed sync dropped it; no later sync makes it durable. */
  fate: 'unsynced' | 'synced' | 'doomed';
}

/** How much of an unsynced write a crash keeps: all, none, or only its first `bytes`. */
export type Survival = 'all' | 'none' | { bytes: number };

/** One file of a simulated disk (whatever its name): what processes see, what is surely durable, and what lies between. */
export class StoredFile {
  /** What reads see. */
  readonly current: SparseBytes;
  #durable: SparseBytes;
  #pending: PendingChange[] = [];

  constructor(content = new SparseBytes()) {
    this.current = content;
    this.#durable = content.copy();
  }

  get unsyncedCount(): number {
    return this.#pending.filter((change) => change.fate !== 'synced').length;
  }

  write(position: number, source: Uint8Array, synced: boolean): void {
    if (source.length === 0) return;
    this.current.write(position, source);
    // Nothing is under it that could get lost.
    if (synced && this.#pending.length === 0) this.#durable.write(position, source);
    else this.#push({ kind: 'write', position, data: Buffer.from(source), fate: synced ? 'synced' : 'unsynced' });
  }

  truncate(bytes: number): void {
    this.current.truncate(bytes);
    this.#push({ kind: 'truncate', position: bytes, data: Buffer.alloc(0), fate: 'unsynced' });
  }

  /** A mark for {@link sync}: the changes so far. */
  changes(): readonly object[] {
    return this.#pending.filter((change) => change.fate === 'unsynced');
  }

  /** A sync that began at `begun` ends well: all of those are durable; of newer ones, those the raced disk chose. */
  sync(begun: readonly object[], chooseRaced: () => boolean): void {
    const sure = new Set(begun);
    for (const change of this.#pending) {
      if (change.fate === 'unsynced' && (sure.has(change) || chooseRaced())) change.fate = 'synced';
    }
    this.#fold();
  }

  /** A sync fails as it does on Linux: what it should have written counts as clean afterwards, written or not. */
  failSync(chooseWritten: () => boolean): void {
    for (const change of this.#pending) {
      if (change.fate === 'unsynced') change.fate = chooseWritten() ? 'synced' : 'doomed';
    }
    this.#fold();
  }

  flipBit(position: number, bit: number): boolean {
    const flipped = this.current.flip(position, bit);
    this.#durable.flip(position, bit);
    for (const { data, position: start } of this.#pending) {
      const at = position - start;
      if (at >= 0 && at < data.length) data[at] = (data[at] as number) ^ (1 << bit);
    }
    return flipped;
  }

  /** What is left after the power failed. */
  survivor(choose: (writeBytes: number, position: number) => Survival): StoredFile {
    const content = this.#durable.copy();
    for (const change of this.#pending) {
      const survival = change.fate === 'synced' ? 'all' : choose(change.data.length, change.position);
      if (survival === 'none') continue;
      if (change.kind === 'truncate') content.truncate(change.position);
      else content.write(change.position, survival === 'all' ? change.data : change.data.subarray(0, survival.bytes));
    }
    return new StoredFile(content);
  }

  #push(change: PendingChange): void {
    this.#pending.push(change);
    if (change.fate === 'synced') this.#fold();
  }

  /** Only a durable beginning of the pending changes may go into the durable image: later ones lie over earlier ones. */
  #fold(): void {
    let count = 0;
    for (const change of this.#pending) {
      if (change.fate !== 'synced') break;
      if (change.kind === 'truncate') this.#durable.truncate(change.position);
      else this.#durable.write(change.position, change.data);
      count++;
    }
    this.#pending.splice(0, count);
  }
}
