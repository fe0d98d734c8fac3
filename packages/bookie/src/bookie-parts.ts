import type { Logger } from '@daybook/runtime';
import type { BookieOptions } from './bookie-api.js';
import type { JournalOptions } from './journal/journal.js';
import type { BookieLimits } from './limits.js';
import { markerNames, readMarker } from './marker-files.js';
import { ReadOnlyMode } from './read-only-mode.js';
import { DiskMonitor, type DiskMonitorOptions } from './storage/disk-monitor.js';
import type { LedgerDirectories } from './storage/ledger-directories.js';

/** What the parts of a bookie are made from. */
export interface PartsContext {
  options: BookieOptions;
  limits: BookieLimits;
  ledgers: LedgerDirectories;
  logger: Logger;
}

export function createMonitor(context: PartsContext, hooks: Pick<DiskMonitorOptions, 'giveBackSpares' | 'onChecked'>): DiskMonitor {
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

/** With what an operator, or a repair of the journal, left for this start. */
export async function createReadOnlyMode({ options, ledgers, logger }: PartsContext, onChange: () => void): Promise<ReadOnlyMode> {
  const { disk, config } = options;
  const limbo = await readMarker(disk, ledgers.working, markerNames.limbo);
  if (limbo !== undefined) logger.warn({ limbo }, 'the journal was repaired: this bookie takes no entries, and nothing it lacks counts as absent');
  return new ReadOnlyMode({
    isAnyFullEnough: config.readOnlyModeOnAnyDiskFullEnabled,
    isForced: config.forceReadOnlyBookie,
    isManual: (await readMarker(disk, ledgers.working, markerNames.readOnly)) !== undefined,
    isLimbo: limbo !== undefined,
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
