import type { Disk } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { LedgerDirectories } from './ledger-directories.js';
import type { LedgerStates } from './ledger-state.js';
import { decodeLedgerStates, encodeLedgerStates, type LedgerStateSnapshot, ledgerStatesFileName } from './ledger-state-format.js';
import { readWholeFile, replaceFile } from './replace-file.js';

/** Keeps the snapshot of the ledgers' states on disk; written before the checkpoint that needs it, and only when something changed. */
export class LedgerStateFile {
  readonly #disk: Disk;
  readonly #directories: LedgerDirectories;
  #savedChanges = -1;
  #savedNumber = 0;

  constructor(disk: Disk, directories: LedgerDirectories) {
    this.#disk = disk;
    this.#directories = directories;
  }

  /**
   * Fills `states` from the newest snapshot. One that is older than the checkpoint wants would forget fences whose journal records are gone. `numberMin`
   * is undefined when no checkpoint was ever published.
   */
  async load(states: LedgerStates, numberMin: number | undefined): Promise<void> {
    const found: LedgerStateSnapshot[] = [];
    await this.#directories.each(async (directory) => {
      const path = `${directory}/${ledgerStatesFileName}`;
      const bytes = await readWholeFile(this.#disk, path);
      const decoded = bytes === undefined ? undefined : decodeLedgerStates(bytes, path);
      if (decoded !== undefined) found.push(decoded);
    });
    const newest = found.sort((a, b) => a.checkpointNumber - b.checkpointNumber).at(-1);
    if (newest === undefined) {
      const path = `${this.#directories.all[0]}/${ledgerStatesFileName}`;
      if (numberMin !== undefined) throw bookieErrors.STATE_CORRUPT(path, 'missing, or its checksum is wrong');
      return;
    }
    if (newest.checkpointNumber < (numberMin ?? 0)) {
      throw bookieErrors.STATE_CORRUPT(
        `${this.#directories.all[0]}/${ledgerStatesFileName}`,
        `it is older than checkpoint ${numberMin} allows${unread(this.#directories)}`,
      );
    }
    for (const { ledgerId, isFenced, masterKey } of newest.states) {
      states.create(ledgerId, masterKey);
      if (isFenced) states.setFenced(ledgerId);
    }
    for (const deleted of newest.deleted) states.restoreDeleted(deleted);
    // A directory that was not there for a while is brought up to date by the next checkpoint.
    const current = found.filter(({ checkpointNumber }) => checkpointNumber === newest.checkpointNumber);
    this.#savedChanges = current.length === this.#directories.working.length ? states.changes : -1;
    this.#savedNumber = newest.checkpointNumber;
  }

  /** Durable when it resolves, to the number of the newest snapshot. */
  async save(states: LedgerStates, checkpointNumber: number): Promise<number> {
    if (states.changes === this.#savedChanges) return this.#savedNumber;
    const changes = states.changes;
    const bytes = encodeLedgerStates(checkpointNumber, states);
    const isEverywhere = await this.#directories.eachWithRoom((directory) => replaceFile(this.#disk, directory, ledgerStatesFileName, bytes));
    // Where there was no room it is written with the next checkpoint.
    this.#savedChanges = isEverywhere ? changes : -1;
    this.#savedNumber = checkpointNumber;
    return checkpointNumber;
  }
}

/** The newest one may be where nobody can look. */
function unread({ failed }: LedgerDirectories): string {
  return failed.length === 0 ? '' : `, and ${failed.map(({ path }) => path).join(', ')} cannot be read: bring that back`;
}
