import { grown, RangeChains } from './range-chains.js';

/** What a sealed log holds of a ledger: entries between these two, perhaps with gaps. */
export interface LogRange {
  logId: number;
  first: number;
  last: number;
}

/** A ledger's place in the map of heads. */
const headBytes = 48;

/** Which sealed logs hold what of which ledger, in memory: about 40 bytes a (ledger, log) pair. */
export class LogRanges {
  readonly #heads = new Map<number, number>();
  readonly #chains = new RangeChains();
  #logOf = new Float64Array(0);
  #count = 0;

  get bytes(): number {
    return this.#chains.bytes + this.#logOf.byteLength + this.#heads.size * headBytes;
  }

  /** Pairs, those of ledgers deleted since not counted. */
  get count(): number {
    return this.#count;
  }

  add(ledgerId: number, { logId, first, last }: LogRange): void {
    const node = this.#chains.push(this.#heads.get(ledgerId) ?? -1, first, last);
    this.#heads.set(ledgerId, node);
    if (node >= this.#logOf.length) this.#logOf = grown(this.#logOf, new Float64Array(Math.max(64, Math.ceil(node * 1.5))));
    this.#logOf[node] = logId;
    this.#count++;
  }

  delete(ledgerId: number): void {
    const head = this.#heads.get(ledgerId);
    if (head === undefined) return;
    this.#count -= this.#chains.oldestFirst(head).length;
    this.#chains.free(head);
    this.#heads.delete(ledgerId);
  }

  /** Adds the ranges of a ledger to `out`, oldest first. */
  collect(ledgerId: number, out: LogRange[]): void {
    for (const node of this.#chains.oldestFirst(this.#heads.get(ledgerId) ?? -1)) {
      out.push({ logId: this.#logOf[node] as number, first: this.#chains.first(node), last: this.#chains.last(node) });
    }
  }

  /** Adds the logs whose range contains an entry to `out`, those added last first: mostly one. */
  collectWith(ledgerId: number, entryId: number, out: number[]): void {
    let node = this.#chains.find(this.#heads.get(ledgerId) ?? -1, entryId);
    while (node >= 0) {
      out.push(this.#logOf[node] as number);
      node = this.#chains.find(this.#chains.previous(node), entryId);
    }
  }

  /** The highest entry id of a ledger, or -1. */
  lastId(ledgerId: number): number {
    return this.#chains.lastId(this.#heads.get(ledgerId) ?? -1);
  }

  /** Ascending. */
  ledgerIds(): Float64Array {
    return Float64Array.from(this.#heads.keys()).sort();
  }
}
