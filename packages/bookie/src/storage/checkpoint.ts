import { type Disk, invariant } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { covers } from '../journal/journal-mark.js';
import { type CheckpointDirectories, isNewestKnown } from './checkpoint-directories.js';
import { type Checkpoint, checkpointFileName, decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.js';
import { readWholeFile, replaceFile } from './replace-file.js';

/**
 * How far numbers jump when a ledger directory cannot be looked into: a checkpoint may be in it that was written and did not count, as it got no further. Far
 * more than are ever written without counting.
 */
const unseenNumbers = 1 << 20;

/**
 * The published checkpoint: the one pointer that says what of the ledger directories counts, and from where on the journals are needed. Only ever moves
 * forward. It is in every directory that had room, journal directories included, so that a start never takes an older one for it: see
 * {@link CheckpointDirectories}.
 */
export class Checkpoints {
  readonly #disk: Disk;
  readonly #directories: CheckpointDirectories;
  #latest: Checkpoint | undefined;
  #lastNumber: number;

  private constructor(disk: Disk, directories: CheckpointDirectories, latest: Checkpoint | undefined) {
    this.#disk = disk;
    this.#directories = directories;
    this.#latest = latest;
    this.#lastNumber = (latest?.number ?? 0) + (directories.ledgers.failed.length > 0 ? unseenNumbers : 0);
  }

  /**
   * The newest one counts, wherever it is: everything a checkpoint names was durable before its first copy was written, and nothing that an older one needs
   * is given up before it counts. Rejects with `BOOKIE_CHECKPOINT_CORRUPT` when a newer one than those that can be read may be hidden in the others.
   */
  static async load(disk: Disk, directories: CheckpointDirectories): Promise<Checkpoints> {
    const found: Checkpoint[] = [];
    const damaged: string[] = [];
    const unread = await directories.read(async (directory) => {
      const path = `${directory}/${checkpointFileName}`;
      const bytes = await readWholeFile(disk, path);
      if (bytes === undefined) return;
      const checkpoint = decodeCheckpoint(bytes, path);
      if (checkpoint === undefined) damaged.push(directory);
      else found.push(checkpoint);
    });
    for (const directory of damaged) directories.noteUnread(directory, unread);
    const latest = found.sort((a, b) => a.number - b.number).at(-1);
    const [path = unread.inJournals[0]] = damaged;
    if (path !== undefined && (latest === undefined || !isNewestKnown(unread))) {
      const others = [...unread.inLedgers, ...unread.inJournals].filter((other) => other !== path);
      const why = latest === undefined || others.length === 0 ? '' : `, and a newer one than those elsewhere may be in ${others.join(', ')}`;
      throw bookieErrors.CHECKPOINT_CORRUPT(`${path}/${checkpointFileName}`, `its checksum is wrong, or it cannot be read${why}`);
    }
    return new Checkpoints(disk, directories, latest);
  }

  get latest(): Checkpoint | undefined {
    return this.#latest;
  }

  /** A process that died before it published may have left files with this number: never may another file have it, as the newest is told by its number. */
  noteTaken(number: number): void {
    this.#lastNumber = Math.max(this.#lastNumber, number);
  }

  /** The number of the next one; each is taken for one attempt only, as an attempt that fails may leave copies behind. */
  takeNumber(): number {
    return ++this.#lastNumber;
  }

  /**
   * Publishes, in every directory. Everything it names must be durable. When it resolves, journal files before the marks are no longer needed, nor is anything
   * that only the checkpoint before names. Rejects with `DISK_FULL` when too few have room.
   */
  async publish(checkpoint: Checkpoint): Promise<void> {
    const before = this.#latest;
    invariant(before === undefined || covers(checkpoint.marks, before.marks), 'no mark ever moves back');
    const bytes = encodeCheckpoint(checkpoint);
    await this.#directories.write((directory) => replaceFile(this.#disk, directory, checkpointFileName, bytes));
    this.#latest = checkpoint;
  }
}
