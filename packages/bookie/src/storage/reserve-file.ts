import { type Disk, diskErrors } from '@daybook/runtime';
import { syncOrFail } from './sync-or-fail.js';

export const reserveFileName = 'reserve';
const chunkBytes = 1 << 20;

/**
 * Space that is kept back in a directory: a file of zeros. Given away when the disk is full, so that fences, checkpoints and garbage collection find room even
 * when others filled the disk to its last byte; written again when there is space.
 */
export class ReserveFile {
  readonly #disk: Disk;
  readonly #directory: string;
  #bytes: number | undefined;

  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  /** Bytes that are kept back now. */
  async bytes(): Promise<number> {
    this.#bytes ??= (await this.#disk.fileBytes(this.#path)) ?? 0;
    return this.#bytes;
  }

  /** Fills the file up. False when the disk is too full for it; then what could be written is given back. */
  async fill(bytes: number): Promise<boolean> {
    const from = await this.bytes();
    if (from >= bytes) return true;
    const file = await this.#disk.open(this.#path);
    try {
      const zeros = Buffer.alloc(Math.min(chunkBytes, bytes - from));
      for (let at = from; at < bytes; at += zeros.length) await file.writeAt(at, zeros.subarray(0, Math.min(zeros.length, bytes - at)));
      await syncOrFail(() => file.sync());
      this.#bytes = bytes;
      return true;
    } catch (error) {
      this.#bytes = undefined;
      if (!diskErrors.FULL.is(error)) throw error;
    } finally {
      await file.close();
    }
    await this.giveAway();
    return false;
  }

  async giveAway(): Promise<void> {
    await this.#disk.remove(this.#path);
    this.#bytes = 0;
  }

  get #path(): string {
    return `${this.#directory}/${reserveFileName}`;
  }
}
