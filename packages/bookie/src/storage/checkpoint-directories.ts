import { DaybookError, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LedgerDirectories } from './ledger-directories.js';

/**
 * Where checkpoints are published: in every ledger directory and in every journal directory. A start goes without a ledger directory that fails, but never
 * without a journal directory; so what counts is found by every start, see {@link CheckpointDirectories.write}. (Rule R11.)
 */
export class CheckpointDirectories {
  readonly #ledgers: LedgerDirectories;
  /** Those that are no ledger directories as well. */
  readonly #journals: readonly string[];
  readonly #isJournalToo: (path: string) => boolean;

  constructor(ledgers: LedgerDirectories, journalDirectories: readonly string[]) {
    this.#ledgers = ledgers;
    this.#journals = journalDirectories.filter((path) => !ledgers.all.includes(path));
    this.#isJournalToo = (path) => journalDirectories.includes(path);
  }

  get ledgers(): LedgerDirectories {
    return this.#ledgers;
  }

  /** Calls `task` for each that can be read; resolves to the others. */
  async read(task: (path: string) => Promise<void>): Promise<UnreadCopies> {
    const unread: UnreadCopies = { inLedgers: [], inJournals: [] };
    await this.#ledgers.each(task);
    unread.inLedgers.push(...this.#ledgers.failed.map(({ path }) => path));
    for (const path of this.#journals) {
      try {
        await task(path);
      } catch (error) {
        if (!diskErrors.IO.is(error)) throw error;
        unread.inJournals.push(path);
      }
    }
    return unread;
  }

  /** Where a copy that is there does not count: whole ones of other directories are taken for the newest only if {@link isNewestKnown}. */
  noteUnread(path: string, unread: UnreadCopies): void {
    if (this.#journals.includes(path)) unread.inJournals.push(path);
    else unread.inLedgers.push(path);
  }

  /**
   * Does the same in each of them; full ones are passed over. It counts, and this resolves (to whether all ledger directories took it), when some ledger
   * directory took it, and **a journal directory or all ledger directories** did. Then the newest copy is found whenever all journal directories can be read,
   * and also whenever all ledger directories can. Otherwise rejects with `DISK_FULL`: what was written meanwhile is true as well, but nothing may be given up
   * for it. A journal directory that fails is fatal.
   */
  async write(task: (path: string) => Promise<void>, { alsoInJournals = true } = {}): Promise<boolean> {
    const taken: string[] = [];
    let full: unknown;
    const tryIn = async (path: string): Promise<void> => {
      if (this.#ledgers.isStopped) throw bookieErrors.FAILED('nothing is written any more');
      try {
        await task(path);
        taken.push(path);
      } catch (error) {
        if (!diskErrors.FULL.is(error)) throw error;
        full = error;
      }
    };
    await this.#ledgers.each(tryIn);
    const isInSome = taken.length > 0;
    const isInAll = taken.length === this.#ledgers.all.length;
    if (alsoInJournals || !isInAll) for (const path of this.#journals) await fatally(path, () => tryIn(path));
    const isInJournal = taken.some((path) => this.#isJournalToo(path));
    if (!isInSome || !(isInJournal || isInAll)) throw full ?? diskErrors.FULL('no journal directory');
    return isInAll;
  }
}

/** Directories of which nobody knows what they say. */
export interface UnreadCopies {
  inLedgers: string[];
  inJournals: string[];
}

/** Whether the newest copy that could be read is the newest that counts. */
export function isNewestKnown({ inLedgers, inJournals }: UnreadCopies): boolean {
  return inLedgers.length === 0 || inJournals.length === 0;
}

async function fatally(path: string, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (!(error instanceof DaybookError) || error.code === bookieErrors.FAILED.code) throw error;
    throw bookieErrors.FAILED(`journal directory ${path} fails: ${error.message}`, { cause: error });
  }
}
