import type { Disk } from '@daybook/runtime';
import { journalFileId, journalFileName } from './journal-format.js';

const spareSuffix = '.spare';

/** Which files a journal directory holds: live ones by id, and used-up ones waiting to be written over. */
export class JournalDirectory {
  readonly path: string;
  readonly #disk: Disk;
  readonly #sparesMax: number;
  #spares: string[] = [];
  #fileIds: number[] = [];

  constructor(disk: Disk, path: string, sparesMax: number) {
    this.#disk = disk;
    this.path = path;
    this.#sparesMax = sparesMax;
  }

  async load(): Promise<void> {
    const names = await this.#disk.list(this.path);
    this.#fileIds = names.map(journalFileId).filter((id) => id !== undefined);
    this.#fileIds.sort((a, b) => a - b);
    this.#spares = names.filter((name) => name.endsWith(spareSuffix));
  }

  /** Ascending. */
  get fileIds(): readonly number[] {
    return this.#fileIds;
  }

  pathOf(fileId: number): string {
    return `${this.path}/${journalFileName(fileId)}`;
  }

  noteCreated(fileId: number): void {
    this.#fileIds.push(fileId);
  }

  get sparesCount(): number {
    return this.#spares.length;
  }

  /** Gives the space of the files to recycle back: the disk is full. */
  async dropSpares(): Promise<void> {
    for (let spare = this.takeSpare(); spare !== undefined; spare = this.takeSpare()) await this.#disk.remove(spare);
  }

  /** A file to recycle, which then is the caller's. */
  takeSpare(): string | undefined {
    const name = this.#spares.pop();
    return name === undefined ? undefined : `${this.path}/${name}`;
  }

  async removeFile(fileId: number): Promise<void> {
    await this.#disk.remove(this.pathOf(fileId));
    this.#fileIds = this.#fileIds.filter((id) => id !== fileId);
  }

  /**
   * Recycles the files below `fileId`, which no replay needs any more. A crash in between leaves them under either name; both are fine, as a
   * file below the mark is never read.
   */
  async releaseBelow(fileId: number): Promise<void> {
    for (const id of this.#fileIds.filter((candidate) => candidate < fileId)) {
      const spare = `${journalFileName(id)}${spareSuffix}`;
      if (this.#spares.length < this.#sparesMax) {
        await this.#disk.rename(this.pathOf(id), `${this.path}/${spare}`);
        this.#spares.push(spare);
      } else {
        await this.#disk.remove(this.pathOf(id));
      }
      this.#fileIds = this.#fileIds.filter((candidate) => candidate !== id);
    }
  }
}
