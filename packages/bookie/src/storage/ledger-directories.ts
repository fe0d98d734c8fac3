import { DaybookError, type Disk, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { reserveBytesFor } from './disk-usage.js';

export interface FailedDirectory {
  path: string;
  error: unknown;
}

/**
 * The ledger directories and which of them work. One that fails (an I/O error while something is written, or at start) is **taken out**: nothing is written
 * there any more in this run, what lies there is still read where that works, and is answered with an error where it does not. The last one that works is
 * never taken out: without it the bookie stops.
 */
export class LedgerDirectories {
  readonly all: readonly string[];
  readonly #disk: Disk;
  readonly #onTakenOut: (failed: FailedDirectory) => void;
  #failed: readonly FailedDirectory[] = [];
  #full: ReadonlySet<string> = new Set();
  #isStopped = false;

  constructor(disk: Disk, paths: readonly string[], onTakenOut: (failed: FailedDirectory) => void = () => undefined) {
    this.all = paths;
    this.#disk = disk;
    this.#onTakenOut = onTakenOut;
  }

  get working(): readonly string[] {
    return this.all.filter((path) => !this.hasFailed(path));
  }

  get failed(): readonly FailedDirectory[] {
    return this.#failed;
  }

  /** The bookie failed: nothing is written any more. */
  stop(): void {
    this.#isStopped = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** False for a directory that was taken out, and for all of them once the bookie has failed. */
  isWritable(path: string): boolean {
    return !this.#isStopped && !this.hasFailed(path);
  }

  hasFailed(path: string): boolean {
    return this.#failed.some((failed) => failed.path === path);
  }

  /** Directories that new logs should not go to, as of the last check of the disks. */
  noteFull(paths: ReadonlySet<string>): void {
    this.#full = paths;
  }

  /** A log in it could not grow: the next one goes elsewhere. False when no other directory has room, as far as is known. */
  leaveFull(path: string): boolean {
    this.#full = new Set([...this.#full, path]);
    return this.working.some((candidate) => this.hasRoom(candidate));
  }

  hasRoom(path: string): boolean {
    return !this.#full.has(path) && !this.hasFailed(path);
  }

  /**
   * In a directory that is full as far as is known, something large only begins when it leaves room for fences and checkpoints: else it would use up in vain
   * what was kept back for them and given away. Rejects with `DISK_FULL`.
   */
  async requireRoom(path: string, bytes: number, reserveBytes: number): Promise<void> {
    if (this.hasRoom(path) || this.hasFailed(path)) return;
    const { freeBytes, totalBytes } = await this.#disk.usage(path);
    if (freeBytes < bytes + reserveBytesFor(totalBytes, reserveBytes) / 2) throw diskErrors.FULL(path);
  }

  /** False when the error is none of a directory's own, or this is the last one that works: then the error is the bookie's. */
  takeOut(path: string, error: unknown): boolean {
    if (!isDirectoryFailure(error) || !this.all.includes(path)) return false;
    if (this.hasFailed(path)) return true;
    if (this.working.length === 1) return false;
    const failed = { path, error };
    this.#failed = [...this.#failed, failed];
    this.#onTakenOut(failed);
    return true;
  }

  /** Does the same in every directory that works; one in which it fails is taken out. Rejects when it was the last one, or when a disk is full. */
  async each(task: (path: string) => Promise<void>): Promise<void> {
    for (const path of this.working) {
      try {
        await task(path);
      } catch (error) {
        if (!this.takeOut(path, error)) throw error;
      }
    }
  }

  /** Where the next log goes: the directory with most free space, a full one only when all are. */
  async emptiest(): Promise<string> {
    const freeBytes = new Map<string, number>();
    if (this.working.length > 1) {
      await this.each(async (path) => {
        freeBytes.set(path, (await this.#disk.usage(path)).freeBytes);
      });
    }
    const { working } = this;
    const roomy = working.filter((path) => !this.#full.has(path));
    let best: string | undefined;
    for (const path of roomy.length > 0 ? roomy : working) {
      if (best === undefined || (freeBytes.get(path) ?? 0) > (freeBytes.get(best) ?? 0)) best = path;
    }
    return best as string;
  }
}

/** True for an I/O error and for a directory that vanished. A full disk is no failure. */
function isDirectoryFailure(error: unknown): boolean {
  if (!(error instanceof DaybookError)) return false;
  const { code, cause } = error;
  return code === diskErrors.IO.code || code === diskErrors.NOT_FOUND.code || (code === bookieErrors.FAILED.code && isDirectoryFailure(cause));
}
