import type { Clock } from '@daybook/runtime';

/** An entry whose bytes on this disk are not what was written. It is answered IO_ERROR until it is written again from a replica. */
export interface BadEntry {
  ledgerId: number;
  entryId: number;
  logId: number;
  /** Of its record in the log. */
  position: number;
  foundAtMs: number;
}

/** More are counted, not listed. */
const listedMax = 1000;

/** What is known to be damaged, from scrubbing and from reads. */
export class BadEntries {
  readonly #clock: Clock;
  readonly #onFound: (bad: BadEntry) => void;
  readonly #listed = new Map<string, BadEntry>();
  #foundCount = 0;

  constructor(clock: Clock, onFound: (bad: BadEntry) => void) {
    this.#clock = clock;
    this.#onFound = onFound;
  }

  get list(): readonly BadEntry[] {
    return [...this.#listed.values()];
  }

  /** Since the start; entries found again count once as long as they are listed. */
  get foundCount(): number {
    return this.#foundCount;
  }

  note(found: Omit<BadEntry, 'foundAtMs'>): void {
    const key = `${found.ledgerId}:${found.entryId}`;
    if (this.#listed.has(key)) return;
    const bad = { ...found, foundAtMs: this.#clock.wallMs() };
    this.#foundCount++;
    if (this.#listed.size < listedMax) this.#listed.set(key, bad);
    this.#onFound(bad);
  }

  /** Strikes off what `isStillBad` denies: it was written again, or its ledger is gone. */
  async review(isStillBad: (bad: BadEntry) => Promise<boolean>): Promise<void> {
    for (const [key, bad] of [...this.#listed]) if (!(await isStillBad(bad))) this.#listed.delete(key);
  }
}
