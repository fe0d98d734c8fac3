import type { BookieRegistry, CookieRecords, LedgerRecords } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import type { Clock, Logger } from '@daybook/runtime';
import { repairErrors } from './errors.js';
import { bookiesOf, forEachLedger } from './for-each-ledger.js';
import { deleteCookieOf, ledgersNaming } from './recover-bookies.js';
import type { RepairSettings } from './repair-settings.js';
import type { UnderReplication } from './under-replication.js';

export interface DecommissionRequest {
  bookieId: BookieId;
  /** When nothing names it any more; only of a bookie that is down. Default true. */
  deleteCookie?: boolean;
  stop?: AbortSignal;
  onProgress?: (progress: DecommissionProgress) => void;
}

export interface DecommissionProgress {
  phase: 'marking' | 'moving' | 'verifying' | 'done';
  /** Ledgers that named the bookie when it began. */
  ledgersTotal: number;
  ledgersLeft: number;
  elapsedMs: number;
  /** Until the last one, from the speed so far; undefined at first. */
  remainingMs: number | undefined;
  /** Since a ledger was finished last: when it grows, look whether autorecovery is running anywhere, and at its log. */
  idleMs: number;
}

export interface DecommissionDependencies {
  clock: Clock;
  records: LedgerRecords;
  registry: BookieRegistry;
  cookies: CookieRecords;
  underReplication: UnderReplication;
  settings: RepairSettings;
  logger: Logger;
}

export interface DecommissionResult {
  ledgersMoved: number;
  isCookieDeleted: boolean;
  elapsedMs: number;
}

const pollMsMin = 1_000;
/** Reading records of ledgers that are still to be moved shall not keep the metadata store busy. */
const recordsPerSecond = 1_000;
const remarkMs = 60_000;

/**
 * Empties a bookie that is down or read-only: marks all its ledgers, waits until the workers of the cluster have moved its copies, makes sure that no record
 * names it any more, and deletes its cookie. Broken off, the draining goes on by itself; called again, it goes on watching. `cancelDecommission` ends it.
 *
 * Rejects with `REPAIR_BOOKIE_WRITABLE`, `REPAIR_DISABLED`, `REPAIR_BOOKIE_UP` (its cookie cannot be deleted), `REPAIR_STOPPED`.
 */
export function decommissionBookie(dependencies: DecommissionDependencies, request: DecommissionRequest): Promise<DecommissionResult> {
  return new Decommission(dependencies, request).run();
}

/** The bookie keeps what it still has. */
export async function cancelDecommission({ settings }: Pick<DecommissionDependencies, 'settings'>, bookieId: BookieId): Promise<void> {
  await settings.setDraining(bookieId, false);
}

class Decommission {
  readonly #d: DecommissionDependencies;
  readonly #request: DecommissionRequest;
  readonly #startMs: number;
  readonly #left = new Set<LedgerId>();
  #total = 0;
  #progressAtMs: number;

  constructor(dependencies: DecommissionDependencies, request: DecommissionRequest) {
    this.#d = dependencies;
    this.#request = request;
    this.#startMs = dependencies.clock.monoMs();
    this.#progressAtMs = this.#startMs;
  }

  async run(): Promise<DecommissionResult> {
    const { settings, clock, logger } = this.#d;
    const { bookieId, deleteCookie = true } = this.#request;
    this.#check();
    if (deleteCookie && this.#d.registry.get(bookieId) !== undefined) {
      // Better now than after hours of copying.
      throw repairErrors.BOOKIE_UP(bookieId);
    }
    if (!(await settings.isEnabled())) throw repairErrors.DISABLED();
    await settings.setDraining(bookieId, true);
    logger.info({ bookieId }, 'a bookie is being drained');
    for (let found = await this.#find(); found.length > 0; found = await this.#find()) await this.#move(found);
    if (deleteCookie) await deleteCookieOf(this.#d, bookieId, this.#request.stop);
    await settings.setDraining(bookieId, false);
    this.#tell('done');
    logger.info({ bookieId, ledgers: this.#total }, 'a bookie is drained: nothing names it any more');
    return { ledgersMoved: this.#total, isCookieDeleted: deleteCookie, elapsedMs: clock.monoMs() - this.#startMs };
  }

  /** Every record is read: also at the end, when this is the proof that nothing names it. */
  async #find(): Promise<LedgerId[]> {
    this.#tell(this.#total === 0 ? 'marking' : 'verifying');
    const found = await ledgersNaming(this.#d, new Set([this.#request.bookieId]), this.#request.stop);
    this.#check();
    return found;
  }

  async #move(found: readonly LedgerId[]): Promise<void> {
    for (const ledgerId of found) this.#left.add(ledgerId);
    this.#total += found.length;
    await this.#mark('marking');
    let markedAtMs = this.#d.clock.monoMs();
    while (this.#left.size > 0) {
      this.#tell('moving');
      await this.#d.clock.sleep(Math.max(pollMsMin, (this.#left.size * 1_000) / recordsPerSecond), this.#request.stop);
      this.#check();
      await this.#look();
      // A mark may have been taken away by somebody who saw the bookie come back for a moment.
      const nowMs = this.#d.clock.monoMs();
      if (nowMs - Math.max(markedAtMs, this.#progressAtMs) < remarkMs) continue;
      await this.#mark('moving');
      markedAtMs = nowMs;
    }
  }

  async #mark(phase: DecommissionProgress['phase']): Promise<void> {
    for (const ledgerId of this.#left) {
      this.#check();
      await this.#d.underReplication.mark(ledgerId, [this.#request.bookieId]);
      this.#tell(phase);
    }
  }

  /** Which of the ledgers have lost the bookie, or are gone altogether. */
  async #look(): Promise<void> {
    const { records, logger, clock } = this.#d;
    const before = this.#left.size;
    const named = new Set<LedgerId>();
    await forEachLedger({ records, logger, ledgerIds: [...this.#left], stop: this.#request.stop }, (ledgerId, stored) => {
      if (bookiesOf(stored).has(this.#request.bookieId)) named.add(ledgerId);
    });
    for (const ledgerId of this.#left) if (!named.has(ledgerId)) this.#left.delete(ledgerId);
    if (this.#left.size < before) this.#progressAtMs = clock.monoMs();
  }

  #check(): void {
    const { bookieId, stop } = this.#request;
    if (stop?.aborted === true) throw repairErrors.STOPPED();
    if (this.#d.registry.get(bookieId)?.isWritable === true) throw repairErrors.BOOKIE_WRITABLE(bookieId);
  }

  #tell(phase: DecommissionProgress['phase']): void {
    const nowMs = this.#d.clock.monoMs();
    const elapsedMs = nowMs - this.#startMs;
    const done = this.#total - this.#left.size;
    this.#request.onProgress?.({
      phase,
      ledgersTotal: this.#total,
      ledgersLeft: this.#left.size,
      elapsedMs,
      remainingMs: phase !== 'moving' || done === 0 ? undefined : Math.round((elapsedMs / done) * this.#left.size),
      idleMs: nowMs - this.#progressAtMs,
    });
  }
}
