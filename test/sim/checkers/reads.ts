import type { Checker, History, Observation } from '../history.js';
import type { Ledgers } from './ledgers.js';

/** Readers see what was written (I10), and all of it up to the last-add-confirmed they were told (I14). */
export class Reads implements Checker {
  readonly #history: History;
  readonly #ledgers: Ledgers;

  constructor(history: History, ledgers: Ledgers) {
    this.#history = history;
    this.#ledgers = ledgers;
  }

  observe(seen: Observation): void {
    if (seen.kind === 'read') {
      const pushed = this.#ledgers.get(seen.ledgerId).payloads[seen.entryId];
      if (pushed === undefined || !pushed.equals(seen.payload)) {
        this.#history.violate('I10', `${seen.node} read something else than was written as entry ${seen.entryId} of ledger ${seen.ledgerId}`);
      }
    } else if (seen.kind === 'absent') {
      this.#history.violate('I14', `${seen.node} was told of ${seen.lastConfirmed} in ledger ${seen.ledgerId}, but: ${seen.text}`);
    }
  }
}
