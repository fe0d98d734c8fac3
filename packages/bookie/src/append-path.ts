import { type AppendBatch, type BookieCode, explicitLacOf, type ForceRequest, type WriteLacRequest } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { DeferredSyncs } from './deferred-syncs.js';
import type { JournalOutcome } from './journal/journal.js';
import { encodeLacRecord, recordTypes } from './journal/journal-format.js';
import type { Journals } from './journal/journals.js';
import type { Lacs } from './lacs.js';
import type { Limbo } from './limbo/limbo.js';
import type { ReadOnlyMode } from './read-only-mode.js';
import type { LedgerStorage } from './storage/ledger-storage.js';
import { UndurableEntries } from './undurable-entries.js';

export interface AppendPathOptions {
  storage: LedgerStorage;
  journals: Journals;
  lacs: Lacs;
  batchBytesMax: number;
  journalQueueBytesMax: number;
  heldBytesMax: number;
  onChange(): void;
  readOnly: Pick<ReadOnlyMode, 'admits'>;
  limbo: Pick<Limbo, 'has'>;
  onRoomNeeded(): void;
}

interface Held {
  batch: AppendBatch;
  done: (code: BookieCode) => void;
}

/**
 * Batches on their way in: checked, put into the write cache, then journaled. A batch that finds the write cache or the journal's queue full is held, with
 * all that come after it, until there is room; what is held is bounded, and beyond that refused. Fences are checked in the same turn in which the batch
 * is handed to the journal, so an append is journaled before a fence or refused.
 */
export class AppendPath {
  readonly #options: AppendPathOptions;
  readonly #deferred = new DeferredSyncs();
  /** What is in the write cache but not (yet) in the journal. */
  readonly undurable = new UndurableEntries();
  #held: Held[] = [];
  #heldBytes = 0;
  #needsRoom = false;
  #isResuming = false;

