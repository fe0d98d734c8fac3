import { masterKeyBytes } from '@daybook/proto';
import { type Clock, invariant } from '@daybook/runtime';
import type { DeletedLedger, LedgerState, LedgerStateSource } from './ledger-state-format.js';
import { grown } from './range-chains.js';

/** How many deleted ledgers are remembered as fenced; beyond it the oldest ones are forgotten. */
const deletedCountMax = 250_000;

/**
 * What the bookie knows of each ledger: that it exists, its master key, whether it is fenced, and since when it knows. Columns of typed arrays by "slot":
 * about 100 bytes a ledger. Of deleted ledgers that were fenced, the fence is remembered for a while, so that an append that comes late does not make the
 * ledger again, open to a writer that was shut out.
 */
export class LedgerStates implements LedgerStateSource {
  readonly #clock: Clock;
  readonly #slots = new Map<number, number>();
  #freeSlots: number[] = [];
  #keys = new Uint8Array(0);
  #fenced = new Uint8Array(0);
  #createdAt = new Float64Array(0);
  #recoveredAt = new Float64Array(0);
  #lastEntryIds = new Float64Array(0);
  /** Oldest first; the value is wall time in milliseconds. */
  readonly #deleted = new Map<number, number>();
  #changes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#slots.size;
  }

  get deletedCount(): number {
    return this.#deleted.size;
  }

  /** Grows with every change of what a snapshot holds. */
  get changes(): number {
    return this.#changes;
  }

  has(ledgerId: number): boolean {
    return this.#slots.has(ledgerId);
  }

  /** The first key a ledger is seen with is its key. One that was fenced when it was deleted is fenced again. */
  create(ledgerId: number, masterKey: Uint8Array): void {
    invariant(masterKey.length === masterKeyBytes && !this.#slots.has(ledgerId), 'a new ledger with a whole master key');
    const slot = this.#freeSlots.pop() ?? this.#slots.size;
    if (slot >= this.#fenced.length) this.#grow();
    this.#slots.set(ledgerId, slot);
    this.#keys.set(masterKey, slot * masterKeyBytes);
    this.#fenced[slot] = this.#deleted.delete(ledgerId) ? 1 : 0;
    this.#createdAt[slot] = this.#clock.monoMs();
    this.#recoveredAt[slot] = Number.NEGATIVE_INFINITY;
    this.#lastEntryIds[slot] = -1;
    this.#changes++;
  }

  keyMatches(ledgerId: number, masterKey: Uint8Array): boolean {
    const start = this.#slot(ledgerId) * masterKeyBytes;
    for (let i = 0; i < masterKeyBytes; i++) if (this.#keys[start + i] !== masterKey[i]) return false;
    return true;
  }

  /** Also true of a deleted ledger that was. */
  isFenced(ledgerId: number): boolean {
    const slot = this.#slots.get(ledgerId);
    return slot === undefined ? this.#deleted.has(ledgerId) : this.#fenced[slot] === 1;
  }

  setFenced(ledgerId: number): void {
    const slot = this.#slot(ledgerId);
    if (this.#fenced[slot] === 1) return;
    this.#fenced[slot] = 1;
    this.#changes++;
  }

  /** The ledger has this entry in some sealed log. */
  noteEntry(ledgerId: number, entryId: number): void {
    const slot = this.#slots.get(ledgerId);
    if (slot !== undefined && entryId > (this.#lastEntryIds[slot] as number)) this.#lastEntryIds[slot] = entryId;
  }

  /** The highest id noted with {@link noteEntry} in this process, or -1. */
  lastEntryId(ledgerId: number): number {
    const slot = this.#slots.get(ledgerId);
    return slot === undefined ? -1 : (this.#lastEntryIds[slot] as number);
  }

  /** Somebody copies entries of the ledger to this bookie. */
  noteRecovery(ledgerId: number): void {
    this.#recoveredAt[this.#slot(ledgerId)] = this.#clock.monoMs();
  }

  /** For how long this process has known a ledger, and nothing was copied to it, in milliseconds. */
  quietMs(ledgerId: number): { sinceCreated: number; sinceRecovered: number } {
    const slot = this.#slot(ledgerId);
    const nowMs = this.#clock.monoMs();
    return { sinceCreated: nowMs - (this.#createdAt[slot] as number), sinceRecovered: nowMs - (this.#recoveredAt[slot] as number) };
  }

  /** Forgets a ledger that is proved to be gone: it is not flushed any more and answers `NO_LEDGER`. */
  delete(ledgerId: number): void {
    const slot = this.#slots.get(ledgerId);
    if (slot === undefined) return;
    if (this.#fenced[slot] === 1) this.restoreDeleted({ ledgerId, deletedAtMs: this.#clock.wallMs() });
    this.#slots.delete(ledgerId);
    this.#freeSlots.push(slot);
    this.#changes++;
  }

  /** From a snapshot, oldest first. */
  restoreDeleted({ ledgerId, deletedAtMs }: DeletedLedger): void {
    this.#deleted.set(ledgerId, deletedAtMs);
    for (const oldest of this.#deleted.keys()) {
      if (this.#deleted.size <= deletedCountMax) break;
      this.#deleted.delete(oldest);
    }
  }

  /** Forgets fences of ledgers that were deleted longer ago. */
  forgetDeleted(ageMs: number): void {
    const beforeMs = this.#clock.wallMs() - ageMs;
    for (const [ledgerId, deletedAtMs] of this.#deleted) {
      if (deletedAtMs >= beforeMs) continue;
      this.#deleted.delete(ledgerId);
      this.#changes++;
    }
  }

  /** Ascending. */
  ledgerIds(): Float64Array {
    return Float64Array.from(this.#slots.keys()).sort();
  }

  *all(): Generator<LedgerState> {
    for (const [ledgerId, slot] of this.#slots) {
      const masterKey = this.#keys.subarray(slot * masterKeyBytes, (slot + 1) * masterKeyBytes);
      yield { ledgerId, isFenced: this.#fenced[slot] === 1, masterKey };
    }
  }

  *allDeleted(): Generator<DeletedLedger> {
    for (const [ledgerId, deletedAtMs] of this.#deleted) yield { ledgerId, deletedAtMs };
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
    this.#createdAt = grown(this.#createdAt, new Float64Array(length));
    this.#recoveredAt = grown(this.#recoveredAt, new Float64Array(length));
    this.#lastEntryIds = grown(this.#lastEntryIds, new Float64Array(length));
  }
}
