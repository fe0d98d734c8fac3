import { DaybookError, type Disk } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LogExtent } from './checkpoint-format.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import type { LogFiles } from './log-files.js';

/** Does the same in every directory, those that were taken out included, as far as they can be read. */
export async function eachToRead(directories: LedgerDirectories, task: (path: string) => Promise<void>): Promise<void> {
  await directories.each(task);
  for (const { path } of directories.failed) {
    try {
      await task(path);
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
    }
  }
}

/** Rejects with `BOOKIE_LOG_DAMAGED` when a file is missing or too short. The length of a sealed index is found out by {@link endOfIndex}. */
export async function checkLogFiles(disk: Disk, files: LogFiles, { logId, logBytes, indexBytes, isSealed }: LogExtent): Promise<void> {
  for (const [path, expected] of [
    [files.logPath(logId), logBytes],
    [files.indexPath(logId), isSealed ? 0 : indexBytes],
  ] as const) {
    const bytes = await disk.fileBytes(path);
    if (bytes === undefined || bytes < expected) throw bookieErrors.LOG_DAMAGED(path, `${expected} bytes expected, ${bytes ?? 'none'} there`);
  }
}

/**
 * Where the index of a sealed log ends, and how much of the log it does not know. One that was rebuilt after the checkpoint has another length than that
 * says: then it ends where its file ends. Only the end of the index is read; what it holds is looked at when it is needed.
 */
export async function endOfIndex(
  { disk, files, cache }: { disk: Disk; files: LogFiles; cache: LedgerCache },
  log: LogExtent,
): Promise<{ indexBytes: number; holeBytes: number }> {
  try {
    return { indexBytes: log.indexBytes, holeBytes: await cache.holeBytes(log) };
  } catch (error) {
    const indexBytes = await disk.fileBytes(files.indexPath(log.logId));
    if (!bookieErrors.LOG_DAMAGED.is(error) || indexBytes === undefined || indexBytes === log.indexBytes) throw error;
    return { indexBytes, holeBytes: await cache.holeBytes({ logId: log.logId, indexBytes }) };
  }
}
