import { masterKeyBytes } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import type { LedgerState } from './ledger-state-format.js';
import { grown, RangeChains } from './range-chains.js';

/**
 * What the bookie knows of each ledger: that it exists, its master key, whether it is fenced, and which sealed logs hold what of it. Columns of typed
 * arrays by "slot": about 100 bytes a ledger, plus 36 for each further log that holds some of it.
 */
export class LedgerStates {
  readonly #slots = new Map<number, number>();
  #freeSlots: number[] = [];
  #keys = new Uint8Array(0);
  #fenced = new Uint8Array(0);
  /** Head of the chain of ranges in sealed logs. */
  #heads = new Int32Array(0);
  readonly #ranges = new RangeChains();
  #logOf = new Float64Array(0);
  #changes = 0;

  get count(): number {
    return this.#slots.size;
  }

  /** Grows with every change of what a snapshot holds. */
  get changes(): number {
    return this.#changes;
  }

  has(ledgerId: number): boolean {
    return this.#slots.has(ledgerId);
  }

  /** The first key a ledger is seen with is its key. */
  create(ledgerId: number, masterKey: Uint8Array): void {
    invariant(masterKey.length === masterKeyBytes && !this.#slots.has(ledgerId), 'a new ledger with a whole master key');
    const slot = this.#freeSlots.pop() ?? this.#slots.size;
    if (slot >= this.#fenced.length) this.#grow();
    this.#slots.set(ledgerId, slot);
    this.#keys.set(masterKey, slot * masterKeyBytes);
    this.#fenced[slot] = 0;
    this.#heads[slot] = -1;
    this.#changes++;
  }

  keyMatches(ledgerId: number, masterKey: Uint8Array): boolean {
    const start = this.#slot(ledgerId) * masterKeyBytes;
    for (let i = 0; i < masterKeyBytes; i++) if (this.#keys[start + i] !== masterKey[i]) return false;
    return true;
  }

  isFenced(ledgerId: number): boolean {
    const slot = this.#slots.get(ledgerId);
    return slot !== undefined && this.#fenced[slot] === 1;
  }

  setFenced(ledgerId: number): void {
    const slot = this.#slot(ledgerId);
    if (this.#fenced[slot] === 1) return;
    this.#fenced[slot] = 1;
    this.#changes++;
  }

  /** Forgets a ledger that is proved to be gone from metadata: it is not flushed any more and answers `NO_LEDGER`. */
  delete(ledgerId: number): void {
    const slot = this.#slots.get(ledgerId);
    if (slot === undefined) return;
    this.#ranges.free(this.#heads[slot] as number);
    this.#slots.delete(ledgerId);
    this.#freeSlots.push(slot);
    this.#changes++;
  }

  /** Notes what a sealed log holds; later calls are for newer logs. A ledger that does not exist (any more) is ignored. */
  addRange(ledgerId: number, range: { first: number; last: number; logId: number }): void {
    const slot = this.#slots.get(ledgerId);
    if (slot === undefined) return;
    const node = this.#ranges.push(this.#heads[slot] as number, range.first, range.last);
    this.#heads[slot] = node;
    if (node >= this.#logOf.length) this.#logOf = grown(this.#logOf, new Float64Array(Math.max(64, Math.ceil(node * 1.5))));
    this.#logOf[node] = range.logId;
  }

  /** The sealed logs whose range contains an entry, newest first: mostly one. */
  logsWith(ledgerId: number, entryId: number): number[] {
    const logs: number[] = [];
    let node = this.#ranges.find(this.#head(ledgerId), entryId);
    while (node >= 0) {
      logs.push(this.#logOf[node] as number);
      node = this.#ranges.find(this.#ranges.previous(node), entryId);
    }
    return logs;
  }

  /** All sealed logs that hold some of a ledger, oldest first. */
  logsOf(ledgerId: number): number[] {
    return this.#ranges.oldestFirst(this.#head(ledgerId)).map((node) => this.#logOf[node] as number);
  }

  /** The highest entry id in sealed logs, or -1. */
  lastId(ledgerId: number): number {
    return this.#ranges.lastId(this.#head(ledgerId));
  }

  *all(): Generator<LedgerState> {
    for (const [ledgerId, slot] of this.#slots) {
      const masterKey = this.#keys.subarray(slot * masterKeyBytes, (slot + 1) * masterKeyBytes);
      yield { ledgerId, isFenced: this.#fenced[slot] === 1, masterKey };
    }
  }

  #head(ledgerId: number): number {
    const slot = this.#slots.get(ledgerId);
    return slot === undefined ? -1 : (this.#heads[slot] as number);
  }

  #slot(ledgerId: number): number {
    const slot = this.#slots.get(ledgerId);
    invariant(slot !== undefined, `ledger ${ledgerId} exists`);
    return slot;
  }

  #grow(): void {
    const length = Math.max(64, Math.ceil(this.#fenced.length * 1.5));
    this.#keys = grown(this.#keys, new Uint8Array(length * masterKeyBytes));
    this.#fenced = grown(this.#fenced, new Uint8Array(length));
    this.#heads = grown(this.#heads, new Int32Array(length));
  }
}
