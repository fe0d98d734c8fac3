import type { LogPosition } from './log-position.js';
import type { LogSegment } from './segment-format.js';
import type { TransactionId } from './transaction-id.js';
import type { NewRecord } from './write-operation.js';

/** A record as readers get it. */
export interface LogRecord {
  readonly position: LogPosition;
  readonly txId: TransactionId;
  readonly payload: Buffer;
  /** How many records the log had before this one, those purged since included. */
  readonly sequenceId: number;
}

/**
 * Writes to a log, alone. Errors: `LOG_FENCED`, `LOG_LOCK_LOST` (somebody else writes now), `LOG_WRITE_FAILED` (not acknowledged; it may be in the log). After any of
 * them the writer does nothing any more: close it, and open the log again.
 */
export interface LogWriter extends AsyncDisposable {
  readonly name: string;
  /** The last one accepted; -1 when the log has no record. */
  readonly lastTxId: TransactionId;
  /**
   * Resolves when the record is acknowledged: on `ackQuorumSize` disks. Rejects with `LOG_TRANSACTION_ID_OUT_OF_ORDER`, `LOG_BAD_TRANSACTION_ID`,
   * `LOG_RECORD_TOO_LARGE`, `LOG_OVER_CAPACITY` (nothing was written, go on), `LOG_END_OF_STREAM`. Records are in the log in the order of the calls.
   */
  write(txId: TransactionId, payload: Uint8Array): Promise<LogPosition>;
  /** All of them, one after the other, in one segment. When it rejects, a first part may be in the log. */
  writeBulk(records: readonly NewRecord[]): Promise<LogPosition[]>;
  /** Resolves when everything written so far is acknowledged, with the last transaction id. */
  flush(): Promise<TransactionId>;
  /** The same, and it is visible to readers. */
  commit(): Promise<TransactionId>;
  /** Begins a new segment, and resolves when the present one is completed. */
  roll(): Promise<void>;
  /** See {@link Log.truncate}. */
  truncate(position: LogPosition): Promise<void>;
  /** Ends the log for good, after all that was written. */
  markEndOfStream(): Promise<void>;
  /** Waits for what was written, completes the segment, gives the lock back. Idempotent. */
  close(): Promise<void>;
  /** Gives the lock back at once; writes under way fail, the segment is left to the next writer to recover. */
  abort(): Promise<void>;
}

export interface ReadOptions {
  /** Default 1,000. */
  recordsMax?: number;
  /** About so many bytes of payload, at least one record. Default 1 MiB. */
  bytesMax?: number;
  /** How long to wait for a first record. Default 0. */
  waitMs?: number;
  stop?: AbortSignal;
}

/** Reads a log in order; each record once. One call at a time: later ones wait. */
export interface LogReader extends AsyncDisposable {
  readonly name: string;
  /** The next record is at this place or behind it. */
  readonly position: LogPosition;
  /**
   * What is there, up to the limits; empty when nothing came within `waitMs`. Rejects with `LOG_END_OF_STREAM` after the last record of a log that was ended,
   * `LOG_TRUNCATED` when records before the next one were purged meanwhile.
   */
  read(options?: ReadOptions): Promise<LogRecord[]>;
  /** All records from here on, waiting for those to come, until `stop` aborts, the log is ended, or the reader is closed. */
  records(stop?: AbortSignal): AsyncIterableIterator<LogRecord>;
  close(): Promise<void>;
}

/** Where a reader starts: at the first record not before the place or the transaction id. */
export type ReadFrom = 'first' | 'end' | { readonly txId: TransactionId } | { readonly position: LogPosition };

export interface OpenReaderOptions {
  /** Default `first`: the first record that was not truncated. `end`: what is written from now on. */
  from?: ReadFrom;
  /** For a position that was truncated: `fail` (default) with `LOG_TRUNCATED`, or `skip` to the first record that is there. */
  ifTruncated?: 'fail' | 'skip';
}

export interface OpenWriterOptions {
  /** Who writes, for people. Default `writer`. */
  owner?: string;
  /** Instead of the option of the log. */
  lockWaitMs?: number;
  stop?: AbortSignal;
}

/** A named log. Reading changes nothing, least of all the writer's life. Errors: `LOG_NOT_FOUND` and those of each method. */
export interface Log {
  readonly name: string;
  /**
   * Takes the lock, fences whoever wrote before and brings in order what that left. Rejects with `LOG_LOCKED`, and with `LEDGER_RECOVERY_FAILED` when too few
   * bookies answer.
   */
  openWriter(options?: OpenWriterOptions): Promise<LogWriter>;
  openReader(options?: OpenReaderOptions): Promise<LogReader>;
  /** Oldest first; without purged ones. */
  segments(): Promise<readonly LogSegment[]>;
  /** Both reject with `LOG_EMPTY` when there is no record (any more). */
  firstRecord(): Promise<LogRecord>;
  /** The last one visible to readers. */
  lastRecord(): Promise<LogRecord>;
  firstTxId(): Promise<TransactionId>;
  lastTxId(): Promise<TransactionId>;
  firstPosition(): Promise<LogPosition>;
  lastPosition(): Promise<LogPosition>;
  /** Visible records, without those truncated. */
  recordsCount(): Promise<number>;
  /** Of the first visible record whose transaction id is not below; undefined when there is none yet. */
  positionNotBefore(txId: TransactionId): Promise<LogPosition | undefined>;
  isEndOfStreamMarked(): Promise<boolean>;
  /** What opening for writing does, without writing: afterwards no segment is in progress. */
  recover(options?: OpenWriterOptions): Promise<void>;
  /** Everything before `position` is not needed any more: readers begin there. Segments in progress stay as they are. */
  truncate(position: LogPosition): Promise<void>;
  /** Removes the oldest segments whose transaction ids are all below, but never the last completed one. */
  purgeOlderThan(minTxIdToKeep: TransactionId): Promise<void>;
}

/** All logs of a cluster. */
export interface Logs {
  /** Rejects with `LOG_EXISTS`. */
  create(name: string): Promise<Log>;
  /** Rejects with `LOG_NOT_FOUND`. */
  open(name: string): Promise<Log>;
  exists(name: string): Promise<boolean>;
  /** Sorted. */
  list(): Promise<string[]>;
  /** Waits for the lock, fences, removes everything. Rejects with `LOG_LOCKED`; a missing log is `LOG_NOT_FOUND`. */
  delete(name: string, options?: OpenWriterOptions): Promise<void>;
}
