import { type BookieId, type EntryId, entryPayloadBytesMax, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { AppendWaiters } from './append-waiters.js';
import type { LedgerEnd } from './close-ledger.js';
import { ledgerErrors } from './errors.js';
import type { AdvLedgerWriter, LedgerWriter } from './ledger-api.js';

interface Held {
  readonly payload: Buffer;
  readonly resolve: (acknowledged: EntryId | Promise<EntryId>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts entries that come in any order into theirs, in front of an ordinary writer. Differs from BookKeeper in when entries are sent: one that has a gap before
 * it waits here, not on bookies, where a recovery would drop it anyway. So each entry's length counts exactly the entries up to it.
 */
export class EnsembleAdvWriter implements AdvLedgerWriter {
  readonly #writer: LedgerWriter;
  readonly #heldBytesMax: number;
  readonly #held = new Map<EntryId, Held>();
  readonly #waiters = new AppendWaiters();
  #heldBytes = 0;
  #isWaitingForRoom = false;
  #error: Error | undefined;

  constructor(writer: LedgerWriter, heldBytesMax: number) {
    this.#writer = writer;
    this.#heldBytesMax = heldBytesMax;
    writer.listen({
      confirmed: (upTo) => this.#waiters.confirmed(upTo),
      failed: (error) => this.#end(error),
    });
  }

  get ledgerId(): LedgerId {
    return this.#writer.ledgerId;
  }

  get metadata(): LedgerMetadata {
    return this.#writer.metadata;
  }

  get lastAddConfirmed(): EntryId {
    return this.#writer.lastAddConfirmed;
  }

  get lastAddPushed(): EntryId {
    return this.#writer.lastAddPushed;
  }

  get isDegraded(): boolean {
    return this.#writer.isDegraded;
  }

  get failedBookies(): readonly BookieId[] {
    return this.#writer.failedBookies;
  }

  async write(entryId: EntryId, payload: Uint8Array): Promise<EntryId> {
    if (this.#error !== undefined) throw this.#error;
    if (!Number.isSafeInteger(entryId) || entryId < 0) throw ledgerErrors.BAD_RANGE(`${entryId} is no entry id: they are integers from 0`);
    if (payload.length > entryPayloadBytesMax) throw ledgerErrors.TOO_LARGE(payload.length, entryPayloadBytesMax);
    if (entryId <= this.#writer.lastAddPushed || this.#held.has(entryId)) throw ledgerErrors.DUPLICATE_ENTRY(this.ledgerId, entryId);
    // The one that everybody else waits for always goes in.
    const isNext = entryId === this.#writer.lastAddPushed + 1;
    if (!isNext && this.#heldBytes + payload.length > this.#heldBytesMax) throw ledgerErrors.OVERLOADED(this.ledgerId, this.#heldBytesMax);
    const acknowledged = new Promise<EntryId>((resolve, reject) => {
      this.#held.set(entryId, { payload: Buffer.from(payload), resolve, reject });
    });
    this.#heldBytes += payload.length;
    this.#release();
    return acknowledged;
  }

  force(): Promise<EntryId> {
    return this.#writer.force();
  }

  close(): Promise<LedgerEnd> {
    const closed = this.#writer.close();
    this.#end(ledgerErrors.CLOSED(this.ledgerId));
    return closed;
  }

  /** Sends what has no gap before it, as far as there is room. */
  #release(): void {
    while (!this.#isWaitingForRoom && this.#error === undefined) {
      const entryId = (this.#writer.lastAddPushed + 1) as EntryId;
      const held = this.#held.get(entryId);
      if (held === undefined) return;
      if (this.#writer.isFull) {
        this.#isWaitingForRoom = true;
        this.#writer.onDrain(() => {
          this.#isWaitingForRoom = false;
          this.#release();
        });
        return;
      }
      this.#held.delete(entryId);
      this.#heldBytes -= held.payload.length;
      this.#writer.push(held.payload);
      held.resolve(this.#waiters.add(entryId));
    }
  }

  #end(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#waiters.failed(error);
    const rest = [...this.#held.values()];
    this.#held.clear();
    this.#heldBytes = 0;
    for (const { reject } of rest) reject(error);
  }
}
