import type { DigestType } from '@daybook/proto';
import { logErrors } from './errors.js';
import { entryBytesMax, envelopeBytes, recordHeaderBytes } from './record-format.js';

/** How logs are stored and written. Names and values are DistributedLog's where the meaning is the same. */
export interface LogOptions {
  /** Default 3. */
  ensembleSize: number;
  /** Default 3. */
  writeQuorumSize: number;
  /** Default 2. */
  ackQuorumSize: number;
  /** With fewer bookies up than `ensembleSize`, take what there is, at least `ackQuorumSize`. Default false. */
  shrinkToAvailable: boolean;
  /** Default CRC32C. */
  digestType: DigestType;
  /** Of the log's ledgers. Default: empty. */
  password: Uint8Array;
  /** A segment that has so many bytes is followed by a new one. Default 256 MiB. */
  segmentBytesMax: number;
  /** So is one that is so old, also when nothing is being written. Default 120 minutes. */
  segmentMsMax: number;
  /** Records wait for the end of the event loop's turn, or until there are so many bytes, and go together as one entry. Default 64 KiB. */
  outputBufferBytes: number;
  /** Bytes written and not acknowledged; writes wait at this limit, and are refused at twice of it. Default 8 MiB. */
  windowBytes: number;
  /** Records become visible to readers with the next entry, at the latest after this. Default 100. */
  commitDelayMs: number;
  /** How long to wait for a log's present writer to leave. Default 30,000. */
  lockWaitMs: number;
  /** Segments completed longer ago than this are purged when one is completed, all but one. Default undefined: never. */
  retentionMs: number | undefined;
  /** Purge by age only what was truncated. Default false. */
  explicitTruncationOnly: boolean;
}

export const defaultLogOptions: LogOptions = {
  ensembleSize: 3,
  writeQuorumSize: 3,
  ackQuorumSize: 2,
  shrinkToAvailable: false,
  digestType: 'CRC32C',
  password: new Uint8Array(),
  segmentBytesMax: 256 * 1024 * 1024,
  segmentMsMax: 120 * 60 * 1000,
  outputBufferBytes: 64 * 1024,
  windowBytes: 8 * 1024 * 1024,
  commitDelayMs: 100,
  lockWaitMs: 30_000,
  retentionMs: undefined,
  explicitTruncationOnly: false,
};

/** Rejects with `LOG_BAD_OPTIONS`. Quorum sizes are looked after by the ledger client. */
export function logOptions(options: Partial<LogOptions> = {}): LogOptions {
  const all = { ...defaultLogOptions, ...options };
  const positive = ['segmentBytesMax', 'segmentMsMax', 'outputBufferBytes', 'windowBytes', 'commitDelayMs'] as const;
  for (const key of positive) if (!(all[key] > 0)) throw logErrors.BAD_OPTIONS(`${key} is ${all[key]}, it must be above 0`);
  if (!(all.lockWaitMs >= 0)) throw logErrors.BAD_OPTIONS(`lockWaitMs is ${all.lockWaitMs}`);
  const bytesMin = entryBytesMax + envelopeBytes + recordHeaderBytes;
  if (all.windowBytes < bytesMin) throw logErrors.BAD_OPTIONS(`windowBytes is ${all.windowBytes}, the largest record needs ${bytesMin}`);
  return all;
}
