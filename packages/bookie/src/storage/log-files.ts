import type { Disk, DiskFile } from '@daybook/runtime';
import { LRUCache } from 'lru-cache';
import { logFileName } from './entry-log-format.js';
import { indexFileName } from './index-format.js';

interface OpenFile {
  file: Promise<DiskFile>;
  uses: number;
  isEvicted: boolean;
}

/** Where the entry logs and their indexes are, and a bounded number of open files to read them with. */
export class LogFiles {
  readonly #disk: Disk;
  readonly #directoryOf = new Map<number, string>();
  readonly #open: LRUCache<string, OpenFile>;

  constructor(disk: Disk, openFilesMax: number) {
    this.#disk = disk;
    this.#open = new LRUCache({ max: openFilesMax, dispose: (file) => this.#evict(file) });
  }

  add(logId: number, directory: string): void {
    this.#directoryOf.set(logId, directory);
  }

  /** Its files were replaced: the old ones are closed when nobody reads them any more. */
  reopen(logId: number): void {
    this.forgetFile(this.logPath(logId));
    this.forgetFile(this.indexPath(logId));
  }

  /** Forgets a log; files of it that are being read are closed afterwards. */
  forget(logId: number): void {
    this.reopen(logId);
    this.#directoryOf.delete(logId);
  }

  /** Closes a file that is about to be removed, once nobody reads it any more. */
  forgetFile(path: string): void {
    this.#open.delete(path);
  }

  directoryOf(logId: number): string {
    return this.#directoryOf.get(logId) ?? '?';
  }

  logPath(logId: number): string {
    return `${this.directoryOf(logId)}/${logFileName(logId)}`;
  }

  indexPath(logId: number): string {
    return `${this.directoryOf(logId)}/${indexFileName(logId)}`;
  }

  /** Fills `target` from `position`; fewer bytes only at the end of the file. */
  async read(path: string, position: number, target: Buffer): Promise<number> {
    let entry = this.#open.get(path);
    if (entry === undefined) {
      entry = { file: this.#disk.open(path, { mode: 'read' }), uses: 0, isEvicted: false };
      this.#open.set(path, entry);
    }
    entry.uses++;
    try {
      const file = await entry.file;
      return await file.readAt(position, target);
    } catch (error) {
      // A file that could not be opened must be tried again next time.
      if (this.#open.peek(path) === entry) this.#open.delete(path);
      throw error;
    } finally {
      entry.uses--;
      if (entry.isEvicted) this.#closeUnused(entry);
    }
  }

  async close(): Promise<void> {
    const files = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(files.map((entry) => entry.file.then((file) => file.close())));
  }

  #evict(entry: OpenFile): void {
    entry.isEvicted = true;
    this.#closeUnused(entry);
  }

  #closeUnused(entry: OpenFile): void {
    if (entry.uses > 0) return;
    entry.file.then((file) => file.close()).catch(() => undefined);
  }
}