  constructor(options: AppendPathOptions) {
    this.#options = options;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** True while batches are held because the write cache is full. */
  get needsRoom(): boolean {
    return this.#needsRoom;
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    if (this.#held.length === 0 && this.#tryAppend(batch, done)) return;
    const bytes = batch.bytes.length;
    if (this.#heldBytes + bytes > this.#options.heldBytesMax) {
      answerSoon('TOO_MANY_REQUESTS', done);
      return;
    }
    this.#held.push({ batch, done });
    this.#heldBytes += bytes;
    if (this.#needsRoom) this.#options.onRoomNeeded();
  }

  /** There may be room: after a flush began or ended, and after a commit. */
  resume(): void {
    if (this.#isResuming || this.#held.length === 0) return;
    this.#isResuming = true;
    this.#needsRoom = false;
    let taken = 0;
    for (const { batch, done } of this.#held) {
      if (!this.#tryAppend(batch, done)) break;
      this.#heldBytes -= batch.bytes.length;
      taken++;
    }
    if (taken > 0) this.#held = this.#held.slice(taken);
    this.#isResuming = false;
    if (this.#needsRoom) this.#options.onRoomNeeded();
  }

  /** Answers everything that is held: the bookie stops. */
  refuseHeld(code: BookieCode): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    this.#needsRoom = false;
    for (const { done } of held) answerSoon(code, done);
  }

  /** False when there is no room now; otherwise the batch was taken or refused. */
  #tryAppend(batch: AppendBatch, done: (code: BookieCode) => void): boolean {
    const { storage, journals } = this.#options;
    const { ledgerId, bytes } = batch;
    const code = this.#check(batch);
    if (code !== 'OK') {
      answerSoon(code, done);
      return true;
    }
    if (!storage.hasRoomFor(bytes.length)) {
      this.#needsRoom = true;
      return false;
    }
    if (journals.queuedBytes + bytes.length > this.#options.journalQueueBytesMax) return false;
    if (!storage.states.has(ledgerId)) storage.states.create(ledgerId, batch.masterKey());
    if (batch.isRecovery) storage.states.noteRecovery(ledgerId);
    storage.add(ledgerId, bytes);
    const record = { type: recordTypes.appendBatch, body: bytes, isPriority: batch.isRecovery };
    const ids = this.undurable.handed(batch);
    if (batch.isDeferredSync) this.#deferred.handed(ledgerId);
    journals.append(ledgerId, record, (outcome) => {
      this.undurable.settled(ledgerId, ids, outcome === 'durable');
      if (batch.isDeferredSync) this.#deferred.settled(ledgerId, outcome === 'durable');
      else done(codeOf(outcome));
    });
    if (batch.isDeferredSync) answerSoon('OK', done);
    this.#options.lacs.noteBatch(batch);
    this.#options.onChange();
    return true;
  }

  /** `OK` when all appends answered so far are durable and `lastEntryId` is one of them. */
  async force({ ledgerId, lastEntryId }: ForceRequest): Promise<BookieCode> {
    try {
      if ((await this.#options.storage.lastEntryId(ledgerId)) < lastEntryId) return 'IO_ERROR';
    } catch (error) {
      if (error instanceof DaybookError) return 'IO_ERROR';
      throw error;
    }
    return this.#deferred.force(ledgerId);
  }

  /** Told to readers once it is durable. */
  writeLac({ ledgerId, masterKey, explicitLac }: WriteLacRequest): Promise<BookieCode> {
    const { storage, journals, lacs, journalQueueBytesMax } = this.#options;
    const { states } = storage;
    if (explicitLacOf(explicitLac).ledgerId !== ledgerId) return Promise.resolve('BAD_REQUEST');
    // Not created for this: a ledger that was deleted here must not come back, least of all without its fence.
    if (!states.has(ledgerId)) return Promise.resolve('NO_LEDGER');
    if (!states.keyMatches(ledgerId, masterKey)) return Promise.resolve('UNAUTHORIZED');
    if (journals.queuedBytes > journalQueueBytesMax) return Promise.resolve('TOO_MANY_REQUESTS');
    this.#options.onChange();
    return new Promise((resolve) => {
      const record = { type: recordTypes.explicitLac, body: encodeLacRecord(masterKey, explicitLac), isPriority: false };
      journals.append(ledgerId, record, (outcome) => {
        if (outcome === 'durable') lacs.setExplicitLac(ledgerId, explicitLac);
        resolve(codeOf(outcome));
      });
    });
  }

  #check(batch: AppendBatch): BookieCode {
    const { storage } = this.#options;
    const { states } = storage;
    if (batch.bytes.length > this.#options.batchBytesMax) return 'BAD_REQUEST';
    // What was sent before these was only promised to be written, and is gone: a bookie that died in between must not go on as if it were there.
    if (batch.isDeferredSync && storage.lastEntryIdSeen(batch.ledgerId) < batch.previousEntryId()) return 'IO_ERROR';
    if (states.has(batch.ledgerId) && !states.keyMatches(batch.ledgerId, batch.masterKey())) return 'UNAUTHORIZED';
    // Also of a ledger that was deleted here while it was fenced: it must not come back open.
    if (!batch.isRecovery && states.isFenced(batch.ledgerId)) return 'FENCED';
    // Its fence may be forgotten: a writer that was shut out elsewhere must not go on here.
    if (!batch.isRecovery && this.#options.limbo.has(batch.ledgerId)) return 'READ_ONLY';
    return this.#options.readOnly.admits(batch) ? 'OK' : 'READ_ONLY';
  }
}

function codeOf(outcome: JournalOutcome): BookieCode {
  if (outcome === 'durable') return 'OK';
  return outcome === 'disk full' ? 'READ_ONLY' : 'IO_ERROR';
}

/** Never in the same turn: `done` must not be called before `append` returned. */
export function answerSoon(code: BookieCode, done: (code: BookieCode) => void): void {
  queueMicrotask(() => done(code));
}
