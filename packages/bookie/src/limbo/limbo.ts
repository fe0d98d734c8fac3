import type { LedgerId } from '@daybook/proto';

/** `everything` -> `some` -> `nothing`, and never back in one life of a bookie. */
export type LimboExtent = 'everything' | 'some' | 'nothing';

/**
 * Of which ledgers this bookie may have forgotten entries and fences that it acknowledged. Of those it does not say that something is not here (rule R15), and
 * takes only what recovery and repair send. `everything`: nobody has looked yet which ledgers these are.
 */
export class Limbo {
  #extent: LimboExtent;
  #ledgers: ReadonlySet<number> = new Set();

  constructor(extent: 'everything' | 'nothing') {
    this.#extent = extent;
  }

  get extent(): LimboExtent {
    return this.#extent;
  }

  /** Of `everything`: not known yet. */
  get ledgersCount(): number | undefined {
    return this.#extent === 'everything' ? undefined : this.#ledgers.size;
  }

  has(ledgerId: LedgerId | number): boolean {
    if (this.#extent === 'nothing') return false;
    return this.#extent === 'everything' || this.#ledgers.has(ledgerId);
  }

  /** From now on only these; called again with fewer of them as they are whole again. */
  narrow(ledgers: ReadonlySet<number>): void {
    this.#ledgers = ledgers;
    this.#extent = 'some';
  }

  /** No ledger is left, and the next start will not begin in limbo. */
  end(): void {
    this.#extent = 'nothing';
    this.#ledgers = new Set();
  }

  get ledgerIds(): readonly number[] {
    return [...this.#ledgers];
  }
}
