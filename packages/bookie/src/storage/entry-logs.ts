import { DaybookError, type Disk } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { Checkpoint, LogExtent } from './checkpoint-format.js';
import { OpenLog } from './entry-log.js';
import { logHeaderBytes, logIdIn } from './entry-log-format.js';
import type { LedgerRow } from './index-format.js';
import { decodeLedgerTable } from './index-table.js';
import type { LedgerCache, SealedIndex } from './ledger-cache.js';
import type { LogFiles } from './log-files.js';

export interface EntryLogsOptions {
  disk: Disk;
  directories: readonly string[];
  files: LogFiles;
  cache: LedgerCache;
  /** Called when a log is sealed, and at start for each sealed log, oldest first: from then on its ledgers are found there. */
  onSealed(logId: number, ledgers: readonly LedgerRow[]): void;
  onDamaged(logId: number, why: string): void;
}

/** All entry logs: at most one open, any number sealed, and those that cannot be used although the checkpoint names them. */
export class EntryLogs {
  readonly #options: EntryLogsOptions;
  #current: OpenLog | undefined;
  readonly #sealed = new Map<number, LogExtent>();
  readonly #damaged = new Map<number, LogExtent>();
  #leftovers: string[] = [];
  #nextLogId = 1;

  private constructor(options: EntryLogsOptions) {
    this.#options = options;
  }

  /** Opens what the checkpoint names. */
  static async load(options: EntryLogsOptions, checkpoint: Checkpoint | undefined): Promise<EntryLogs> {
    const logs = new EntryLogs(options);
    const known = new Map((checkpoint?.logs ?? []).map((log) => [log.logId, log]));
    logs.#nextLogId = checkpoint?.nextLogId ?? 1;
    for (const directory of options.directories) {
      for (const name of await options.disk.list(directory)) {
        const logId = logIdIn(name);
        if (logId === undefined) continue;
        // Rule R14: above everything that ever had a file, even one that is about to be removed.
        logs.#nextLogId = Math.max(logs.#nextLogId, logId + 1);
        if (known.has(logId)) options.files.add(logId, directory);
        else logs.#leftovers.push(`${directory}/${name}`);
      }
    }
    if (checkpoint === undefined && logs.#leftovers.length > 0) {
      throw bookieErrors.CHECKPOINT_CORRUPT(`${options.directories[0]}/lastMark`, 'it is missing, but there are entry logs');
    }
    for (const log of [...known.values()].sort((a, b) => a.logId - b.logId)) {
      // Two logs that were not sealed: the older one could not be read at an earlier start, and another one took its place.
      if (!log.isSealed) await logs.seal();
      await logs.#load(log);
    }
    return logs;
  }

  get current(): OpenLog | undefined {
    return this.#current;
  }

  get nextLogId(): number {
    return this.#nextLogId;
  }

  get count(): number {
    return this.#sealed.size + this.#damaged.size + (this.#current === undefined ? 0 : 1);
  }

  get bytes(): number {
    let sum = this.#current?.logBytes ?? 0;
    for (const log of this.#sealed.values()) sum += log.logBytes;
    return sum;
  }

  /** True when some log cannot be used: then nothing can be said not to be there (rule R4). */
  get hasDamaged(): boolean {
    return this.#damaged.size > 0;
  }

  sealedIndex(logId: number): SealedIndex {
    const log = this.#sealed.get(logId);
    if (log === undefined) throw bookieErrors.LOG_DAMAGED(this.#options.files.logPath(logId), 'it is not there any more');
    return log;
  }

  /** What a checkpoint has to name. */
  extents(): LogExtent[] {
    const logs = [...this.#sealed.values(), ...this.#damaged.values()];
    if (this.#current !== undefined && this.#current.logBytes > logHeaderBytes) logs.push(extentOf(this.#current, false));
    return logs.sort((a, b) => a.logId - b.logId);
  }

  /** The log to write to; a new one when there is none. */
  async open(): Promise<OpenLog> {
    if (this.#current !== undefined) return this.#current;
    // The id is used up even if making the files fails half-way.
    const logId = this.#nextLogId++;
    const { disk, files } = this.#options;
    const directory = await this.#emptiestDirectory();
    files.add(logId, directory);
    this.#current = await OpenLog.create({ disk, directory, logId });
    return this.#current;
  }

  /** Seals the log being written: the next {@link open} makes a new one. */
  async seal(): Promise<void> {
    const log = this.#current;
    if (log === undefined) return;
    const ledgers = await log.seal();
    this.#sealed.set(log.logId, extentOf(log, true));
    this.#options.onSealed(log.logId, ledgers);
    this.#current = undefined;
    await log.close();
  }

  /** Removes files that the published checkpoint does not name: the rest of what did not become part of one. */
  async removeLeftovers(): Promise<void> {
    for (const path of this.#leftovers) await this.#options.disk.remove(path);
    this.#leftovers = [];
  }

  async close(): Promise<void> {
    await this.#current?.close();
    await this.#options.files.close();
  }

  async #load(log: LogExtent): Promise<void> {
    const { disk, files, cache } = this.#options;
    try {
      await this.#checkFiles(log);
      if (log.isSealed) {
        const ledgers = decodeLedgerTable(await cache.ledgerTable(log));
        this.#sealed.set(log.logId, log);
        this.#options.onSealed(log.logId, ledgers);
      } else {
        const place = { disk, directory: files.directoryOf(log.logId), logId: log.logId };
        this.#current = await OpenLog.reopen(place, { log: log.logBytes, index: log.indexBytes });
      }
    } catch (error) {
      if (!(error instanceof DaybookError) || error.code === bookieErrors.FORMAT_VERSION.code) throw error;
      this.#damaged.set(log.logId, log);
      this.#options.onDamaged(log.logId, error.message);
    }
  }

  async #checkFiles(log: LogExtent): Promise<void> {
    const { disk, files } = this.#options;
    for (const [path, expected] of [
      [files.logPath(log.logId), log.logBytes],
      [files.indexPath(log.logId), log.indexBytes],
    ] as const) {
      const bytes = await disk.fileBytes(path);
      if (bytes === undefined || bytes < expected) throw bookieErrors.LOG_DAMAGED(path, `${expected} bytes expected, ${bytes ?? 'none'} there`);
    }
  }

  async #emptiestDirectory(): Promise<string> {
    const { disk, directories } = this.#options;
    let best = directories[0] as string;
    if (directories.length === 1) return best;
    let bestFree = -1;
    for (const directory of directories) {
      const { freeBytes } = await disk.usage(directory);
      if (freeBytes > bestFree) [best, bestFree] = [directory, freeBytes];
    }
    return best;
  }
}

function extentOf(log: OpenLog, isSealed: boolean): LogExtent {
  return { logId: log.logId, logBytes: log.logBytes, indexBytes: log.indexBytes, isSealed };
}
