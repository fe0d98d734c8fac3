import type { EntryId, LedgerId, Position } from '@daybook/proto';

/** Opens topics' logs. One broker at a time may hold one open: the compare-and-set of the ledger list and fencing see to it. */
export interface ManagedLedgers {
  /** Recovers the last ledger (fencing any other broker's writer), appends a new one to the list, recovers the cursors. Opens of one name share one result. */
  open(name: string, options: ManagedLedgerOptions): Promise<ManagedLedger>;
  /** Deletes all ledgers, cursors and records of a log that nobody has open. Missing is fine. */
  delete(name: string): Promise<void>;
  /** What the metadata says, without opening: undefined when there is none. For stats of idle topics, listing, `internalStats`. */
  exists(name: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface ManagedLedgerOptions {
  ensembleSize: number;
  writeQuorumSize: number;
  ackQuorumSize: number;
  /** Roll when any is reached (and `rolloverTimeMinMs` has passed); also when idle. */
  entriesPerLedgerMax: number;
  bytesPerLedgerMax: number;
  rolloverTimeMinMs: number;
  rolloverTimeMaxMs: number;
}

/** Called in append order, per run of entries. */
export interface ManagedAppendListener {
  /**
   * Entries `first`..`first + count - 1` of one ledger are durable; they are the oldest `count` appends not yet answered.
   */
  appended(ledgerId: LedgerId, first: EntryId, count: number): void;
  /** The oldest `count` unanswered appends failed for good (they may exist all the same): publisher gets an error. */
  failed(count: number, error: Error): void;
  /** Another broker owns the log now, or it was closed: nothing more will be answered; close the topic. */
  fenced(error: Error): void;
}

/** An endless log made of a chain of ledgers. */
export interface ManagedLedger {
  readonly name: string;
  /** Position of the newest acknowledged entry; entry id -1 in the first ledger when there has never been one. */
  readonly lastConfirmed: Position;
  /** Entries now stored, acknowledged and not trimmed. */
  readonly entriesCount: number;
  readonly totalBytes: number;
  /** Before the first entry that still exists: where `earliest` begins. */
  readonly beforeFirst: Position;
  /** Set once, before the first append. */
  listen(listener: ManagedAppendListener): void;
  /** True at the byte bound: stop appending (stop reading sockets) until `onDrain`. */
  readonly isFull: boolean;
  onDrain(task: () => void): void;
  /** The hot path. The payload is copied. While a new ledger is being made, appends wait inside (bounded by the same bound). A ledger that fails is replaced and what was not acknowledged is sent again, in order. */
  append(payload: Uint8Array): void;
  /** Entries after `after` in order, across ledgers, from the tail cache or the bookies: at least one if any is confirmed, else an empty list. */
  read(after: Position, limits: { entriesMax: number; bytesMax: number }): Promise<StoredEntry[]>;
  readOne(position: Position): Promise<StoredEntry | undefined>;
  /** Called (once per registration) when `lastConfirmed` moves beyond `after`, at once if it has already. */
  onAppended(after: Position, task: () => void): { stop(): void };
  /** The position after which exactly... the previous existing position; used for inclusive starts. */
  previous(position: Position): Position;
  /** The first existing position after `position` (confirmed or not): crosses ledgers, skips empty and trimmed ones. */
  next(position: Position): Position;
  /** How many confirmed entries lie in (after, upTo]. */
  countBetween(after: Position, upTo: Position): number;
  /** A durable read position. Creates it at `initial` when there is none of that name. */
  openCursor(name: string, initial: Position): Promise<Cursor>;
  /** A position in memory only; holds nothing back from trimming. */
  openTransientCursor(name: string, initial: Position): Cursor;
  /** The durable ones that are open. */
  readonly cursors: ReadonlyMap<string, Cursor>;
  deleteCursor(name: string): Promise<void>;
  /** Drops whole ledgers that every durable cursor has passed (retention 0: nothing else holds them). Also runs by itself. */
  trim(): Promise<void>;
  /** Texts kept with the log's record. */
  readonly properties: ReadonlyMap<string, string>;
  /** Durable when it resolves. Rejects with `MANAGED_LEDGER_FENCED`, `MANAGED_LEDGER_CLOSED`. */
  setProperties(change: (properties: Map<string, string>) => void): Promise<void>;
  /** Closes the current ledger; the next append goes to a new one. */
  roll(): Promise<void>;
  /** What `internalStats` shows (pulsar-api.md 2.7.6), without the topic-level parts. */
  internalStats(): ManagedLedgerStats;
  /** Cursors' states are made durable and written into the metadata, the current ledger is closed. Idempotent. */
  close(): Promise<void>;
  /** Closes and deletes everything. */
  delete(): Promise<void>;
}

/** An acknowledged-by-bookies entry as stored: the payload is Pulsar's MessageMetadata + payload. */
export interface StoredEntry {
  readonly position: Position;
  readonly payload: Buffer;
}

/**
 * What a subscription has consumed: everything up to the mark-delete position plus single entries above it. Changes are in memory at once and durable
 * within a second (also when nothing follows); never silently cut.
 */
export interface Cursor {
  readonly name: string;
  readonly isDurable: boolean;
  /** Every entry up to and including this one is acknowledged. */
  readonly markDelete: Position;
  /** Entries not yet acknowledged, up to lastConfirmed. */
  readonly backlog: number;
  /** Returns false when it was acknowledged already, is trimmed, or never existed. */
  acknowledge(position: Position): boolean;
  /** Everything up to and including `position`. */
  acknowledgeUpTo(position: Position): void;
  isAcknowledged(position: Position): boolean;
  /** Moves the mark (back or forth) and forgets single acknowledgements: seek, skip all. Durable when it resolves. */
  reset(markDelete: Position): Promise<void>;
  /** Resolves once everything acknowledged so far is durable. */
  flush(): Promise<void>;
  readonly properties: ReadonlyMap<string, bigint>;
  stats(): CursorStats;
}

export interface CursorStats {
  markDeletePosition: Position;
  /** The first of them (10,000 at most). */
  individuallyDeletedRanges: readonly { after: Position; upTo: Position }[];
  individuallyDeletedRangesCount: number;
  properties: ReadonlyMap<string, bigint>;
  cursorLedgerId: LedgerId | undefined;
  cursorLedgerLastEntryId: EntryId;
  lastLedgerSwitchMs: number;
  state: 'Open' | 'NoLedger' | 'Closed';
}

export interface ManagedLedgerStats {
  entriesAddedCounter: number;
  numberOfEntries: number;
  totalBytes: number;
  currentLedgerEntries: number;
  currentLedgerBytes: number;
  lastLedgerCreatedMs: number;
  lastLedgerCreationFailureMs: number | undefined;
  waitingCursorsCount: number;
  pendingAppendsCount: number;
  lastConfirmed: Position;
  state: 'LedgerOpened' | 'ClosingLedger' | 'CreatingLedger' | 'WriteFailed' | 'Fenced' | 'Closed';
  ledgers: readonly { ledgerId: LedgerId; entries: number; bytes: number; isUnderReplicated: boolean }[];
  cursors: ReadonlyMap<string, CursorStats>;
  /** Fewer bookies than configured take entries: E of the current ledger and what it should be. */
  ensemble: { size: number; configured: number };
}
