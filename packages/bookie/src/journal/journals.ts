import { Journal, type JournalOptions, type JournalOutcome, type JournalRecordToWrite } from './journal.js';
import type { JournalDirectory } from './journal-directory.js';
import type { JournalMark, JournalMarks } from './journal-mark.js';

/** What one journal looks like from outside. */
export interface JournalStatus {
  directory: string;
  mark: JournalMark;
  filesCount: number;
  sparesCount: number;
  queuedBytes: number;
}

/**
 * The journals of a bookie, one per journal directory. All records of a ledger go to the same one, so that they stay in order: `ledgerId mod count`. The
 * list of directories is part of the cookie, so it never changes while there are records.
 */
export class Journals {
  readonly #journals: readonly Journal[];

  private constructor(journals: readonly Journal[]) {
    this.#journals = journals;
  }

  /** Starts a new file in each; `ends` are where the replays ended. */
  static async open(
    directories: readonly JournalDirectory[],
    ends: readonly (JournalMark | undefined)[],
    options: Omit<JournalOptions, 'directory'>,
  ): Promise<Journals> {
    const journals: Journal[] = [];
    try {
      for (const [i, directory] of directories.entries()) journals.push(await Journal.open({ ...options, directory }, ends[i]));
    } catch (error) {
      for (const journal of journals) await journal.close();
      throw error;
    }
    return new Journals(journals);
  }

  /** Bytes not yet durable, in all of them. */
  get queuedBytes(): number {
    let sum = 0;
    for (const journal of this.#journals) sum += journal.queuedBytes;
    return sum;
  }

  append(ledgerId: number, record: JournalRecordToWrite, done: (outcome: JournalOutcome) => void): void {
    const journal = this.#journals[ledgerId % this.#journals.length] as Journal;
    journal.append(record, done);
  }

  /** All taken in the same turn: see {@link Journal.mark}. */
  marks(): JournalMarks {
    return this.#journals.map((journal) => journal.mark());
  }

  /** Recycles the files that a published checkpoint makes superfluous. */
  async releaseBelow(marks: JournalMarks): Promise<void> {
    for (const [i, journal] of this.#journals.entries()) await journal.directory.releaseBelow((marks[i] as JournalMark).fileId);
  }

  /** Gives the files that wait to be written over back to their disks. */
  async dropSpares(): Promise<void> {
    for (const journal of this.#journals) await journal.directory.dropSpares();
  }

  status(): JournalStatus[] {
    return this.#journals.map((journal) => ({
      directory: journal.directory.path,
      mark: journal.mark(),
      filesCount: journal.directory.fileIds.length,
      sparesCount: journal.directory.sparesCount,
      queuedBytes: journal.queuedBytes,
    }));
  }

  /** Nothing is written or acknowledged any more. */
  stop(): void {
    for (const journal of this.#journals) journal.stop();
  }

  /** Writes what is queued, then ends. */
  async close(): Promise<void> {
    await Promise.all(this.#journals.map((journal) => journal.close()));
  }
}
