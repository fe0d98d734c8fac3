import { comparePositions, type EntryId, type LedgerId, type MessageRange, type Position } from '@daybook/proto';
import { EntryBits } from './entry-bits.js';

/** What an ack set has to know about the log; a {@link LedgerChain} does. */
export interface PositionOrder {
  /** The first existing position after `position`; at the end, where the next entry will be. */
  next(position: Position): Position;
  /** Whether the entry is stored and confirmed. */
  has(position: Position): boolean;
  countBetween(after: Position, upTo: Position): number;
}

/**
 * What was acknowledged: everything up to the mark, and single entries above it. Pure. The mark is always as far as it can be: the entry after it is
 * not acknowledged. An acknowledgement in order touches no bitmap.
 */
export class AckSet {
  readonly #order: PositionOrder;
  #mark: Position;
  #bits = new Map<LedgerId, EntryBits>();
  #aboveCount = 0;

  constructor(order: PositionOrder, mark: Position) {
    this.#order = order;
    this.#mark = mark;
  }

  get mark(): Position {
    return this.#mark;
  }

  /** Entries acknowledged one by one above the mark. */
  get aboveCount(): number {
    return this.#aboveCount;
  }

  has(position: Position): boolean {
    return comparePositions(position, this.#mark) <= 0 || this.#bits.get(position.ledgerId)?.has(position.entryId) === true;
  }

  /** False when it was acknowledged before or is no stored entry. */
  add(position: Position): boolean {
    if (comparePositions(position, this.#mark) <= 0 || !this.#order.has(position)) return false;
    if (comparePositions(position, this.#order.next(this.#mark)) === 0) {
      if (this.#bits.get(position.ledgerId)?.has(position.entryId) === true) return false;
      this.#moveMark(position);
      return true;
    }
    let bits = this.#bits.get(position.ledgerId);
    if (bits === undefined) {
      bits = new EntryBits();
      this.#bits.set(position.ledgerId, bits);
    }
    if (!bits.add(position.entryId)) return false;
    this.#aboveCount++;
    return true;
  }

  /** Acknowledges everything up to and including `position`; false when the mark was there already. */
  addUpTo(position: Position): boolean {
    if (comparePositions(position, this.#mark) <= 0) return false;
    this.#moveMark(position);
    return true;
  }

  /** Back or forth, forgetting single acknowledgements. */
  reset(mark: Position): void {
    this.#mark = mark;
    this.#bits.clear();
    this.#aboveCount = 0;
  }

  /** Ledgers before `first` are gone: the mark is at least before the first one that is left. */
  trimmed(beforeFirst: Position): void {
    if (comparePositions(this.#mark, beforeFirst) < 0) this.#moveMark(beforeFirst);
  }

  /** Puts back what was stored; {@link settle} has to follow. */
  restoreRange(ledgerId: LedgerId, first: number, last: number): void {
    this.#restore(ledgerId, (bits) => bits.addRange(first, last));
  }

  restoreWord(ledgerId: LedgerId, wordIndex: number, word: number): void {
    this.#restore(ledgerId, (bits) => bits.setWord(wordIndex, word));
  }

  /** Drops what lies at or below the mark and moves the mark as far as it can be. */
  settle(): void {
    this.#moveMark(this.#mark);
  }

  backlog(lastConfirmed: Position): number {
    return Math.max(0, this.#order.countBetween(this.#mark, lastConfirmed) - this.#aboveCount);
  }

  /** The ledgers with single acknowledgements, ascending. */
  ledgers(): [LedgerId, EntryBits][] {
    return [...this.#bits].sort((a, b) => a[0] - b[0]);
  }

  /** At most `rangesMax` ranges, ascending. */
  ranges(rangesMax = Number.POSITIVE_INFINITY): MessageRange[] {
    const out: MessageRange[] = [];
    for (const [ledgerId, bits] of this.ledgers()) {
      for (const run of bits.runs(rangesMax - out.length)) {
        out.push({ lower: { ledgerId, entryId: (run.first - 1) as EntryId }, upper: { ledgerId, entryId: run.last as EntryId } });
      }
      if (out.length >= rangesMax) break;
    }
    return out;
  }

  /** How many ranges there are, without making them. */
  rangesCount(): number {
    let count = 0;
    for (const bits of this.#bits.values()) count += bits.runsCount();
    return count;
  }

  #restore(ledgerId: LedgerId, change: (bits: EntryBits) => void): void {
    let bits = this.#bits.get(ledgerId);
    if (bits === undefined) {
      bits = new EntryBits();
      this.#bits.set(ledgerId, bits);
    }
    this.#aboveCount -= bits.count;
    change(bits);
    this.#aboveCount += bits.count;
  }

  /** To `mark`, then on over what is acknowledged one by one; bits that are passed are dropped. */
  #moveMark(mark: Position): void {
    this.#mark = mark;
    if (this.#bits.size === 0) return;
    this.#forget(mark);
    for (;;) {
      const next = this.#order.next(this.#mark);
      const bits = this.#bits.get(next.ledgerId);
      const unset = bits?.firstUnset(next.entryId) ?? next.entryId;
      if (unset === next.entryId) return;
      this.#mark = { ledgerId: next.ledgerId, entryId: (unset - 1) as EntryId };
      this.#forget(this.#mark);
    }
  }

  #forget(upTo: Position): void {
    for (const [ledgerId, bits] of this.#bits) {
      if (ledgerId > upTo.ledgerId) continue;
      this.#aboveCount -= bits.count;
      if (ledgerId === upTo.ledgerId) bits.clearBelow(upTo.entryId + 1);
      if (ledgerId < upTo.ledgerId || bits.count === 0) this.#bits.delete(ledgerId);
      else this.#aboveCount += bits.count;
    }
  }
}
