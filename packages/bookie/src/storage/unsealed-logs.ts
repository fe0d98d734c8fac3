import type { OpenLog } from './entry-log.js';
import type { Run } from './index-format.js';

/**
 * The logs that are not sealed: at most one that flushes write to and one that compaction writes to, and those that are abandoned: not written any more (their
 * directory failed or is full, or a sync of theirs failed), and to be sealed when that is over, at the latest at the next start.
 */
export class UnsealedLogs {
  #current: OpenLog | undefined;
  #compacted: OpenLog | undefined;
  #abandoned: readonly OpenLog[] = [];
  /** Those that are written first, then the newest. */
  #all: readonly OpenLog[] = [];

  get current(): OpenLog | undefined {
    return this.#current;
  }

  get compacted(): OpenLog | undefined {
    return this.#compacted;
  }

  get abandoned(): readonly OpenLog[] {
    return this.#abandoned;
  }

  get all(): readonly OpenLog[] {
    return this.#all;
  }

  isWritten(log: OpenLog): boolean {
    return log === this.#current || log === this.#compacted;
  }

  /** The log that is written from now on. */
  set(log: OpenLog): void {
    if (log.isCompacted) this.#compacted = log;
    else this.#current = log;
    this.#changed();
  }

  abandon(log: OpenLog): void {
    this.remove(log);
    this.#abandoned = [log, ...this.#abandoned];
    this.#changed();
  }

  /** It is sealed. */
  remove(log: OpenLog): void {
    if (this.#current === log) this.#current = undefined;
    if (this.#compacted === log) this.#compacted = undefined;
    this.#abandoned = this.#abandoned.filter((candidate) => candidate !== log);
    this.#changed();
  }

  find(ledgerId: number, entryId: number): { logId: number; run: Run }[] {
    const found: { logId: number; run: Run }[] = [];
    for (const { logId, index } of this.#all) {
      const run = index.find(ledgerId, entryId);
      if (run !== undefined) found.push({ logId, run });
    }
    return found;
  }

  /** The highest entry id of a ledger, or -1. */
  lastId(ledgerId: number): number {
    return this.#all.reduce((last, log) => Math.max(last, log.index.lastId(ledgerId)), -1);
  }

  runsOf(ledgerId: number): Run[] {
    return this.#all.flatMap((log) => log.index.runsOf(ledgerId));
  }

  #changed(): void {
    this.#all = [this.#current, this.#compacted, ...this.#abandoned].filter((log) => log !== undefined);
  }
}
