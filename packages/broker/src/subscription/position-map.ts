import type { EntryId, LedgerId, Position } from '@daybook/proto';

/** A map by position: one inner map per ledger, so that no key object or text is made per entry. */
export class PositionMap<V> {
  readonly #ledgers = new Map<LedgerId, Map<EntryId, V>>();
  #size = 0;
  #lastLedgerId: LedgerId | undefined;
  #last: Map<EntryId, V> | undefined;

  get size(): number {
    return this.#size;
  }

  get(position: Position): V | undefined {
    return this.#inner(position.ledgerId)?.get(position.entryId);
  }

  has(position: Position): boolean {
    return this.#inner(position.ledgerId)?.has(position.entryId) ?? false;
  }

  set(position: Position, value: V): void {
    let inner = this.#inner(position.ledgerId);
    if (inner === undefined) {
      inner = new Map();
      this.#ledgers.set(position.ledgerId, inner);
      this.#lastLedgerId = position.ledgerId;
      this.#last = inner;
    }
    const before = inner.size;
    inner.set(position.entryId, value);
    this.#size += inner.size - before;
  }

  /** Returns what was there. */
  delete(position: Position): V | undefined {
    const inner = this.#inner(position.ledgerId);
    const value = inner?.get(position.entryId);
    if (!inner?.delete(position.entryId)) return undefined;
    this.#size--;
    if (inner.size === 0) {
      this.#ledgers.delete(position.ledgerId);
      this.#lastLedgerId = undefined;
      this.#last = undefined;
    }
    return value;
  }

  /** In no particular order; deleting the visited position meanwhile is allowed. */
  forEach(visit: (position: Position, value: V) => void): void {
    for (const [ledgerId, inner] of this.#ledgers) {
      for (const [entryId, value] of inner) visit({ ledgerId, entryId }, value);
    }
  }

  clear(): void {
    this.#ledgers.clear();
    this.#last = undefined;
    this.#lastLedgerId = undefined;
    this.#size = 0;
  }

  #inner(ledgerId: LedgerId): Map<EntryId, V> | undefined {
    if (ledgerId === this.#lastLedgerId) return this.#last;
    const inner = this.#ledgers.get(ledgerId);
    if (inner !== undefined) {
      this.#lastLedgerId = ledgerId;
      this.#last = inner;
    }
    return inner;
  }
}
