import { batchBytesMax } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import type { BookieConfig } from './config.js';
import { bodyBytesMax } from './journal/journal.js';

/** Every bound of a bookie in bytes, derived from its configuration. */
export interface BookieLimits {
  batchBytesMax: number;
  journalFileBytesMax: number;
  journalPrefillBytes: number;
  journalFileAgeMsMax: number;
  /** A commit takes what is queued up to this: not all that a client may have in flight, so that it sends while that is written. */
  journalCommitBytesMax: number;
  /** Appends wait when this much is queued for the journal. */
  journalQueueBytesMax: number;
  /** Used-up journal files kept to be written over. */
  journalSparesMax: number;
  writeCacheBytesMax: number;
  /** Appends that find no room wait, up to this; beyond it they are answered TOO_MANY_REQUESTS. */
  heldAppendsBytesMax: number;
  readCacheBytesMax: number;
  readAheadBytes: number;
  /** A reply's entries together, whatever a request asks for. */
  readReplyBytesMax: number;
  ledgerCacheBytesMax: number;
  /** Which ledger is in which log: more than this goes to files. */
  ledgerMapBytesMax: number;
  logBytesMax: number;
  /** An entry log is synced after so much, so that journals on the same disk do not wait for all of a flush. */
  logSyncStepBytes: number;
  openIndexBytesMax: number;
  openFilesMax: number;
  /** Kept back in every directory. */
  diskReserveBytes: number;
  diskCheckIntervalMs: number;
  scrubIntervalMs: number;
  scrubBytesPerSecond: number;
  flushIntervalMs: number;
  journalGroupWaitMs: number;
  /** Ledgers known for less are not deleted: a metadata server that is behind may not know them yet. */
  gcLedgerAgeMsMin: number;
  /** Nor are, for not belonging here, ledgers that something was copied to more recently. */
  gcRecoveryQuietMs: number;
  /** After a start in limbo, before it asks the metadata which ledgers are concerned: a metadata server that is behind may not know them yet. */
  limboSettleMs: number;
  compactionKeepFreeBytes: number;
}

const mib = 1024 * 1024;

export function bookieLimits(config: BookieConfig): BookieLimits {
  return {
    batchBytesMax,
    journalFileBytesMax: config.journalMaxSizeMB * mib,
    journalPrefillBytes: config.journalPreAllocSizeMB * mib,
    journalCommitBytesMax: mib / 2,
    journalQueueBytesMax: 16 * mib,
    journalSparesMax: config.journalMaxBackups,
    journalFileAgeMsMax: config.journalMaxAgeMs,
    writeCacheBytesMax: config.writeCacheMaxSizeMB * mib,
    heldAppendsBytesMax: 16 * mib,
    readCacheBytesMax: config.readCacheMaxSizeMB * mib,
    readAheadBytes: 256 * 1024,
    readReplyBytesMax: 8 * mib,
    ledgerCacheBytesMax: (config.ledgerCacheMaxSizeMB * mib) / 2,
    ledgerMapBytesMax: (config.ledgerCacheMaxSizeMB * mib) / 2,
    logBytesMax: config.logSizeLimit,
    logSyncStepBytes: 4 * mib,
    openIndexBytesMax: 16 * mib,
    openFilesMax: 256,
    diskReserveBytes: config.diskReserveMB * mib,
    diskCheckIntervalMs: config.diskCheckIntervalMs,
    scrubIntervalMs: config.localScrubIntervalMs,
    scrubBytesPerSecond: config.localScrubBytesPerSecond,
    flushIntervalMs: config.flushIntervalMs,
    journalGroupWaitMs: config.journalMaxGroupWaitMSec,
    gcLedgerAgeMsMin: 60_000,
    gcRecoveryQuietMs: 3_600_000,
    limboSettleMs: 60_000,
    compactionKeepFreeBytes: 64 * mib,
  };
}

/** Relations that the parts rely on; the configuration's own rules make them hold. */
export function checkLimits(limits: BookieLimits): void {
  invariant(limits.batchBytesMax <= bodyBytesMax(limits.journalFileBytesMax), 'a batch fits a journal file');
  invariant(limits.journalFileBytesMax % 512 === 0 && limits.journalFileBytesMax < 2 ** 32, 'offsets in a journal file have 32 bits');
  invariant(limits.batchBytesMax + 1024 <= limits.writeCacheBytesMax / 2, 'a batch fits half of the write cache');
  invariant(limits.batchBytesMax <= limits.heldAppendsBytesMax && limits.batchBytesMax <= limits.journalQueueBytesMax, 'a batch may wait');
  invariant(limits.logBytesMax + limits.batchBytesMax < 2 ** 32, 'positions in an entry log have 32 bits');
}
