import { type Disk, type DiskFile, diskErrors } from '@daybook/runtime';
import { encodeFileHeader, type FileHeader, fileHeaderBytes, journalFileName } from './journal-format.js';

export interface JournalFileOptions {
  disk: Disk;
  directory: string;
  bytesMax: number;
  /** Zeros are written this far ahead of the data, beside the commits, so that none of them changes the file's size: a third cheaper than growing writes. */
  prefillBytes: number;
  /** False only for `journalSyncData=false`. */
  syncEachWrite: boolean;
  /** Zeros could not be written or synced, and not because the disk is full: the file cannot be trusted any more. Perhaps while no commit is under way. */
  onFillFailure(error: unknown): void;
}

/** Zeros written at a time: a commit that needs them has to wait for one such step, and shares the disk with it. */
const fillStepBytes = 512 * 1024;

/** The journal file being written. One call at a time. */
export class JournalFile {
  readonly fileId: number;
  readonly #file: DiskFile;
  /** The same file, for zeros: a commit must not wait for those it does not need yet. */
  readonly #filler: DiskFile;
  readonly #options: JournalFileOptions;
  #end = fileHeaderBytes;
  /** Up to here commits change no size. */
  #filledTo: number;
  #zeros: Buffer | undefined;
  #step: Promise<void> | undefined;
  /** Zeros are only there to make commits cheaper: without room for them there are none. */
  #mayFill: boolean;
  #fillFailure: { readonly error: unknown } | undefined;

  private constructor(fileId: number, files: { file: DiskFile; filler: DiskFile }, options: JournalFileOptions, filledTo: number) {
    this.fileId = fileId;
    this.#file = files.file;
    this.#filler = files.filler;
    this.#options = options;
    this.#filledTo = filledTo;
    this.#mayFill = options.prefillBytes > 0;
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
    const filler = await disk.open(path, { mode: 'write' });
    return new JournalFile(header.fileId, { file, filler }, options, await file.bytes());
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
    const end = this.#end + bytes.length;
    while (end > this.#filledTo && this.#canFill) await (this.#step ?? this.#fill());
    // Whatever it had to wait for: a file of which a sync failed is not written again.
    if (this.#fillFailure !== undefined) throw this.#fillFailure.error;
    this.#fillAhead(end);
    await this.#file.writeAt(this.#end, bytes);
    this.#end = end;
    // A disk without room for the zeros may have had it for the commit: zeros go behind it, never over it.
    this.#filledTo = Math.max(this.#filledTo, end);
  }

  async close(): Promise<void> {
    this.#mayFill = false;
    await this.#step;
    await this.#filler.close();
    await this.#file.close();
  }

  get #canFill(): boolean {
    return this.#mayFill && this.#filledTo < this.#options.bytesMax;
  }

  /** Begins to fill when less than half of it is left; goes on by itself. */
  #fillAhead(end: number): void {
    const { prefillBytes } = this.#options;
    if (this.#step === undefined && this.#canFill && this.#filledTo - end < prefillBytes / 2) void this.#fillFrom(end + prefillBytes);
  }

  async #fillFrom(to: number): Promise<void> {
    while (this.#canFill && this.#filledTo < to) await (this.#step ?? this.#fill());
  }

  /** One step. Never rejects: `onFillFailure` is told, and commits reject. */
  #fill(): Promise<void> {
    const from = this.#filledTo;
    const bytes = Math.min(fillStepBytes, this.#options.prefillBytes, this.#options.bytesMax - from);
    this.#zeros ??= Buffer.alloc(bytes);
    this.#step = this.#writeZeros(from, this.#zeros.subarray(0, bytes))
      .catch((error: unknown) => {
        this.#mayFill = false;
        // Only zeros are missing: there may still be room for the commit itself.
        if (diskErrors.FULL.is(error)) return;
        this.#fillFailure = { error };
        this.#options.onFillFailure(error);
      })
      .finally(() => {
        this.#step = undefined;
        if (!this.#canFill) this.#zeros = undefined;
      });
    return this.#step;
  }

  async #writeZeros(from: number, zeros: Buffer): Promise<void> {
    await this.#filler.writeAt(from, zeros);
    if (this.#options.syncEachWrite) await this.#filler.sync();
    this.#filledTo = from + zeros.length;
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
