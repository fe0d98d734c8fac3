import type { LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import { decodeHolder, encodeHolder } from './lock-holder.js';
import type { MetadataStore } from './metadata-store.js';
import { deleteOwnKey } from './own-key.js';
import { ledgerIdOfRepairPart, paths } from './paths.js';

/** The right to repair one ledger, for as long as the metadata session lasts. */
export interface RepairLock {
  readonly ledgerId: LedgerId;
  /** Aborts when somebody else may have the lock: nothing must be changed any more. */
  readonly lost: AbortSignal;
  /** Idempotent. */
  release(): Promise<void>;
}

export interface RepairLocksOptions {
  store: MetadataStore;
  clock: Clock;
  /** What others are told; different for all lock takers that share a session. */
  owner: string;
}

const releaseAttemptsMax = 5;
const releaseRetryMs = 200;
const leftoversRetryMs = 5_000;

/**
 * One lock per ledger for everything that repairs (workers, manual recovery, decommission) or collects copies that nobody owns (P12). A lock is an ephemeral
 * key, so it ends with the session of its holder; what is done under it is a compare-and-set all the same.
 */
export class RepairLocks {
  readonly #store: MetadataStore;
  readonly #clock: Clock;
  readonly #value: Buffer;
  readonly #held = new Map<LedgerId, AbortController>();
  /** Keys that may be ours although nobody here holds the lock: an answer was lost. */
  readonly #leftovers = new Set<LedgerId>();
  readonly #session: { stop(): void };
  #leftoversTimer: { cancel(): void } | undefined;

  constructor({ store, clock, owner }: RepairLocksOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#value = encodeHolder(owner);
    this.#session = store.onSession((state) => {
      if (state === 'lost' || state === 'closed') this.#loseAll();
    });
  }

  /** Undefined when somebody has it, or the store's answer was lost. */
  async tryLock(ledgerId: LedgerId): Promise<RepairLock | undefined> {
    if (this.#held.has(ledgerId)) return undefined;
    const lost = new AbortController();
    // Before the store is asked, so that no second caller here gets in between.
    this.#held.set(ledgerId, lost);
    let isTaken = false;
    try {
      isTaken = await this.#take(ledgerId);
    } finally {
      if (!isTaken && this.#held.get(ledgerId) === lost) this.#held.delete(ledgerId);
    }
    return isTaken ? { ledgerId, lost: lost.signal, release: () => this.#release(ledgerId, lost) } : undefined;
  }

  /** Who has the lock; undefined when nobody has. */
  async holder(ledgerId: LedgerId): Promise<string | undefined> {
    const found = await this.#store.get(paths.replicationLock(ledgerId));
    return found && (decodeHolder(found.value) ?? 'somebody');
  }

  /** Ledgers that are locked now, by anybody; without those whose key was left behind here, as they can be locked anew. */
  async lockedLedgers(): Promise<Set<bigint>> {
    const names = await this.#store.children(paths.replicationLocks);
    const locked = new Set(names.flatMap((name) => ledgerIdOfRepairPart(name) ?? []));
    for (const ledgerId of this.#leftovers) locked.delete(BigInt(ledgerId));
    return locked;
  }

  /** Gives back what is still held. */
  async close(): Promise<void> {
    this.#session.stop();
    this.#leftoversTimer?.cancel();
    await Promise.all([...this.#held].map(([ledgerId, lost]) => this.#release(ledgerId, lost)));
  }

  async #take(ledgerId: LedgerId): Promise<boolean> {
    const path = paths.replicationLock(ledgerId);
    try {
      await this.#store.put(path, this.#value, 'absent', { ephemeral: true });
    } catch (error) {
      if (metadataErrors.UNAVAILABLE.is(error)) this.#leave(ledgerId);
      if (!metadataErrors.EXISTS.is(error) || !this.#leftovers.has(ledgerId)) {
        if (metadataErrors.EXISTS.is(error) || metadataErrors.UNAVAILABLE.is(error)) return false;
        throw error;
      }
      const found = await this.#store.get(path);
      if (!found?.ownEphemeral || !found.value.equals(this.#value)) {
        this.#leftovers.delete(ledgerId);
        return false;
      }
    }
    // The session may have ended on the way: then the key may belong to the next one.
    const isHeld = this.#held.get(ledgerId)?.signal.aborted === false;
    if (isHeld) this.#leftovers.delete(ledgerId);
    else this.#leave(ledgerId);
    return isHeld;
  }

  async #release(ledgerId: LedgerId, lost: AbortController): Promise<void> {
    if (this.#held.get(ledgerId) !== lost) return;
    try {
      for (let attempt = 1; !lost.signal.aborted && !(await this.#remove(ledgerId)); attempt++) {
        if (attempt >= releaseAttemptsMax) {
          this.#leave(ledgerId);
          break;
        }
        await this.#clock.sleep(releaseRetryMs, lost.signal);
      }
    } finally {
      if (this.#held.get(ledgerId) === lost) this.#held.delete(ledgerId);
    }
  }

  /** False when the store cannot be reached. */
  async #remove(ledgerId: LedgerId): Promise<boolean> {
    try {
      await deleteOwnKey(this.#store, paths.replicationLock(ledgerId), this.#value);
    } catch (error) {
      if (metadataErrors.UNAVAILABLE.is(error)) return false;
      if (!metadataErrors.CLOSED.is(error)) throw error;
    }
    return true;
  }

  /** The key may stay for as long as the session, which can be for months, and keep everybody else from repairing the ledger: it is removed as soon as possible. */
  #leave(ledgerId: LedgerId): void {
    this.#leftovers.add(ledgerId);
    this.#leftoversTimer ??= this.#clock.after(leftoversRetryMs, () => {
      this.#leftoversTimer = undefined;
      void this.#removeLeftovers();
    });
  }

  async #removeLeftovers(): Promise<void> {
    for (const ledgerId of [...this.#leftovers]) {
      if (this.#held.has(ledgerId)) {
        this.#leave(ledgerId);
        continue;
      }
      // As if it were held, so that nobody here takes the lock whose key is being removed.
      const lost = new AbortController();
      this.#held.set(ledgerId, lost);
      this.#leftovers.delete(ledgerId);
      await this.#release(ledgerId, lost).catch(() => this.#leave(ledgerId));
    }
  }

  #loseAll(): void {
    for (const lost of this.#held.values()) lost.abort();
    this.#held.clear();
    this.#leftovers.clear();
    this.#leftoversTimer?.cancel();
    this.#leftoversTimer = undefined;
  }
}
