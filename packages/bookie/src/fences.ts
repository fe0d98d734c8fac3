import { type BookieCode, type LedgerId, masterKeyBytes } from '@daybook/proto';
import type { Journal } from './journal/journal.js';
import { encodeFence, recordTypes } from './journal/journal-format.js';
import type { LedgerStates } from './storage/ledger-state.js';

/**
 * Fences ledgers, durably before it says so (rule R6). The bit is set at once, so that no append passes the fence record in the journal; whoever fences
 * a ledger whose record is on its way waits for that one.
 */
export class Fences {
  readonly #states: LedgerStates;
  readonly #journal: Journal;
  readonly #onChange: () => void;
  readonly #pending = new Map<LedgerId, Promise<BookieCode>>();

  constructor(parts: { states: LedgerStates; journal: Journal; onChange: () => void }) {
    this.#states = parts.states;
    this.#journal = parts.journal;
    this.#onChange = parts.onChange;
  }

  /** Creates a ledger that the bookie never heard of. `OK` when the fence is durable. */
  async fence(ledgerId: LedgerId, masterKey: Uint8Array): Promise<BookieCode> {
    if (masterKey.length !== masterKeyBytes) return 'BAD_REQUEST';
    const isKnown = this.#states.has(ledgerId);
    if (isKnown && !this.#states.keyMatches(ledgerId, masterKey)) return 'UNAUTHORIZED';
    const pending = this.#pending.get(ledgerId);
    if (pending !== undefined) return pending;
    if (this.#states.isFenced(ledgerId)) return 'OK';
    if (!isKnown) this.#states.create(ledgerId, masterKey);
    this.#states.setFenced(ledgerId);
    this.#onChange();
    const durable = new Promise<BookieCode>((resolve) => {
      this.#journal.append(recordTypes.fence, encodeFence(ledgerId, masterKey), (isDurable) => {
        this.#pending.delete(ledgerId);
        resolve(isDurable ? 'OK' : 'IO_ERROR');
      });
    });
    this.#pending.set(ledgerId, durable);
    return durable;
  }
}
