import { type Disk, invariant } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { covers, type JournalMarks } from '../journal/journal-mark.js';
import { type Checkpoint, checkpointFileName, decodeCheckpoint, encodeCheckpoint, type LogExtent } from './checkpoint-format.js';
import { readWholeFile, replaceFile } from './replace-file.js';

/** The published checkpoint: the one pointer that says what of the ledger directories counts. Only ever moves forward. */
export class Checkpoints {
  readonly #disk: Disk;
  readonly #directories: readonly string[];
  #latest: Checkpoint | undefined;

  private constructor(disk: Disk, directories: readonly string[], latest: Checkpoint | undefined) {
    this.#disk = disk;
    this.#directories = directories;
    this.#latest = latest;
  }

  /**
   * The newest readable one counts: a crash between two directories leaves them apart. An older one is as good as long as the journal still has what
   * it names (which replay checks).
   */
  static async load(disk: Disk, directories: readonly string[]): Promise<Checkpoints> {
    let latest: Checkpoint | undefined;
    let damaged: string | undefined;
    for (const directory of directories) {
      const path = `${directory}/${checkpointFileName}`;
      const bytes = await readWholeFile(disk, path);
      if (bytes === undefined) continue;
      const checkpoint = decodeCheckpoint(bytes, path);
      if (checkpoint === undefined) damaged = path;
      else if (latest === undefined || checkpoint.number > latest.number) latest = checkpoint;
    }
    if (latest === undefined && damaged !== undefined) throw bookieErrors.CHECKPOINT_CORRUPT(damaged, 'its checksum is wrong');
    return new Checkpoints(disk, directories, latest);
  }

  get latest(): Checkpoint | undefined {
    return this.#latest;
  }

  /**
   * Publishes, in every ledger directory. Everything it names must be durable. When it resolves, journal files before the marks are no longer needed.
   */
  async publish(state: { marks: JournalMarks; nextLogId: number; logs: readonly LogExtent[]; statesNumber: number }): Promise<void> {
    const before = this.#latest;
    invariant(before === undefined || covers(state.marks, before.marks), 'no mark ever moves back');
    const checkpoint = { number: (before?.number ?? 0) + 1, ...state };
    const bytes = encodeCheckpoint(checkpoint);
    for (const directory of this.#directories) await replaceFile(this.#disk, directory, checkpointFileName, bytes);
    this.#latest = checkpoint;
  }
}
