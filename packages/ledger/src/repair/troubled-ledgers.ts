import type { BookieId, LedgerId } from '@daybook/proto';

/** A ledger whose repair failed. */
export interface TroubledLedger {
  readonly ledgerId: LedgerId;
  /** Failed repairs in a row. */
  rounds: number;
  /** Not before this (monotonic) time again. */
  dueMs: number;
  triedAtMs: number;
  reason: string;
  isGivenUp: boolean;
  /** Where its copies went, so that the next repair goes on there. */
  readonly targets: Map<string, BookieId>;
}

export interface TroubledLedgersOptions {
  /** `lockReleaseOfFailedLedgerGracePeriod`: the longest wait; the first is 1/32 of it, then it doubles. */
  backOffMsMax: number;
  /** Failures after which a person should look: it is said loudly, and tried only now and then. */
  roundsMax: number;
  givenUpRetryMs: number;
  /** `rwRereplicateBackoffMs`: not sooner than this again, even when bookies come and go. */
  retryMsMin: number;
}

export interface FailedRepair {
  reason: string;
  nowMs: number;
  targets: Map<string, BookieId>;
  /** All that it waits for is that somebody closes it, which no bookie's coming or going tells of: never given up. */
  isOpen?: boolean;
}

/** What a worker remembers of ledgers that it could not repair. Pure: told the time, and what happened. */
export class TroubledLedgers {
  readonly #options: TroubledLedgersOptions;
  readonly #ledgers = new Map<LedgerId, TroubledLedger>();

  constructor(options: TroubledLedgersOptions) {
    this.#options = options;
  }

  get list(): readonly TroubledLedger[] {
    return [...this.#ledgers.values()];
  }

  get count(): number {
    return this.#ledgers.size;
  }

  get givenUpCount(): number {
    let count = 0;
    for (const { isGivenUp } of this.#ledgers.values()) if (isGivenUp) count++;
    return count;
  }

  get(ledgerId: LedgerId): TroubledLedger | undefined {
    return this.#ledgers.get(ledgerId);
  }

  isDue(ledgerId: LedgerId, nowMs: number): boolean {
    const troubled = this.#ledgers.get(ledgerId);
    return troubled === undefined || nowMs >= troubled.dueMs;
  }

  failed(ledgerId: LedgerId, { reason, nowMs, targets, isOpen = false }: FailedRepair): TroubledLedger {
    const { backOffMsMax, roundsMax, givenUpRetryMs } = this.#options;
    const rounds = (this.#ledgers.get(ledgerId)?.rounds ?? 0) + 1;
    const isGivenUp = rounds >= roundsMax && !isOpen;
    const waitMs = isGivenUp ? givenUpRetryMs : Math.min(backOffMsMax, (backOffMsMax / 32) * 2 ** (rounds - 1));
    const troubled = { ledgerId, rounds, dueMs: nowMs + waitMs, triedAtMs: nowMs, reason, isGivenUp, targets };
    this.#ledgers.set(ledgerId, troubled);
    return troubled;
  }

  /** It is whole, or gone. */
  forget(ledgerId: LedgerId): void {
    this.#ledgers.delete(ledgerId);
  }

  /** Bookies came or went: what could not be done may be possible now. */
  bookiesChanged(nowMs: number): void {
    for (const troubled of this.#ledgers.values()) {
      troubled.dueMs = Math.min(troubled.dueMs, Math.max(nowMs, troubled.triedAtMs + this.#options.retryMsMin));
    }
  }

  /** When the next one is due; undefined without any. */
  nextDueMs(): number | undefined {
    let next: number | undefined;
    for (const { dueMs } of this.#ledgers.values()) next = next === undefined ? dueMs : Math.min(next, dueMs);
    return next;
  }
}
