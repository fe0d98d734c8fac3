import type { Logger } from '@daybook/runtime';
import type { AppendPath } from './append-path.js';
import type { BookieOptions } from './bookie-api.js';
import type { Fences } from './fences.js';
import type { JournalOptions } from './journal/journal.js';
import type { Journals } from './journal/journals.js';
import type { Limbo } from './limbo/limbo.js';
import type { LimboExit } from './limbo/limbo-exit.js';
import type { BookieLimits } from './limits.js';
import { markerNames, readMarker } from './marker-files.js';
import { ReadOnlyMode } from './read-only-mode.js';
import { DiskMonitor, type DiskMonitorOptions } from './storage/disk-monitor.js';
import type { FlushLoop } from './storage/flush-loop.js';
import type { GarbageCollector } from './storage/gc.js';
import type { LedgerDirectories } from './storage/ledger-directories.js';
import { LedgerStorage, type LedgerStorageOptions } from './storage/ledger-storage.js';
import type { Scrubber } from './storage/scrubber.js';

/** What the parts of a bookie are made from. */
export interface PartsContext {
  options: BookieOptions;
  limits: BookieLimits;
  ledgers: LedgerDirectories;
  logger: Logger;
}

/** A bookie that runs is made of these. */
export interface Parts {
  storage: LedgerStorage;
  journals: Journals;
  flushLoop: FlushLoop;
  disks: DiskMonitor;
  scrubber: Scrubber;
  readOnly: ReadOnlyMode;
  limbo: Limbo;
  limboExit: LimboExit | undefined;
  appends: AppendPath;
  fences: Fences;
  garbageCollector: GarbageCollector;
}

export function createMonitor(context: PartsContext, hooks: Pick<DiskMonitorOptions, 'giveBackSpares' | 'onChecked' | 'onFatal'>): DiskMonitor {
  const { options, limits, ledgers, logger } = context;
  const { disk, clock, config } = options;
  const { journalDirectories, diskUsageThreshold, diskUsageWarnThreshold, diskUsageLwmThreshold = diskUsageThreshold } = config;
  return new DiskMonitor({
    disk,
    clock,
    logger,
    journalDirectories,
    ledgers,
    thresholds: { warn: diskUsageWarnThreshold, full: diskUsageThreshold, lowWater: diskUsageLwmThreshold },
    intervalMs: limits.diskCheckIntervalMs,
    reserveBytes: limits.diskReserveBytes,
    ...hooks,
  });
}

export function openStorage(
  { options, limits, ledgers, logger }: PartsContext,
  parts: Pick<LedgerStorageOptions, 'explicitLacs' | 'onBadEntry' | 'onDamagedIndex' | 'onNoRoom'>,
): Promise<LedgerStorage> {
  const { disk, clock, config } = options;
  return LedgerStorage.open({ disk, clock, directories: ledgers, journalDirectories: config.journalDirectories, logger, ...parts, ...limits });
}

/** With what an operator left for this start. */
export async function createReadOnlyMode({ options, ledgers }: PartsContext, limbo: Limbo, onChange: () => void): Promise<ReadOnlyMode> {
  const { disk, config } = options;
  return new ReadOnlyMode({
    isAnyFullEnough: config.readOnlyModeOnAnyDiskFullEnabled,
    isForced: config.forceReadOnlyBookie,
    isManual: (await readMarker(disk, ledgers.working, markerNames.readOnly)) !== undefined,
    isLimbo: limbo.extent === 'everything',
    onChange,
  });
}

export function journalOptions(
  { options, limits }: PartsContext,
  hooks: Pick<JournalOptions, 'onFatal' | 'onFull' | 'onCommit'>,
): Omit<JournalOptions, 'directory'> {
  return {
    disk: options.disk,
    clock: options.clock,
    fileBytesMax: limits.journalFileBytesMax,
    fileAgeMsMax: limits.journalFileAgeMsMax,
    prefillBytes: limits.journalPrefillBytes,
    commitBytesMax: limits.journalCommitBytesMax,
    groupWaitMs: limits.journalGroupWaitMs,
    syncEachWrite: options.config.journalSyncData,
    ...hooks,
  };
}
