import type { BookieCode } from '@daybook/proto';

interface Ledger {
  /** Batches handed to the journal, and how many of them it has answered; both only grow, in the same order. */
  handed: number;
  settled: number;
  /** One of them was not written: nothing can be proved about this ledger any more. */
  isBroken: boolean;
  waiters: { upTo: number; done: (code: BookieCode) => void }[];
}

/**
 * Appends that were answered before they were durable, ledger by ledger, for those who ask for the proof (`force`). A ledger is kept here only while
 * something of it is on its way, or for good once something got lost.
 */
export class DeferredSyncs {
  readonly #ledgers = new Map<number, Ledger>();

  handed(ledgerId: number): void {
    const ledger = this.#ledgers.get(ledgerId);
    if (ledger !== undefined) ledger.handed++;
    else this.#ledgers.set(ledgerId, { handed: 1, settled: 0, isBroken: false, waiters: [] });
  }

  settled(ledgerId: number, isDurable: boolean): void {
    const ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) return;
    ledger.settled++;
    if (!isDurable) ledger.isBroken = true;
    while (ledger.waiters[0] !== undefined && ledger.waiters[0].upTo <= ledger.settled) ledger.waiters.shift()?.done(this.#verdict(ledger));
    if (ledger.settled === ledger.handed && !ledger.isBroken) this.#ledgers.delete(ledgerId);
  }

  /** `OK` when all that was handed over so far is durable. */
  force(ledgerId: number): Promise<BookieCode> {
    const ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) return Promise.resolve('OK');
    if (ledger.settled === ledger.handed) return Promise.resolve(this.#verdict(ledger));
    return new Promise((resolve) => {
      ledger.waiters.push({ upTo: ledger.handed, done: resolve });
    });
  }

  #verdict(ledger: Ledger): BookieCode {
    return ledger.isBroken ? 'IO_ERROR' : 'OK';
  }
}
