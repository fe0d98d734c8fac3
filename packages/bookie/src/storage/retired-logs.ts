import { DaybookError, type Disk } from '@daybook/runtime';
import type { LogExtent } from './checkpoint-format.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LogFiles } from './log-files.js';

/** Logs that are gone for everybody in this process: once a checkpoint without them counts, their files go. */
export class RetiredLogs {
  readonly #parts: { disk: Disk; files: LogFiles; cache: LedgerCache };
  #logs: LogExtent[] = [];

  constructor({ disk, files, cache }: { disk: Disk; files: LogFiles; cache: LedgerCache }) {
    this.#parts = { disk, files, cache };
  }

  add(log: LogExtent): void {
    this.#logs.push(log);
  }

  /** In the turn in which the list for a checkpoint is made: once that counts, {@link remove} may remove their files. */
  take(): LogExtent[] {
    const logs = this.#logs;
    this.#logs = [];
    return logs;
  }

  /** Puts those back whose absence could not be published. */
  giveBack(logs: readonly LogExtent[]): void {
    this.#logs = [...logs, ...this.#logs];
  }

  /** Removes the files of logs that no checkpoint names; of one that cannot be removed now after a later checkpoint, or at the next start. */
  async remove(logs: readonly LogExtent[]): Promise<void> {
    const { disk, files, cache } = this.#parts;
    for (const log of logs) {
      const paths = [files.logPath(log.logId), files.indexPath(log.logId)];
      cache.forget(log.logId);
      for (const path of paths) files.forgetFile(path);
      try {
        for (const path of paths) await disk.remove(path);
        files.forget(log.logId);
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        this.#logs.push(log);
      }
    }
  }
}
