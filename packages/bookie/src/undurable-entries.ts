import type { AppendBatch, LedgerId } from '@daybook/proto';

interface Ids {
  readonly first: number;
  readonly last: number;
}

/**
 * Entries that can be read (they are in the write cache) but may be gone after a crash: on their way to the journal, or refused by it because the disk is full.
 * Whoever counts copies must not be told of them. By batch, from its first id to its last, so that a little more is held back rather than less.
 */
export class UndurableEntries {
  readonly #byLedger = new Map<LedgerId, Ids[]>();

  /** Handed to the journal. Pass what it returns to {@link settled}. */
  handed(batch: AppendBatch): Ids {
    const ids = { first: batch.entryIdAt(0), last: batch.entryIdAt(batch.count - 1) };
    const all = this.#byLedger.get(batch.ledgerId);
    if (all === undefined) this.#byLedger.set(batch.ledgerId, [ids]);
    else all.push(ids);
    return ids;
  }

  /** The journal has answered. What it refused stays here until the same entries come again and get through. */
  settled(ledgerId: LedgerId, ids: Ids, isDurable: boolean): void {
    if (!isDurable) return;
    const left = (this.#byLedger.get(ledgerId) ?? []).filter((one) => one !== ids && (one.first < ids.first || one.last > ids.last));
    if (left.length === 0) this.#byLedger.delete(ledgerId);
    else this.#byLedger.set(ledgerId, left);
  }

  /** `runs` (ascending and apart) without these entries. */
  without(ledgerId: LedgerId, runs: readonly Ids[]): Ids[] {
    let left = [...runs];
    for (const ids of this.#byLedger.get(ledgerId) ?? []) {
      left = left.flatMap(({ first, last }) => [
        ...(first < ids.first ? [{ first, last: Math.min(last, ids.first - 1) }] : []),
        ...(last > ids.last ? [{ first: Math.max(first, ids.last + 1), last }] : []),
      ]);
    }
    return left;
  }
}
