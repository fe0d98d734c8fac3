import { DaybookError, type Disk, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { Checkpoint, LogExtent } from './checkpoint-format.js';
import { OpenLog } from './entry-log.js';
import { logHeaderBytes, logIdIn } from './entry-log-format.js';
import type { LedgerRow, Run } from './index-format.js';
import type { RebuiltIndex } from './index-rebuild.js';
import { decodeLedgerTable } from './index-table.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LedgerDirectories } from './ledger-directories.js';
import { LeftoverFiles } from './leftover-files.js';
import { checkLogFiles, eachToRead, endOfIndex } from './load-log.js';
import type { LogFiles } from './log-files.js';
import { extentOf, type LogStatus, statusOf } from './log-status.js';
import { RetiredLogs } from './retired-logs.js';
import { UnsealedLogs } from './unsealed-logs.js';

export interface EntryLogsOptions {
  disk: Disk;
  directories: LedgerDirectories;
  files: LogFiles;
  cache: LedgerCache;
  /** Called in the turn in which a log is sealed: from then on its ledgers are found there. Not for those that are sealed already at start. */
  onSealed(log: LogExtent, ledgers: readonly LedgerRow[]): void;
  onDamaged(logId: number, why: string): void;
  /** Kept back on a disk, and given away when it is full. */
  reserveBytes: number;
  syncStepBytes: number;
}

/**
 * How far ids jump when a directory cannot be looked into: there may be files in it that no checkpoint names, of logs made since the last one. Each run of
 * the process makes far fewer logs than this between two checkpoints.
 */
const unseenLogIds = 1 << 20;

/**
 * All entry logs: at most two that are written (one by flushes, one by compaction), any number sealed, those that are not written any more although they
 * were not sealed (their directory failed, or a sync of theirs; the next start seals them), and those that cannot be used although the checkpoint names them.
 *
 * A log goes away in three steps: {@link retire} makes it disappear for everybody in this process, the next published checkpoint leaves it out, and then
 * its files are removed ({@link RetiredLogs}).
 */
export class EntryLogs {
  readonly #options: EntryLogsOptions;
  readonly #unsealed = new UnsealedLogs();
  /** Where a flush makes a log, or wrote to one: to blame when that fails. */
  #flushingTo = '';
  readonly #sealed = new Map<number, LogExtent>();
  readonly #damaged = new Map<number, LogExtent>();
  /** Those that {@link extents} leaves out. */
  readonly retired: RetiredLogs;
  #changesCount = 0;
  /** Sealed ones with parts of which nobody can say what they were. */
  readonly #withHoles = new Set<number>();
  readonly #leftovers: LeftoverFiles;
  #nextLogId = 1;

  private constructor(options: EntryLogsOptions) {
    this.#options = options;
    this.#leftovers = new LeftoverFiles(options.disk, options.directories);
    this.retired = new RetiredLogs(options);
  }

  /** Opens what the checkpoint names. */
  static async load(options: EntryLogsOptions, checkpoint: Checkpoint | undefined): Promise<EntryLogs> {
    const logs = new EntryLogs(options);
    const known = new Map((checkpoint?.logs ?? []).map((log) => [log.logId, log]));
    logs.#nextLogId = checkpoint?.nextLogId ?? 1;
    await eachToRead(options.directories, async (directory) => {
      for (const name of await options.disk.list(directory)) {
        const logId = logIdIn(name);
        if (logId === undefined) continue;
        // Rule R14: above everything that ever had a file, even one that is about to be removed.
        logs.#nextLogId = Math.max(logs.#nextLogId, logId + 1);
        if (known.has(logId)) options.files.add(logId, directory);
        else logs.#leftovers.add(`${directory}/${name}`);
      }
    });
    if (options.directories.failed.length > 0) logs.#nextLogId += unseenLogIds;
    if (checkpoint === undefined && logs.#leftovers.count > 0) {
      throw bookieErrors.CHECKPOINT_CORRUPT(`${options.directories.all[0]}/lastMark`, 'it is missing, but there are entry logs');
    }
    for (const log of [...known.values()].sort((a, b) => a.logId - b.logId)) {
      // Two logs of a kind that were not sealed: the older one could not be read at an earlier start, and another one took its place.
      if (!log.isSealed) await logs.#sealOrAbandon(log.isCompacted);
      await logs.#load(log);
    }
    return logs;
  }

  /** The logs that are not sealed. */
  openLogs(): readonly OpenLog[] {
    return this.#unsealed.all;
  }

  /** The log that flushes write to, if there is one. */
  get current(): OpenLog | undefined {
    return this.#unsealed.current;
  }

  /** The log that compaction writes to, if there is one. */
  get compacted(): OpenLog | undefined {
    return this.#unsealed.compacted;
  }

  get nextLogId(): number {
    return this.#nextLogId;
  }

  get count(): number {
    return this.#sealed.size + this.#damaged.size + this.#unsealed.all.length;
  }

  get bytes(): number {
    let sum = 0;
    for (const log of this.#unsealed.all) sum += log.logBytes;
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
    return [
      ...[...this.#sealed.values()].map((log) => statusOf(log, 'sealed', files)),
      ...[...this.#damaged.values()].map((log) => statusOf(log, 'damaged', files)),
      ...this.#unsealed.all.map((log) => statusOf(extentOf(log), this.#unsealed.isWritten(log) ? 'open' : 'abandoned', files)),
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
    const sealed = { ...log, indexBytes, isSealed: true };
    this.#sealed.set(logId, sealed);
    this.#changesCount++;
    if (holeBytes > (log.givenUpBytes ?? 0)) this.#withHoles.add(logId);
    else this.#withHoles.delete(logId);
    if (damaged !== undefined) onSealed(sealed, ledgers);
    return true;
  }

  /** Looks at a damaged log once more, as its disk may have failed for a moment only. True when it can be used again. */
  async retry(logId: number): Promise<boolean> {
    const { disk, files, cache } = this.#options;
    const log = this.#damaged.get(logId);
    if (log === undefined) return false;
    try {
      await checkLogFiles(disk, files, log);
      if (log.isSealed) {
        const { indexBytes, holeBytes } = await endOfIndex(this.#options, log);
        const ledgers = decodeLedgerTable(await cache.ledgerTable({ logId, indexBytes }));
        return this.#damaged.get(logId) === log && this.replaceIndex(logId, { indexBytes, holeBytes, ledgers });
      }
      // Sealed by the next flush.
      const open = await this.#reopen(log);
      this.#unsealed.abandon(open);
      this.#damaged.delete(logId);
      this.#changesCount++;
      return true;
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      return false;
    }
  }

  /**
   * Grows when a log goes away, and when it becomes known what is in one: who looked for an entry meanwhile has to look again before it says "not there".
   */
  get changesCount(): number {
    return this.#changesCount;
  }

  /** True for a log that is sealed, or is damaged: it cannot be said what is not in it. */
  has(logId: number): boolean {
    return this.#sealed.has(logId) || this.#damaged.has(logId);
  }

  isSealed(logId: number): boolean {
    return this.#sealed.has(logId);
  }

  /** True for a sealed log with parts of which nobody can say what they were: it may hold what is not found anywhere else, and must stay. */
  hasHoles(logId: number): boolean {
    return this.#withHoles.has(logId);
  }

  sealedIndex(logId: number): LogExtent {
    const log = this.#sealed.get(logId);
    if (log === undefined) throw bookieErrors.LOG_DAMAGED(this.#options.files.logPath(logId), 'it is not there any more');
    return log;
  }

  /** Ascending by id. */
  sealed(): LogExtent[] {
    return [...this.#sealed.values()].sort((a, b) => a.logId - b.logId);
  }

  /** What a checkpoint has to name. */
  extents(): LogExtent[] {
    const logs = [...this.#sealed.values(), ...this.#damaged.values()];
    for (const log of this.#unsealed.all) if (log.logBytes > logHeaderBytes) logs.push(extentOf(log));
    return logs.sort((a, b) => a.logId - b.logId);
  }

  /** The log for flushes, or that for compaction; a new one when there is none, in another directory if one fails. */
  async open(isCompacted = false): Promise<OpenLog> {
    for (;;) {
      const known = isCompacted ? this.compacted : this.current;
      if (known !== undefined && !this.#options.directories.hasFailed(known.directory)) return known;
      if (known !== undefined) this.#abandon(known);
      // The id is used up even if making the files fails half-way.
      const logId = this.#nextLogId++;
      const { files, directories } = this.#options;
      const directory = await this.#directoryFor(isCompacted);
      try {
        const log = await OpenLog.create({ ...this.#place(logId, isCompacted), directory });
        files.add(logId, directory);
        this.#unsealed.set(log);
      } catch (error) {
        if (!directories.takeOut(directory, error)) throw error;
      }
    }
  }

  /** Seals the log for flushes, or that for compaction: the next {@link open} makes a new one. One whose directory fails meanwhile is abandoned instead. */
  async seal(isCompacted = false): Promise<void> {
    const log = isCompacted ? this.compacted : this.current;
    if (log === undefined) return;
    try {
      await this.#seal(log);
    } catch (error) {
      const isTakenOut = this.#options.directories.takeOut(log.directory, error);
      if (isTakenOut || log.isTorn) this.#abandon(log);
      if (!isTakenOut) throw error;
    }
  }

  /** Seals those that were abandoned for want of room, where there is room again; before a flush. */
  async sealAbandoned(): Promise<void> {
    const { directories } = this.#options;
    for (const log of this.#unsealed.abandoned) {
      if (log.isTorn || !directories.hasRoom(log.directory)) continue;
      try {
        await this.#seal(log);
      } catch (error) {
        if (!diskErrors.FULL.is(error) && !directories.takeOut(log.directory, error)) throw error;
      }
    }
  }

  async #seal(log: OpenLog): Promise<void> {
    const { ledgers, indexBytes } = await log.seal();
    const sealed = { logId: log.logId, logBytes: log.logBytes, indexBytes, isSealed: true, isCompacted: log.isCompacted };
    this.#unsealed.remove(log);
    this.#sealed.set(log.logId, sealed);
    this.#options.onSealed(sealed, ledgers);
    await log.close();
  }

  /** A sealed log is not needed any more: everything in it is elsewhere, or of ledgers that are gone. */
  retire(logId: number): void {
    const log = this.#sealed.get(logId);
    if (log === undefined) return;
    this.#sealed.delete(logId);
    this.retired.add(log);
    this.#changesCount++;
  }

  /** A sealed log turns out not to be usable. */
  markDamaged(log: LogExtent, why: string): void {
    this.#sealed.delete(log.logId);
    this.#damaged.set(log.logId, log);
    this.#options.onDamaged(log.logId, why);
  }

  /**
   * What a flush wrote since the last commit did not work out: it is forgotten, and its space given back, as somebody else may need it more; and the log
   * with it if it cannot be trusted any more.
   */
  async rollBack(): Promise<void> {
    this.#flushingTo = this.current?.directory ?? this.#flushingTo;
    await this.current?.trim().catch((error: unknown) => {
      if (!(error instanceof DaybookError)) throw error;
    });
    if (this.current?.isTorn) this.#abandon(this.current);
  }

  /** Before a flush of so many bytes. Rejects with `DISK_FULL`, see {@link LedgerDirectories.requireRoom}. */
  async requireRoom(bytes: number): Promise<void> {
    const { directories, reserveBytes } = this.#options;
    this.#flushingTo = this.current?.directory ?? (await directories.emptiest());
    await directories.requireRoom(this.#flushingTo, bytes, reserveBytes);
  }

  /**
   * After an error of a write that {@link rollBack} followed: the directory that the next log is not made in any more, or undefined when the error is none of
   * a directory's, or no other one is left.
   */
  leaveDirectory(error: unknown): string | undefined {
    const { directories } = this.#options;
    const directory = this.#flushingTo;
    const isLeft = diskErrors.FULL.is(error) ? directories.leaveFull(directory) : directories.takeOut(directory, error);
    if (isLeft && this.current !== undefined) this.#abandon(this.current);
    return isLeft ? directory : undefined;
  }

  /** The same for the log that compaction writes to. */
  giveUpCompacted(error: unknown): boolean {
    const log = this.compacted;
    if (log === undefined) return false;
    const isTakenOut = this.#options.directories.takeOut(log.directory, error);
    if (isTakenOut || log.isTorn) this.#abandon(log);
    return isTakenOut;
  }

  /** Where an entry lies in the logs that are not sealed: in the one for flushes first. */
  findOpen(ledgerId: number, entryId: number): { logId: number; run: Run }[] {
    return this.#unsealed.find(ledgerId, entryId);
  }

  /** The highest entry id in the logs that are not sealed, or -1. */
  lastOpenId(ledgerId: number): number {
    return this.#unsealed.lastId(ledgerId);
  }

  /** The runs of a ledger in the logs that are not sealed. */
  openRunsOf(ledgerId: number): Run[] {
    return this.#unsealed.runsOf(ledgerId);
  }

  /** Removes files that the published checkpoint does not name: the rest of what did not become part of one. */
  removeLeftovers(): Promise<void> {
    return this.#leftovers.remove();
  }

  async close(): Promise<void> {
    for (const log of this.#unsealed.all) await log.close();
    await this.#options.files.close();
  }

  async #load(log: LogExtent): Promise<void> {
    const { disk, files, directories } = this.#options;
    try {
      await checkLogFiles(disk, files, log);
      if (log.isSealed) {
        const { indexBytes, holeBytes } = await endOfIndex(this.#options, log);
        this.#sealed.set(log.logId, { ...log, indexBytes });
        if (holeBytes > (log.givenUpBytes ?? 0)) this.#withHoles.add(log.logId);
      } else {
        const open = await this.#reopen(log);
        if (directories.hasFailed(open.directory)) this.#unsealed.abandon(open);
        else this.#unsealed.set(open);
      }
    } catch (error) {
      if (!(error instanceof DaybookError) || error.code === bookieErrors.FORMAT_VERSION.code) throw error;
      this.markDamaged(log, error.message);
    }
  }

  #reopen({ logId, logBytes, indexBytes, isCompacted }: LogExtent): Promise<OpenLog> {
    const place = this.#place(logId, isCompacted);
    // What cannot be written any more can still be read.
    return OpenLog.reopen(place, { log: logBytes, index: indexBytes, isReadOnly: !place.isWritable() });
  }

  #place(logId: number, isCompacted: boolean) {
    const { disk, files, directories, syncStepBytes } = this.#options;
    const directory = files.directoryOf(logId);
    return { disk, directory, logId, isCompacted, syncStepBytes, isWritable: () => directories.isWritable(files.directoryOf(logId)) };
  }

  async #directoryFor(isCompacted: boolean): Promise<string> {
    const { directories } = this.#options;
    if (isCompacted) return directories.emptiest();
    this.#flushingTo = '';
    this.#flushingTo = await directories.emptiest();
    return this.#flushingTo;
  }

  /** One that is empty is left to nobody: not even its header is durable. */
  #abandon(log: OpenLog): void {
    if (log.logBytes > logHeaderBytes) {
      this.#unsealed.abandon(log);
      return;
    }
    const { files } = this.#options;
    this.#unsealed.remove(log);
    this.#leftovers.add(files.logPath(log.logId), files.indexPath(log.logId));
    files.forget(log.logId);
    log.close().catch(() => undefined);
  }

  /** At start: a log that another one of its kind follows. */
  async #sealOrAbandon(isCompacted: boolean): Promise<void> {
    const log = isCompacted ? this.compacted : this.current;
    try {
      await this.seal(isCompacted);
    } catch (error) {
      if (!diskErrors.FULL.is(error) && !this.#options.directories.takeOut(log?.directory ?? '', error)) throw error;
      if (log !== undefined) this.#unsealed.abandon(log);
    }
  }
}
