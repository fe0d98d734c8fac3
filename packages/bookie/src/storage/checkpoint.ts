import { type Disk, invariant } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { covers, type JournalMarks } from '../journal/journal-mark.js';
import { type Checkpoint, checkpointFileName, decodeCheckpoint, encodeCheckpoint, type LogExtent } from './checkpoint-format.js';
import type { LedgerDirectories } from './ledger-directories.js';
import { readWholeFile, replaceFile } from './replace-file.js';

/** The published checkpoint: the one pointer that says what of the ledger directories counts. Only ever moves forward. */
export class Checkpoints {
  readonly #disk: Disk;
  readonly #directories: LedgerDirectories;
  #latest: Checkpoint | undefined;

  private constructor(disk: Disk, directories: LedgerDirectories, latest: Checkpoint | undefined) {
    this.#disk = disk;
    this.#directories = directories;
    this.#latest = latest;
  }

  /**
   * The newest readable one counts: a crash between two directories leaves them apart. An older one is as good as long as the journal still has what
   * it names (which replay checks).
   */
  static async load(disk: Disk, directories: LedgerDirectories): Promise<Checkpoints> {
    const found: Checkpoint[] = [];
    const damaged: string[] = [];
    await directories.each(async (directory) => {
      const path = `${directory}/${checkpointFileName}`;
      const bytes = await readWholeFile(disk, path);
      if (bytes === undefined) return;
      const checkpoint = decodeCheckpoint(bytes, path);
      if (checkpoint === undefined) damaged.push(path);
      else found.push(checkpoint);
    });
    const latest = found.sort((a, b) => a.number - b.number).at(-1);
    if (latest === undefined && damaged[0] !== undefined) throw bookieErrors.CHECKPOINT_CORRUPT(damaged[0], 'its checksum is wrong');
    return new Checkpoints(disk, directories, latest);
  }

  get latest(): Checkpoint | undefined {
    return this.#latest;
  }

  /**
   * Publishes, in every ledger directory that works. Everything it names must be durable. When it resolves, journal files before the marks are no longer needed.
   */
  async publish(state: { marks: JournalMarks; nextLogId: number; logs: readonly LogExtent[]; statesNumber: number }): Promise<void> {
    const before = this.#latest;
    invariant(before === undefined || covers(state.marks, before.marks), 'no mark ever moves back');
    const checkpoint = { number: (before?.number ?? 0) + 1, ...state };
    const bytes = encodeCheckpoint(checkpoint);
    await this.#directories.eachWithRoom((directory) => replaceFile(this.#disk, directory, checkpointFileName, bytes));
    this.#latest = checkpoint;
  }
}
