import type { BookieId, DigestType, EntryId, LedgerId, LedgerMetadata } from '@daybook/proto';

/** Replicated append-only ledgers. Errors: `ledgerErrors` (errors.ts) and `metadataErrors`. */
export interface LedgerClient {
  create(options: CreateLedgerOptions): Promise<LedgerWriter>;
  /** A ledger whose entry ids, and if wanted whose own id, the caller chooses. An id that is taken is `LEDGER_EXISTS`; never to use one twice is the caller's duty. */
  createAdv(options: CreateAdvLedgerOptions): Promise<AdvLedgerWriter>;
  /** Fences the ledger's writer, finds the end, re-replicates the tail, closes it. Afterwards nothing can be added by anybody. */
  openWithRecovery(ledgerId: LedgerId, options: OpenLedgerOptions): Promise<LedgerReader>;
  /** Changes nothing; reads up to what can be learnt of an open ledger right now. */
  openWithoutRecovery(ledgerId: LedgerId, options: OpenLedgerOptions): Promise<LedgerReader>;
  /** Removes the metadata; bookies drop the entries when they collect garbage. A missing ledger is fine. */
  delete(ledgerId: LedgerId): Promise<void>;
  /** Ids of all ledgers, ascending; one that is made or deleted meanwhile may be there or not. Throws rather than leaves out. */
  list(): AsyncIterable<LedgerId>;
  /** Rejects with `LEDGER_NOT_FOUND`. */
  metadata(ledgerId: LedgerId): Promise<LedgerMetadata>;
  close(): Promise<void>;
}

export interface CreateLedgerOptions {
  /** E >= Qw >= Qa >= 1, else `LEDGER_BAD_QUORUM`. */
  ensembleSize: number;
  writeQuorumSize: number;
  ackQuorumSize: number;
  /** Default CRC32C. */
  digestType?: DigestType;
  password: Uint8Array;
  customMetadata?: ReadonlyMap<string, Uint8Array>;
  /**
   * With fewer than `ensembleSize` writable bookies: take as many as are up (E and Qw shrink together), but never fewer than `ackQuorumSize`.
   * Default false: `LEDGER_NOT_ENOUGH_BOOKIES`.
   */
  shrinkToAvailable?: boolean;
  /**
   * `DEFERRED_SYNC`: appends are acknowledged before they are durable; only `force()` makes them so, and moves the last-add-confirmed. Such a ledger cannot
   * change its ensemble: when one of its bookies fails, it fails.
   */
  writeFlags?: readonly 'DEFERRED_SYNC'[];
}

export interface CreateAdvLedgerOptions extends CreateLedgerOptions {
  /** Default: the next one that is free. */
  ledgerId?: LedgerId;
}

export interface OpenLedgerOptions {
  password: Uint8Array;
  /** Default: what the metadata says. A different one is `LEDGER_WRONG_DIGEST`. */
  digestType?: DigestType;
}

/** Told in entry order, per watermark and not per entry, from the event loop (never from inside `push`). */
export interface AppendListener {
  /**
   * Every entry up to and including this id is acknowledged: on `ackQuorumSize` bookies, under an ensemble that the metadata names, fsynced (with
   * `DEFERRED_SYNC`: not yet).
   */
  confirmed(lastAddConfirmed: EntryId): void;
  /** The ledger takes no more; entries above `lastAddConfirmed` may or may not exist and will not be acknowledged. Called at most once, last. */
  failed(error: Error, lastAddConfirmed: EntryId): void;
}

