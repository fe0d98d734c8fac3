import { z } from 'zod';

const size = (defaultMB: number, minMB: number, text: string) => z.int().min(minMB).max(1_048_576).default(defaultMB).describe(text);

const share = (defaultShare: number, text: string) => z.number().min(0).max(0.99).default(defaultShare).describe(text);

const durationMax = (kind: string) =>
  z.int().min(-1).default(-1).describe(`Milliseconds after which a ${kind} compaction begins no further log; -1: no limit.`);

/** Settings of a bookie; names and units are BookKeeper's where the meaning is the same. */
export const bookieConfigSchema = z
  .strictObject({
    bookieId: z
      .string()
      .regex(/^[A-Za-z0-9._:-]+$/)
      .refine((id) => id !== 'readonly')
      .optional()
      .describe('Name of this bookie, for the life of its disks. Default: made up at the first start and kept in the cookie.'),
    journalDirectories: z
      .array(z.string().min(1))
      .min(1)
      .describe('Where the journals go, one each: disks of their own, if there are some. The list never changes.'),
    ledgerDirectories: z.array(z.string().min(1)).min(1).describe('Where entry logs and their indexes go.'),
    allowStorageExpansion: z.boolean().default(false).describe('Accept additional, empty ledger directories at this start.'),
    dataIntegrityChecking: z
      .boolean()
      .default(false)
      .describe(
        'Accept that all disks of a known bookie are empty at this start: of the ledgers that name it, it proves nothing by what it lacks until they were copied back (limbo).',
      ),
    journalSyncData: z
      .boolean()
      .default(true)
      .describe('Sync the journal before an entry is acknowledged. False loses acknowledged entries when the power fails.'),
    journalMaxSizeMB: z.int().min(16).max(4095).default(128).describe('Size of a journal file.'),
    journalMaxAgeMs: z
      .int()
      .min(1000)
      .default(3_600_000)
      .describe('A journal file older than this is followed by another one at the next entry, so that it can be used again.'),
    journalMaxBackups: z.int().min(0).max(1000).default(2).describe('Used-up journal files that are kept, to be written over.'),
    journalPreAllocSizeMB: size(4, 1, 'How far ahead of the data a journal file is filled with zeros.'),
    journalMaxGroupWaitMSec: z
      .int()
      .min(0)
      .max(1000)
      .default(0)
      .describe('How long an idle journal waits for more entries to write together. More saves CPU at low rates and costs latency.'),
    writeCacheMaxSizeMB: size(64, 16, 'Entries not yet in an entry log; half of it takes new ones while the other half is written out.'),
    readCacheMaxSizeMB: size(32, 1, 'Entries read ahead.'),
    ledgerCacheMaxSizeMB: size(32, 2, 'Which ledger is in which entry log, and where in it: half for the former, half for index blocks.'),
    logSizeLimit: z
      .int()
      .min(16 * 1024 * 1024)
      .max(1024 * 1024 * 1024)
      .default(256 * 1024 * 1024)
      .describe('Size of an entry log, in bytes.'),
    gcWaitTime: z.int().min(1000).default(600_000).describe('Milliseconds between two rounds of garbage collection.'),
    gcOverreplicatedLedgerWaitTime: z
      .int()
      .min(0)
      .default(86_400_000)
      .describe('Milliseconds between two searches for ledgers that belong to other bookies by now; 0: never.'),
    gcMetadataOpRateLimit: z.int().min(0).default(1000).describe('Reads of metadata per second by garbage collection; 0: no limit.'),
    entryLogRollIdleMs: z
      .int()
      .min(0)
      .default(600_000)
      .describe('A log that was not written for so long is closed if deleted ledgers are in it, so that their space comes back.'),
    minorCompactionThreshold: share(0.2, 'Entry logs of which less than this share is needed are rewritten by minor compaction; 0: never.'),
    minorCompactionInterval: z.int().min(0).default(3600).describe('Seconds between two minor compactions; 0: never by themselves.'),
    minorCompactionMaxTimeMillis: durationMax('minor'),
    majorCompactionThreshold: share(0.8, 'Entry logs of which less than this share is needed are rewritten by major compaction; 0: never.'),
    majorCompactionInterval: z.int().min(0).default(86_400).describe('Seconds between two major compactions; 0: never by themselves.'),
    majorCompactionMaxTimeMillis: durationMax('major'),
    compactionRateByEntries: z.int().min(0).default(20_000).describe('Entries per second that compaction copies at most; 0: no limit.'),
    compactionRateByBytes: z.int().min(0).default(10_000_000).describe('Bytes per second that compaction copies at most; 0: no limit.'),
    diskUsageThreshold: z
      .number()
      .gt(0)
      .max(1)
      .default(0.95)
      .describe('Share of a disk in use at which the bookie takes no entries any more. What is above it is left to garbage collection and repair.'),
    diskUsageWarnThreshold: z.number().gt(0).max(1).default(0.9).describe('Share of a disk in use that is reported.'),
    diskUsageLwmThreshold: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe('A full disk counts as full until less than this is in use. Default: diskUsageThreshold.'),
    diskCheckIntervalMs: z.int().min(100).max(3_600_000).default(10_000).describe('How often the disks are looked at.'),
    diskReserveMB: size(
      16,
      0,
      'Kept back in every directory for fences, checkpoints and garbage collection on a full disk; at most a fiftieth of it.',
    ),
    readOnlyModeOnAnyDiskFullEnabled: z
      .boolean()
      .default(true)
      .describe('One full ledger directory makes the bookie read-only. False: only when all of them are full.'),
    localScrubIntervalMs: z
      .int()
      .min(0)
      .default(86_400_000)
      .describe('From the end of one check of all entry logs and indexes to the next. 0: only when asked.'),
    localScrubBytesPerSecond: z.int().min(1024).default(5_000_000).describe('How fast entry logs and indexes are checked.'),
    forceReadOnlyBookie: z.boolean().default(false).describe('Take no entries, whatever the disks say.'),
    flushIntervalMs: z.int().min(10).max(3_600_000).default(10_000).describe('How old an entry gets before it is written to an entry log.'),
  })
  .refine(({ diskUsageWarnThreshold, diskUsageThreshold, diskUsageLwmThreshold = diskUsageThreshold }) => {
    return diskUsageWarnThreshold <= diskUsageThreshold && diskUsageLwmThreshold <= diskUsageThreshold;
  }, 'neither diskUsageWarnThreshold nor diskUsageLwmThreshold is above diskUsageThreshold')
  .refine(({ ledgerDirectories }) => isEachNamedOnce(ledgerDirectories), {
    message: 'each ledger directory may be named once',
    path: ['ledgerDirectories'],
  })
  .refine(({ journalDirectories }) => isEachNamedOnce(journalDirectories), {
    message: 'each journal directory may be named once',
    path: ['journalDirectories'],
  })
  .refine(
    (config) =>
      config.minorCompactionThreshold === 0 ||
      config.majorCompactionThreshold === 0 ||
      config.minorCompactionThreshold < config.majorCompactionThreshold,
    {
      message: 'minorCompactionThreshold must be below majorCompactionThreshold',
      path: ['minorCompactionThreshold'],
    },
  )
  .refine(({ minorCompactionInterval, gcWaitTime }) => isIntervalLongEnough(minorCompactionInterval, gcWaitTime), {
    message: 'it cannot be shorter than gcWaitTime',
    path: ['minorCompactionInterval'],
  })
  .refine(({ majorCompactionInterval, gcWaitTime }) => isIntervalLongEnough(majorCompactionInterval, gcWaitTime), {
    message: 'it cannot be shorter than gcWaitTime',
    path: ['majorCompactionInterval'],
  });

function isIntervalLongEnough(seconds: number, gcWaitTimeMs: number): boolean {
  return seconds === 0 || seconds * 1000 >= gcWaitTimeMs;
}

function isEachNamedOnce(directories: readonly string[]): boolean {
  return new Set(directories).size === directories.length;
}

export type BookieConfig = z.output<typeof bookieConfigSchema>;
export type BookieConfigInput = z.input<typeof bookieConfigSchema>;
