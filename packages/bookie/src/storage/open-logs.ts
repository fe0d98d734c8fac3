import type { Checkpoint } from './checkpoint-format.js';
import { EntryLogs } from './entry-logs.js';
import type { LedgerCache } from './ledger-cache.js';
import { LedgerMap } from './ledger-map.js';
import type { LedgerStates } from './ledger-state.js';
import type { LedgerStorageOptions } from './ledger-storage.js';
import type { LogFiles } from './log-files.js';

interface Parts {
  files: LogFiles;
  ledgerCache: LedgerCache;
  states: LedgerStates;
  latest: Checkpoint | undefined;
}

/** The entry logs that the last checkpoint names, and the map of which ledgers are in which of them. */
export async function openLogs(options: LedgerStorageOptions, parts: Parts): Promise<{ map: LedgerMap; logs: EntryLogs }> {
  const { disk, directories, logger } = options;
  const { files, ledgerCache: cache, states } = parts;
  let logs: EntryLogs | undefined;
  const map = new LedgerMap({
    disk,
    directories,
    files,
    cache,
    logger,
    bytesMax: options.ledgerMapBytesMax,
    isLog: (logId) => logs?.has(logId) ?? true,
    hasLedger: (ledgerId) => states.has(ledgerId),
    onSpilled: (ledgerId, lastEntryId) => states.noteEntry(ledgerId, lastEntryId),
    onDamaged: (log, error) => logs?.markDamaged(log, error.message),
  });
  const onDamaged = (logId: number, why: string): void => {
    logger.error(
      { logId, why },
      'an entry log cannot be used: what is not found elsewhere is answered with an error, until it can be. `daybook shell entrylog inspect` says what it held',
    );
    options.onDamagedIndex?.(logId);
  };
  logs = await EntryLogs.load(
    {
      disk,
      directories,
      files,
      cache,
      onSealed: (log, rows) => map.addLog(log, rows),
      onDamaged,
      reserveBytes: options.diskReserveBytes,
      syncStepBytes: options.logSyncStepBytes,
    },
    parts.latest,
  );
  await map.load(logs.sealed());
  return { map, logs };
}
