import type { Disk } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { CheckpointDirectories, UnreadCopies } from './checkpoint-directories.js';
import { ExplicitLacs } from './explicit-lacs.js';
import type { LedgerStates } from './ledger-state.js';
import { decodeLedgerStates, encodeLedgerStates, type LedgerStateSnapshot, ledgerStatesFileName } from './ledger-state-format.js';
import { readWholeFile, replaceFile } from './replace-file.js';

/**
 * Keeps the snapshot of the ledgers' states on disk; written before the checkpoint that needs it, and only when something changed. It is in every ledger
 * directory, and in the journal directories as well when one of those had no room for it or fails.
 */
export class LedgerStateFile {
  readonly #disk: Disk;
  readonly #directories: CheckpointDirectories;
  readonly #explicitLacs: ExplicitLacs;
  #savedChanges = -1;
  #savedNumber = 0;

  constructor(disk: Disk, directories: CheckpointDirectories, explicitLacs = new ExplicitLacs()) {
    this.#disk = disk;
    this.#explicitLacs = explicitLacs;
    this.#directories = directories;
  }

  /**
   * Fills `states` from the newest snapshot. One that is older than the checkpoint wants would forget fences whose journal records are gone. `numberMin`
   * is undefined when no checkpoint was ever published. Resolves to the highest number that any snapshot has, 0 without any: see `Checkpoints.noteTaken`.
   */
  async load(states: LedgerStates, numberMin: number | undefined): Promise<number> {
    const found: (LedgerStateSnapshot & { directory: string })[] = [];
    const { ledgers } = this.#directories;
    const unread = await this.#directories.read(async (directory) => {
      const path = `${directory}/${ledgerStatesFileName}`;
      const bytes = await readWholeFile(this.#disk, path);
      const decoded = bytes === undefined ? undefined : decodeLedgerStates(bytes, path);
      if (decoded !== undefined) found.push({ ...decoded, directory });
    });
    const newest = found.sort((a, b) => a.checkpointNumber - b.checkpointNumber).at(-1);
    if (newest === undefined) {
      const path = `${ledgers.all[0]}/${ledgerStatesFileName}`;
      if (numberMin !== undefined) throw bookieErrors.STATE_CORRUPT(path, 'missing, or its checksum is wrong');
      return 0;
    }
    if (newest.checkpointNumber < (numberMin ?? 0)) {
      throw bookieErrors.STATE_CORRUPT(
        `${ledgers.all[0]}/${ledgerStatesFileName}`,
        `it is older than checkpoint ${numberMin} allows${textOf(unread)}`,
      );
    }
    for (const { ledgerId, isFenced, masterKey } of newest.states) {
      states.create(ledgerId, masterKey);
      if (isFenced) states.setFenced(ledgerId);
    }
    for (const deleted of newest.deleted) states.restoreDeleted(deleted);
    for (const { ledgerId, explicitLac } of newest.explicitLacs) if (states.has(ledgerId)) this.#explicitLacs.set(ledgerId, explicitLac);
    // A directory that was not there for a while is brought up to date by the next checkpoint.
    const isCurrent = (path: string): boolean =>
      found.some(({ directory, checkpointNumber }) => directory === path && checkpointNumber === newest.checkpointNumber);
    this.#savedChanges = ledgers.all.every(isCurrent) ? this.#changesOf(states) : -1;
    this.#savedNumber = newest.checkpointNumber;
    return newest.checkpointNumber;
  }

  /** Durable when it resolves, to the number of the newest snapshot. */
  async save(states: LedgerStates, checkpointNumber: number): Promise<number> {
    const changes = this.#changesOf(states);
    if (changes === this.#savedChanges) return this.#savedNumber;
    const bytes = encodeLedgerStates(checkpointNumber, states, this.#explicitLacs);
    const write = (directory: string): Promise<void> => replaceFile(this.#disk, directory, ledgerStatesFileName, bytes);
    const isEverywhere = await this.#directories.write(write, { alsoInJournals: false });
    // Where there was no room it is written with the next checkpoint.
    this.#savedChanges = isEverywhere ? changes : -1;
    this.#savedNumber = checkpointNumber;
    return checkpointNumber;
  }

  /** Both only grow. */
  #changesOf(states: LedgerStates): number {
    return states.changes + this.#explicitLacs.changes;
  }
}

/** The newest one may be where nobody can look. */
function textOf({ inLedgers, inJournals }: UnreadCopies): string {
  const paths = [...inLedgers, ...inJournals];
  return paths.length === 0 ? '' : `, and ${paths.join(', ')} cannot be read: bring that back`;
}
