import { type BookieCode, type LedgerId, masterKeyBytes } from '@daybook/proto';
import { encodeFence, recordTypes } from './journal/journal-format.js';
import type { Journals } from './journal/journals.js';
import type { LedgerStates } from './storage/ledger-state.js';

/**
 * Fences ledgers, durably before it says so (rule R6). The bit is set at once, so that no append passes the fence record in the journal; whoever fences
 * a ledger whose record is on its way waits for that one. When the record finds no room on the disk, the bit stays (no harm: whoever fences means it),
 * but is not counted on: the next fence writes a record again.
 */
export class Fences {
  readonly #states: LedgerStates;
  readonly #journals: Journals;
  readonly #onChange: () => void;
  readonly #pending = new Map<LedgerId, Promise<BookieCode>>();
  /** Fenced in memory only. */
  readonly #unwritten = new Set<LedgerId>();

  constructor(parts: { states: LedgerStates; journals: Journals; onChange: () => void }) {
    this.#states = parts.states;
    this.#journals = parts.journals;
    this.#onChange = parts.onChange;
  }

  /** Creates a ledger that the bookie never heard of. `OK` when the fence is durable. */
  async fence(ledgerId: LedgerId, masterKey: Uint8Array): Promise<BookieCode> {
    if (masterKey.length !== masterKeyBytes) return 'BAD_REQUEST';
    const isKnown = this.#states.has(ledgerId);
    if (isKnown && !this.#states.keyMatches(ledgerId, masterKey)) return 'UNAUTHORIZED';
    const pending = this.#pending.get(ledgerId);
    if (pending !== undefined) return pending;
    if (this.#states.isFenced(ledgerId) && !this.#unwritten.has(ledgerId)) return 'OK';
    if (!isKnown) this.#states.create(ledgerId, masterKey);
    this.#states.setFenced(ledgerId);
    this.#onChange();
    const durable = new Promise<BookieCode>((resolve) => {
      const record = { type: recordTypes.fence, body: encodeFence(ledgerId, masterKey), isPriority: true };
      this.#journals.append(ledgerId, record, (outcome) => {
        this.#pending.delete(ledgerId);
        if (outcome === 'durable') this.#unwritten.delete(ledgerId);
        else this.#unwritten.add(ledgerId);
        resolve(outcome === 'durable' ? 'OK' : 'IO_ERROR');
      });
    });
    this.#pending.set(ledgerId, durable);
    return durable;
  }
}
