/** Bounds and delays shared by all logs of a broker. */
export interface ManagedLedgersSettings {
  /** How long an acknowledgement may wait for others before it is written; a promise of 1 s stands behind it. */
  cursorFlushDelayMs: number;
  cursorEntriesPerLedgerMax: number;
  cursorBytesPerLedgerMax: number;
  cursorRolloverTimeMs: number;
  /** A cursor state larger than this goes into several entries; below the bookies' limit of 5 MiB. */
  cursorEntryBytesMax: number;
  /** A cursor state up to this many bytes may live in the metadata (on close, or while no ledger can be made). */
  cursorInlineBytesMax: number;
  /** A cursor's ledger that does not answer within this time is left for a new one. */
  cursorWriteWaitMaxMs: number;
  /** Unanswered appends of one log, and of all logs together. */
  appendBytesMax: number;
  totalAppendBytesMax: number;
  /** After this long without an answer an append fails (the message may exist all the same). */
  appendWaitMaxMs: number;
  tailCacheBytesMax: number;
  tailCacheAgeMaxMs: number;
  /** Opened readers kept over all logs. */
  openReadersMax: number;
  readersIdleMaxMs: number;
  retryDelayMinMs: number;
  retryDelayMaxMs: number;
  /** A roll that nothing forces is tried again after this long when no ledger could be made. */
  rollRetryDelayMs: number;
  /** How long a roll or a close waits for what was appended last. */
  drainWaitMaxMs: number;
  /** How soon a log moves to a full ensemble after enough bookies came up. */
  fullSizeDelayMs: number;
  /** How soon ledgers that nobody needs any more go by themselves. */
  trimDelayMs: number;
  /** How long opening a log tries to write its list. */
  openWaitMaxMs: number;
  sweepIntervalMs: number;
}

const mebibyte = 1024 * 1024;

export const defaultSettings: Readonly<ManagedLedgersSettings> = Object.freeze({
  cursorFlushDelayMs: 100,
  cursorEntriesPerLedgerMax: 50_000,
  cursorBytesPerLedgerMax: 64 * mebibyte,
  cursorRolloverTimeMs: 4 * 60 * 60 * 1000,
  cursorEntryBytesMax: 4 * mebibyte,
  cursorInlineBytesMax: 128 * 1024,
  cursorWriteWaitMaxMs: 5_000,
  appendBytesMax: 16 * mebibyte,
  totalAppendBytesMax: 128 * mebibyte,
  appendWaitMaxMs: 30_000,
  tailCacheBytesMax: 64 * mebibyte,
  tailCacheAgeMaxMs: 2_000,
  openReadersMax: 256,
  readersIdleMaxMs: 60_000,
  retryDelayMinMs: 100,
  retryDelayMaxMs: 5_000,
  rollRetryDelayMs: 10_000,
  drainWaitMaxMs: 5_000,
  fullSizeDelayMs: 1_000,
  trimDelayMs: 30_000,
  openWaitMaxMs: 10_000,
  sweepIntervalMs: 1_000,
});
