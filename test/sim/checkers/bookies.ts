import type { Checker, History, Observation } from '../history.js';
import type { Ledgers } from './ledgers.js';
import { writeSetOf } from './record-format.js';

/**
 * What bookies answered, and whether they stand by it: an entry answered with OK is there after every restart (I13), a fence too (I12), and nothing is
 * acknowledged to a writer before Qa members of the stored ensemble have said so (I3).
 */
export class Bookies implements Checker {
  readonly #history: History;
  readonly #ledgers: Ledgers;
  readonly #claims = new Map<string, Map<number, Set<number>>>();
  readonly #checkedUpTo = new Map<number, number>();
  /** Then a bookie may forget ledgers that are deleted, and what others have in its place. */
  collectsGarbage = false;
  /** What bookies had on disks that are lost, until the bookie is back on others. */
  readonly #lost = new Map<string, Map<number, Set<number>>>();

  constructor(history: History, ledgers: Ledgers) {
    this.#history = history;
    this.#ledgers = ledgers;
  }

  /** Ledgers of which a bookie has acknowledged anything. */
  ledgersOf(bookie: string): number[] {
    return [...(this.#claims.get(bookie)?.keys() ?? [])];
  }

  observe(seen: Observation): void {
    switch (seen.kind) {
      case 'bookie append':
        if (seen.code !== 'OK') return;
        if (seen.wasFenced && !seen.isRecovery) {
          this.#history.violate('I12', `${seen.bookie} took entry ${seen.entryIds[0]} of ledger ${seen.ledgerId}, which it had fenced`);
        }
        for (const entryId of seen.entryIds) this.#claim(seen.bookie, seen.ledgerId, entryId);
        break;
      case 'bookie negative':
        if (seen.heldBefore !== undefined && this.#mustHave(seen.bookie, seen.ledgerId, seen.heldBefore)) {
          this.#history.violate(
            'I13',
            `${seen.bookie} says that it has no entry ${seen.heldBefore} of ledger ${seen.ledgerId}, which it acknowledged`,
          );
        }
        break;
      case 'bookie holds':
        this.#compare(seen);
        break;
      case 'confirmed':
        this.#checkAck(seen.ledgerId, seen.upTo);
        break;
      case 'log appended':
        this.#checkAck(seen.ledgerId, seen.entryId);
        break;
      default:
        break;
    }
  }

  holds(bookie: string, ledgerId: number, entryId: number): boolean {
    return this.#claims.get(bookie)?.get(ledgerId)?.has(entryId) ?? false;
  }

  /** Also before its disks were lost: what it acknowledged then may be confirmed to a writer later. */
  held(bookie: string, ledgerId: number, entryId: number): boolean {
    return this.holds(bookie, ledgerId, entryId) || (this.#lost.get(bookie)?.get(ledgerId)?.has(entryId) ?? false);
  }

  wiped(bookie: string): void {
    this.#lost.set(bookie, this.#claims.get(bookie) ?? new Map());
    this.#claims.delete(bookie);
  }

  isBack(bookie: string): void {
    this.#lost.delete(bookie);
  }

  /** What it has acknowledged of a ledger so far. */
  claimed(bookie: string, ledgerId: number): number[] {
    return [...(this.#claims.get(bookie)?.get(ledgerId) ?? [])];
  }

  #claim(bookie: string, ledgerId: number, entryId: number): void {
    const ledgers = this.#claims.get(bookie) ?? new Map<number, Set<number>>();
    this.#claims.set(bookie, ledgers);
    const entries = ledgers.get(ledgerId) ?? new Set<number>();
    ledgers.set(ledgerId, entries);
    entries.add(entryId);
  }

  #compare({ bookie, ledgerId, code, runs, claimed }: Extract<Observation, { kind: 'bookie holds' }>): void {
    if (code !== 'OK' && code !== 'NO_LEDGER' && code !== 'NO_ENTRY') return;
    for (const entryId of claimed) {
      if (runs.some(({ first, last }) => first <= entryId && entryId <= last) || !this.#mustHave(bookie, ledgerId, entryId)) continue;
      this.#history.violate('I13', `${bookie} acknowledged entry ${entryId} of ledger ${ledgerId} and does not have it now (${code})`);
    }
  }

  #mustHave(bookie: string, ledgerId: number, entryId: number): boolean {
    if (!this.collectsGarbage) return true;
    const { record } = this.#ledgers.get(ledgerId);
    return record !== undefined && writeSetOf(record, entryId).includes(bookie);
  }

  #checkAck(ledgerId: number, upTo: number): void {
    const { record } = this.#ledgers.get(ledgerId);
    const from = (this.#checkedUpTo.get(ledgerId) ?? -1) + 1;
    this.#checkedUpTo.set(ledgerId, upTo);
    if (record === undefined) return;
    for (let entryId = from; entryId <= upTo; entryId++) {
      const members = writeSetOf(record, entryId);
      const count = members.filter((bookie) => this.held(bookie, ledgerId, entryId)).length;
      if (count >= record.ackQuorumSize) continue;
      this.#history.violate(
        'I3',
        `ledger ${ledgerId}: entry ${entryId} acknowledged with ${count} of ${record.ackQuorumSize} copies on ${members.join(',')}`,
      );
    }
  }
}
