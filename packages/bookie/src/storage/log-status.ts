import type { LogExtent } from './checkpoint-format.js';
import type { OpenLog } from './entry-log.js';
import type { LogFiles } from './log-files.js';

export interface LogStatus extends LogExtent {
  /** `abandoned`: not written any more, and not sealed before the next start. `damaged`: named by the checkpoint, and not usable. */
  state: 'open' | 'abandoned' | 'sealed' | 'damaged';
  directory: string;
  logPath: string;
  indexPath: string;
}

export function statusOf(log: LogExtent, state: LogStatus['state'], files: LogFiles): LogStatus {
  const { logId } = log;
  return { ...log, state, directory: files.directoryOf(logId), logPath: files.logPath(logId), indexPath: files.indexPath(logId) };
}

/** What a checkpoint says of a log that is not sealed. */
export function extentOf(log: OpenLog): LogExtent {
  return { logId: log.logId, logBytes: log.logBytes, indexBytes: log.indexBytes, isSealed: false, isCompacted: log.isCompacted };
}
