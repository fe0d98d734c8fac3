import { DaybookError, type Disk } from '@daybook/runtime';
import type { LedgerDirectories } from './ledger-directories.js';

/** Files that no checkpoint names: the rest of what did not become part of one. */
export class LeftoverFiles {
  readonly #disk: Disk;
  readonly #directories: LedgerDirectories;
  #paths: string[] = [];

  constructor(disk: Disk, directories: LedgerDirectories) {
    this.#disk = disk;
    this.#directories = directories;
  }

  get count(): number {
    return this.#paths.length;
  }

  add(...paths: readonly string[]): void {
    this.#paths.push(...paths);
  }

  /** Removes them, where directories work; nobody counts on it: what cannot go now may stay until the next call, or the next start. */
  async remove(): Promise<void> {
    const paths = this.#paths.filter((path) => !this.#directories.hasFailed(path.slice(0, path.lastIndexOf('/'))));
    this.#paths = [];
    for (const path of paths) {
      try {
        await this.#disk.remove(path);
      } catch (error) {
        if (!(error instanceof DaybookError)) throw error;
        this.#paths.push(path);
      }
    }
  }
}
