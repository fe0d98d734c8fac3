import { resolve } from 'node:path';
import type { StoppedBookie } from '@daybook/bookie';
import { findBookieFolder, lookInto, whileStopped } from '@daybook/bookie/shell';
import { RealDisk } from '@daybook/runtime/real';
import { cliErrors } from '../errors.js';

export interface FolderOptions {
  data?: string;
  journal?: string[];
  ledgers?: string[];
}

/** Where a bookie's files are; it may run. */
export function bookieFolder({ data, journal, ledgers }: FolderOptions): Promise<StoppedBookie> {
  if (data === undefined && (journal === undefined || ledgers === undefined))
    throw cliErrors.USAGE('say which bookie: --data FOLDER of a stopped one');
  return findBookieFolder(new RealDisk(), {
    dataDirectory: resolve(data ?? '.'),
    journalDirectories: journal?.map((path) => resolve(path)),
    ledgerDirectories: ledgers?.map((path) => resolve(path)),
  });
}

/** Runs `task` with the lock of the folder held; a running bookie is refused with what to do `instead`. */
export async function inFolder<T>(options: FolderOptions, instead: string, task: (bookie: StoppedBookie) => Promise<T>): Promise<T> {
  const bookie = await bookieFolder(options);
  return whileStopped(bookie, instead, () => task(bookie));
}

/**
 * Runs `task`, which only looks, on the folder of a bookie that is stopped or runs. Of a running one it may be run again when files change under it, until it calls
 * `notePrinted`, as what was printed cannot be taken back.
 */
export async function inAnyFolder<T>(
  options: FolderOptions,
  task: (bookie: StoppedBookie, isRunning: boolean, notePrinted: () => void) => Promise<T>,
): Promise<T> {
  const bookie = await bookieFolder(options);
  let isPrinted = false;
  const notePrinted = () => {
    isPrinted = true;
  };
  return lookInto(
    bookie,
    (isRunning) => task(bookie, isRunning, notePrinted),
    () => !isPrinted,
  );
}
