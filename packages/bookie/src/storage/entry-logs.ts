import { DaybookError, type Disk, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { Checkpoint, LogExtent } from './checkpoint-format.js';
import { OpenLog } from './entry-log.js';
import { logHeaderBytes, logIdIn } from './entry-log-format.js';
import type { LedgerRow, Run } from './index-format.js';
import type { RebuiltIndex } from './index-rebuild.js';
import { decodeLedgerTable } from './index-table.js';
import type { LedgerCache, SealedIndex } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import type { LogFiles } from './log-files.js';

export interface EntryLogsOptions {
  disk: Disk;
  directories: LedgerDirectories;
  files: LogFiles;
  cache: LedgerCache;
  /** Called when a log is sealed, and at start for each sealed log, oldest first: from then on its ledgers are found there. */
  onSealed(logId: number, ledgers: readonly LedgerRow[]): void;
  onDamaged(logId: number, why: string): void;
}

export interface LogStatus extends LogExtent {
  /** `abandoned`: not written any more, and not sealed before the next start. `damaged`: named by the checkpoint, and not usable. */
  state: 'open' | 'abandoned' | 'sealed' | 'damaged';
  directory: string;
  logPath: string;
  indexPath: string;
}

/**
 * How far ids jump when a directory cannot be looked into: there may be files in it that no checkpoint names, of logs made since the last one. Each run of
 * the process makes far fewer logs than this between two checkpoints.
 */
const unseenLogIds = 1 << 20;

/**
 * All entry logs: at most one that is written, any number sealed, those that are not written any more although they were not sealed (their directory failed,
 * or a sync of theirs; the next start seals them), and those that cannot be used although the checkpoint names them.
 */
export class EntryLogs {
  readonly #options: EntryLogsOptions;
  #current: OpenLog | undefined;
  #abandoned: OpenLog[] = [];
  /** Where a log is made or written right now: to blame when that fails. */
  #writingIn = '';
  readonly #sealed = new Map<number, LogExtent>();
  readonly #damaged = new Map<number, LogExtent>();
  /** Sealed ones with parts of which nobody can say what they were. */
  readonly #withHoles = new Set<number>();
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
    await options.directories.each(async (directory) => {
      for (const name of await options.disk.list(directory)) {
        const logId = logIdIn(name);
        if (logId === undefined) continue;
        // Rule R14: above everything that ever had a file, even one that is about to be removed.
        logs.#nextLogId = Math.max(logs.#nextLogId, logId + 1);
        if (known.has(logId)) options.files.add(logId, directory);
        else logs.#leftovers.push(`${directory}/${name}`);
      }
    });
    if (options.directories.failed.length > 0) logs.#nextLogId += unseenLogIds;
    if (checkpoint === undefined && logs.#leftovers.length > 0) {
      throw bookieErrors.CHECKPOINT_CORRUPT(`${options.directories.all[0]}/lastMark`, 'it is missing, but there are entry logs');
    }
    for (const log of [...known.values()].sort((a, b) => a.logId - b.logId)) {
      // Two logs that were not sealed: the older one could not be read at an earlier start, and another one took its place.
      if (!log.isSealed) await logs.#sealOrAbandon();
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
    return this.#sealed.size + this.#damaged.size + this.#unsealed.length;
  }

  get bytes(): number {
    let sum = 0;
    for (const log of this.#unsealed) sum += log.logBytes;
    for (const log of this.#sealed.values()) sum += log.logBytes;
    return sum;
  }

  /** True when some log cannot be used, or parts of one: then nothing can be said not to be there (rule R4). */
  get hasDamaged(): boolean {
    return this.#damaged.size > 0 || this.#withHoles.size > 0;
  }

  /** All logs now, oldest first. */
  status(): LogStatus[] {
    const { files } = this.#options;
    const describe = (log: LogExtent, state: LogStatus['state']): LogStatus => {
      const { logId } = log;
      return { ...log, state, directory: files.directoryOf(logId), logPath: files.logPath(logId), indexPath: files.indexPath(logId) };
    };
    return [
      ...[...this.#sealed.values()].map((log) => describe(log, 'sealed')),
      ...[...this.#damaged.values()].map((log) => describe(log, 'damaged')),
      ...this.#unsealed.map((log) => describe(extentOf(log, false), log === this.#current ? 'open' : 'abandoned')),
    ].sort((a, b) => a.logId - b.logId);
  }

  /** The index file of a sealed or damaged log was written anew; false when there is no such log any more. Made known by the next checkpoint. */
  replaceIndex(logId: number, { indexBytes, holeBytes, ledgers }: Pick<RebuiltIndex, 'indexBytes' | 'holeBytes' | 'ledgers'>): boolean {
    const { files, cache, onSealed } = this.#options;
    const damaged = this.#damaged.get(logId);
    const log = this.#sealed.get(logId) ?? damaged;
    if (log === undefined) return false;
    files.reopen(logId);
    cache.forget(logId);
    this.#damaged.delete(logId);
    this.#sealed.set(logId, { ...log, indexBytes, isSealed: true });
    if (holeBytes > 0) this.#withHoles.add(logId);
    else this.#withHoles.delete(logId);
    if (damaged !== undefined) onSealed(logId, ledgers);
    return true;
  }

  sealedIndex(logId: number): SealedIndex {
    const log = this.#sealed.get(logId);
    if (log === undefined) throw bookieErrors.LOG_DAMAGED(this.#options.files.logPath(logId), 'it is not there any more');
    return log;
  }

  /** What a checkpoint has to name. */
  extents(): LogExtent[] {
    const logs = [...this.#sealed.values(), ...this.#damaged.values()];
    for (const log of this.#unsealed) if (log.logBytes > logHeaderBytes) logs.push(extentOf(log, false));
    return logs.sort((a, b) => a.logId - b.logId);
  }

  /** The log to write to; a new one when there is none. */
  async open(): Promise<OpenLog> {
    if (this.#current !== undefined) return this.#current;
    // The id is used up even if making the files fails half-way.
    const logId = this.#nextLogId++;
    const { disk, files } = this.#options;
    this.#writingIn = '';
    const directory = await this.#options.directories.emptiest();
    this.#writingIn = directory;
    this.#current = await OpenLog.create({ disk, directory, logId });
    files.add(logId, directory);
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

  /** What was written since the last commit did not work out: it is forgotten, and the log with it if it cannot be trusted any more. */
  rollBack(): void {
    this.#current?.rollBack();
    if (this.#current?.isTorn) this.#abandon();
  }

  /** False when `error`, of a write that {@link rollBack} followed, is not that of a directory, or no other one is left. Otherwise the next log is elsewhere. */
  takeOutDirectory(error: unknown): boolean {
    if (!this.#options.directories.takeOut(this.#writingIn, error)) return false;
    if (this.#current?.directory === this.#writingIn) this.#abandon();
    return true;
  }

  /** Where an entry lies in the logs that are not sealed, newest first. */
  findOpen(ledgerId: number, entryId: number): { logId: number; run: Run } | undefined {
    const found = runIn(this.#current, ledgerId, entryId);
    if (found !== undefined || this.#abandoned.length === 0) return found;
    for (const log of this.#abandoned) {
      const older = runIn(log, ledgerId, entryId);
      if (older !== undefined) return older;
    }
    return undefined;
  }

  /** The highest entry id in the logs that are not sealed, or -1. */
  lastOpenId(ledgerId: number): number {
    return this.#unsealed.reduce((last, log) => Math.max(last, log.index.lastId(ledgerId)), -1);
  }

  /** The runs of a ledger in the logs that are not sealed. */
  openRunsOf(ledgerId: number): Run[] {
    return this.#unsealed.flatMap((log) => log.index.runsOf(ledgerId));
  }

  /** Removes files that the published checkpoint does not name: the rest of what did not become part of one. */
  async removeLeftovers(): Promise<void> {
    const { disk, directories } = this.#options;
    for (const path of this.#leftovers) if (!directories.hasFailed(posixDirectory(path))) await disk.remove(path);
    this.#leftovers = [];
  }

  async close(): Promise<void> {
    for (const log of this.#unsealed) await log.close();
    await this.#options.files.close();
  }

  async #load(log: LogExtent): Promise<void> {
    const { disk, files } = this.#options;
    try {
      await this.#checkFiles(log);
      if (log.isSealed) {
        const { indexBytes, table, holeBytes } = await this.#loadSealed(log);
        this.#sealed.set(log.logId, { ...log, indexBytes });
        if (holeBytes > 0) this.#withHoles.add(log.logId);
        this.#options.onSealed(log.logId, decodeLedgerTable(table));
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

  /** An index that was rebuilt after the checkpoint has another length than that says: then it ends where its file ends. */
  async #loadSealed(log: LogExtent): Promise<{ indexBytes: number; table: Buffer; holeBytes: number }> {
    const { disk, files, cache } = this.#options;
    try {
      return { indexBytes: log.indexBytes, ...(await cache.ledgerTable(log)) };
    } catch (error) {
      const indexBytes = await disk.fileBytes(files.indexPath(log.logId));
      if (!bookieErrors.LOG_DAMAGED.is(error) || indexBytes === undefined || indexBytes === log.indexBytes) throw error;
      return { indexBytes, ...(await cache.ledgerTable({ logId: log.logId, indexBytes })) };
    }
  }

  /** The length of a sealed index is found out when it is read. */
  async #checkFiles({ logId, logBytes, indexBytes, isSealed }: LogExtent): Promise<void> {
    const { disk, files } = this.#options;
    for (const [path, expected] of [
      [files.logPath(logId), logBytes],
      [files.indexPath(logId), isSealed ? 0 : indexBytes],
    ] as const) {
      const bytes = await disk.fileBytes(path);
      if (bytes === undefined || bytes < expected) throw bookieErrors.LOG_DAMAGED(path, `${expected} bytes expected, ${bytes ?? 'none'} there`);
    }
  }

  /** Newest first. */
  get #unsealed(): readonly OpenLog[] {
    return this.#current === undefined ? this.#abandoned : [this.#current, ...this.#abandoned];
  }

  #abandon(): void {
    if (this.#current !== undefined) this.#abandoned = [this.#current, ...this.#abandoned];
    this.#current = undefined;
  }

  /** At start: a log that another one follows. */
  async #sealOrAbandon(): Promise<void> {
    try {
      this.#writingIn = this.#current?.directory ?? '';
      await this.seal();
    } catch (error) {
      if (!diskErrors.FULL.is(error) && !this.takeOutDirectory(error)) throw error;
      this.#abandon();
    }
  }
}

function runIn(log: OpenLog | undefined, ledgerId: number, entryId: number): { logId: number; run: Run } | undefined {
  const run = log?.index.find(ledgerId, entryId);
  return log === undefined || run === undefined ? undefined : { logId: log.logId, run };
}

function posixDirectory(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function extentOf(log: OpenLog, isSealed: boolean): LogExtent {
  return { logId: log.logId, logBytes: log.logBytes, indexBytes: log.indexBytes, isSealed };
}
