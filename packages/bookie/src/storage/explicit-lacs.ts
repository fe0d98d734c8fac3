import { explicitLacOf } from '@daybook/proto';

/** Ledgers whose explicit last-add-confirmed is kept; beyond it the one set longest ago is dropped. It is only ever a shortcut: entries carry it too. */
const explicitLacsMax = 100_000;

/** The newest explicit last-add-confirmed of each ledger that has one: kept in the snapshot of the ledgers' states, and in the journal since. */
export class ExplicitLacs {
  readonly #byLedger = new Map<number, Buffer>();
  #changes = 0;

  get count(): number {
    return this.#byLedger.size;
  }

  /** Grows with every change of what a snapshot holds. */
  get changes(): number {
    return this.#changes;
  }

  get(ledgerId: number): Buffer | undefined {
    return this.#byLedger.get(ledgerId);
  }

  /** False when a newer one is known. `bytes` are copied. */
  set(ledgerId: number, bytes: Uint8Array): boolean {
    const known = this.#byLedger.get(ledgerId);
    if (known !== undefined && explicitLacOf(known).lastAddConfirmed >= explicitLacOf(bytes).lastAddConfirmed) return false;
    this.#byLedger.delete(ledgerId);
    this.#byLedger.set(ledgerId, Buffer.from(bytes));
    if (this.#byLedger.size > explicitLacsMax) this.#byLedger.delete(this.#byLedger.keys().next().value as number);
    this.#changes++;
    return true;
  }

  /** The ledger was deleted. */
  delete(ledgerId: number): void {
    if (this.#byLedger.delete(ledgerId)) this.#changes++;
  }

  /** The one set longest ago first. */
  *all(): Generator<{ ledgerId: number; explicitLac: Buffer }> {
    for (const [ledgerId, explicitLac] of this.#byLedger) yield { ledgerId, explicitLac };
  }
}
