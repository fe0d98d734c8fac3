import { type Disk, type DiskFile, diskErrors } from '@daybook/runtime';
import { encodeFileHeader, type FileHeader, fileHeaderBytes, journalFileName } from './journal-format.js';

export interface JournalFileOptions {
  disk: Disk;
  directory: string;
  bytesMax: number;
  /** Zeros are written this far ahead of the data, so that a commit never changes the file's size: a third cheaper than growing writes. */
  prefillBytes: number;
  /** False only for `journalSyncData=false`. */
  syncEachWrite: boolean;
}

/** The journal file being written. One call at a time. */
export class JournalFile {
  readonly fileId: number;
  readonly #file: DiskFile;
  readonly #options: JournalFileOptions;
  #end = fileHeaderBytes;
  #filledTo: number;
  #zeros: Buffer | undefined;

  private constructor(fileId: number, file: DiskFile, options: JournalFileOptions, filledTo: number) {
    this.fileId = fileId;
    this.#file = file;
    this.#options = options;
    this.#filledTo = filledTo;
  }

  /**
   * Makes a file durable under its name, its header included, before anything is put into it. `spare` is the path of a file to recycle:
   * its old records carry another file id. When the disk is too full (`DISK_FULL`) nothing of the new file is left.
   */
  static async create(options: JournalFileOptions, header: FileHeader, spare?: string): Promise<JournalFile> {
    const { disk, directory } = options;
    const path = `${directory}/${journalFileName(header.fileId)}`;
    if ((await disk.fileBytes(path)) !== undefined) throw diskErrors.EXISTS(path);
    try {
      if (spare !== undefined) {
        await writeHeader(disk, spare, header, 'write');
        await disk.rename(spare, path);
      } else {
        await writeHeader(disk, path, header, 'create');
      }
      await disk.syncDirectory(directory);
    } catch (error) {
      if (!diskErrors.FULL.is(error)) throw error;
      // Nobody counts on it yet. The id is used again, so its remains must not be there at a replay: they would be a link in the wrong chain.
      for (const remains of [path, spare]) if (remains !== undefined) await disk.remove(remains);
      await disk.syncDirectory(directory);
      throw error;
    }
    const file = await disk.open(path, { mode: 'write', syncEachWrite: options.syncEachWrite });
    return new JournalFile(header.fileId, file, options, await file.bytes());
  }

  /** Where the next commit goes. */
  get end(): number {
    return this.#end;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#end + bytes <= this.#options.bytesMax;
  }

  /** Durable when it resolves (unless sync is off). After a rejection nothing behind {@link end} may be trusted, and the file must not be written again. */
  async commit(bytes: Uint8Array): Promise<void> {
    if (this.#end + bytes.length > this.#filledTo) await this.#fill(this.#end + bytes.length);
    await this.#file.writeAt(this.#end, bytes);
    this.#end += bytes.length;
    // A disk without room for the zeros may have had it for the commit: zeros go behind it, never over it.
    this.#filledTo = Math.max(this.#filledTo, this.#end);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #fill(needed: number): Promise<void> {
    const { bytesMax, prefillBytes } = this.#options;
    if (prefillBytes === 0) return;
    const to = Math.min(bytesMax, needed + prefillBytes);
    this.#zeros ??= Buffer.alloc(Math.min(prefillBytes, 1 << 20));
    try {
      while (this.#filledTo < to) {
        const bytes = Math.min(this.#zeros.length, to - this.#filledTo);
        await this.#file.writeAt(this.#filledTo, this.#zeros.subarray(0, bytes));
        this.#filledTo += bytes;
      }
    } catch (error) {
      // Only zeros are missing: there may still be room for the commit itself.
      if (!diskErrors.FULL.is(error)) throw error;
    }
    if (to === bytesMax) this.#zeros = undefined;
  }
}

async function writeHeader(disk: Disk, path: string, header: FileHeader, mode: 'write' | 'create'): Promise<void> {
  const file = await disk.open(path, { mode });
  try {
    await file.writeAt(0, encodeFileHeader(header));
    await file.sync();
  } finally {
    await file.close();
  }
}
