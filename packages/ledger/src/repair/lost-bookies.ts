import type { BookieId } from '@daybook/proto';

export interface BookiesSeen {
  /** Registered now, writable or not: never empty. */
  readonly up: ReadonlyMap<BookieId, { readonly incarnation: string }>;
  /** Bookies that should be up: those with a cookie. */
  readonly known: Iterable<BookieId>;
  readonly nowMs: number;
  /** `lostBookieRecoveryDelay` as it is now. */
  readonly delayMs: number;
  /** An operator wants an audit now. */
  readonly isForced: boolean;
}

export interface LostVerdict {
  /** Lost, and waited for long enough: their ledgers are to be marked. */
  readonly due: readonly BookieId[];
  /** Lost, and still waited for. */
  readonly pending: readonly BookieId[];
  /** Until the next one of those is due. */
  readonly waitMs: number | undefined;
  /** Came (back), some with other disks: what they have is to be compared with what they should have. */
  readonly returned: readonly BookieId[];
  /** Came back while they were waited for. */
  readonly cancelledCount: number;
}

interface Lost {
  readonly sinceMs: number;
  isAudited: boolean;
}

/**
 * Who is lost, and for whom it is worth to wait: a single bookie that vanishes is given the delay to come back; as soon as a second one is missing nothing is
 * waited for any more. Pure: told what is seen, and the time.
 */
export class LostBookies {
  readonly #lost = new Map<BookieId, Lost>();
  /** Every bookie seen up, and on which disks. */
  readonly #incarnations = new Map<BookieId, string>();

  observe({ up, known, nowMs, delayMs, isForced }: BookiesSeen): LostVerdict {
    const returned = new Set<BookieId>();
    let cancelledCount = 0;
    for (const [bookieId, lost] of this.#lost) {
      if (!up.has(bookieId)) continue;
      this.#lost.delete(bookieId);
      returned.add(bookieId);
      if (!lost.isAudited) cancelledCount++;
    }
    for (const [bookieId, { incarnation }] of up) {
      const before = this.#incarnations.get(bookieId);
      if (before !== undefined && before !== incarnation) returned.add(bookieId);
      this.#incarnations.set(bookieId, incarnation);
    }
    for (const bookieId of [...known, ...this.#incarnations.keys()]) {
      if (!up.has(bookieId) && !this.#lost.has(bookieId)) this.#lost.set(bookieId, { sinceMs: nowMs, isAudited: false });
    }
    return { ...this.#judge(nowMs, delayMs, isForced), returned: [...returned], cancelledCount };
  }

  /** Their ledgers are marked. */
  audited(bookies: readonly BookieId[]): void {
    for (const bookieId of bookies) {
      const lost = this.#lost.get(bookieId);
      if (lost !== undefined) lost.isAudited = true;
    }
  }

  #judge(nowMs: number, delayMs: number, isForced: boolean): Pick<LostVerdict, 'due' | 'pending' | 'waitMs'> {
    const fresh = [...this.#lost].filter(([, { isAudited }]) => !isAudited);
    const waits = fresh.length === 1 && !isForced ? (fresh[0] as (typeof fresh)[number])[1].sinceMs + delayMs - nowMs : 0;
    if (waits > 0) return { due: [], pending: fresh.map(([bookieId]) => bookieId), waitMs: waits };
    const due = isForced ? [...this.#lost.keys()] : fresh.map(([bookieId]) => bookieId);
    return { due, pending: [], waitMs: undefined };
  }
}