export interface LedgerWriter {
  readonly ledgerId: LedgerId;
  readonly metadata: LedgerMetadata;
  /** Durable on `ackQuorumSize` bookies up to here; with `DEFERRED_SYNC` as of the last `force()`. */
  readonly lastAddConfirmed: EntryId;
  readonly lastAddPushed: EntryId;
  /** Bytes of all payloads pushed. */
  readonly length: number;
  /** Bytes pushed and not yet acknowledged by every live bookie: what the window counts. */
  readonly pendingBytes: number;
  /** True while `pendingBytes` is at the window's limit: stop pushing until `onDrain` (pushing on is a bug of the caller and throws). */
  readonly isFull: boolean;
  /** Called once when there is room again. */
  onDrain(task: () => void): void;
  /** Fewer bookies than the ensemble size take entries right now, because no spare is up. */
  readonly isDegraded: boolean;
  /** For metrics and `info`: the members of the last segment that do not take entries right now. */
  readonly failedBookies: readonly BookieId[];
  /** Sets who is told about confirmations; at most one, before the first push. */
  listen(listener: AppendListener): void;
  /** The hot path: copies `payload` into the batch of this turn and returns its entry id. Throws `LEDGER_CLOSED`, `LEDGER_FENCED`, ... once failed. */
  push(payload: Uint8Array): EntryId;
  /**
   * For everybody else (not together with `listen`): resolves when the entry is acknowledged. Waits, in order, while the window is full, with a copy of the
   * payload; `LEDGER_OVERLOADED` when too many bytes wait already.
   */
  append(payload: Uint8Array): Promise<EntryId>;
  /**
   * Makes everything acknowledged so far durable on all bookies of the ensemble, and resolves with the last-add-confirmed. Without `DEFERRED_SYNC` there is
   * nothing to do. Rejects with `LEDGER_FORCE_FAILED` when one of them does not say so.
   */
  force(): Promise<EntryId>;
  /** Waits for nothing: entries not yet confirmed fail with `LEDGER_CLOSED`. Idempotent. Rejects with `LEDGER_FENCED` when somebody else recovered it differently. */
  close(): Promise<{ lastEntryId: EntryId; length: number }>;
}

/** A writer that is told the id of each entry. */
export interface AdvLedgerWriter
  extends Pick<LedgerWriter, 'ledgerId' | 'metadata' | 'lastAddConfirmed' | 'isDegraded' | 'failedBookies' | 'force' | 'close'> {
  /** The highest id below which none is missing. */
  readonly lastAddPushed: EntryId;
  /**
   * Resolves when the entry is acknowledged, in the order of ids: one that is missing holds up those behind it, which are kept until then (and sent then).
   * Rejects with `LEDGER_DUPLICATE_ENTRY`, with `LEDGER_BAD_RANGE` for what is no id, and with `LEDGER_OVERLOADED` when too many bytes wait for an id that is missing.
   */
  write(entryId: EntryId, payload: Uint8Array): Promise<EntryId>;
}

export interface LedgerEntry {
  entryId: EntryId;
  /** May share memory with its neighbours: an entry that is kept keeps up to 64 KiB (or as much as itself) alive beside it, never more. */
  payload: Buffer;
}

export interface LedgerReader {
  readonly ledgerId: LedgerId;
  readonly metadata: LedgerMetadata;
  readonly isClosed: boolean;
  /** For a closed ledger its last entry. */
  readonly lastAddConfirmed: EntryId;
  /** Of a closed ledger: bytes of all payloads. */
  readonly length: number;
  /** Asks the bookies of the last segment; never goes back. */
  readLastAddConfirmed(): Promise<EntryId>;
  /** As soon as one of them tells of more than is known; what is known when none does. May miss the newest. */
  tryReadLastAddConfirmed(): Promise<EntryId>;
  /**
   * Waits, at most `timeoutMs`, until the last-add-confirmed is above `after`, and gives it with the next entry, `after + 1`. Bookies answer by themselves when it
   * moves; ensemble changes and the end of the ledger are followed. Without an entry: nothing came in time, or the ledger is closed at `after`.
   */
  readLastAddConfirmedAndEntry(after: EntryId, timeoutMs: number): Promise<TailRead>;
  /**
   * Entries first..last, all of them, verified. Rejects with `LEDGER_BAD_RANGE` (below 0, backwards, beyond lastAddConfirmed), `LEDGER_NO_SUCH_ENTRY` (every
   * replica says so), `LEDGER_READ_FAILED` (unknown: try again).
   */
  read(first: EntryId, last: EntryId): Promise<LedgerEntry[]>;
  /** Like `read`, but may return only a first part of the range, at least one entry, so that about `bytesMax` is not exceeded. */
  readBatch(first: EntryId, last: EntryId, bytesMax: number): Promise<LedgerEntry[]>;
  /** Without the check against lastAddConfirmed: for the owner, who knows what was acknowledged. */
  readUnconfirmed(first: EntryId, last: EntryId, bytesMax: number): Promise<LedgerEntry[]>;
  close(): Promise<void>;
}

export interface TailRead {
  lastAddConfirmed: EntryId;
  entry?: LedgerEntry;
}
