import { type Cookie, decodeCookie } from '@daybook/proto';
import { DaybookError, type Disk, type DiskLock, diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { directoriesOf } from '../last-checkpoint.js';
import type { StoppedBookie } from '../repair-journals.js';
import { readWholeFile } from '../storage/replace-file.js';
import { bookieShellErrors } from './errors.js';

export interface FolderRequest {
  /** What the bookie was given as its data directory; absolute. */
  dataDirectory: string;
  /** When the bookie's settings name them on their own. */
  journalDirectories?: readonly string[] | undefined;
  ledgerDirectories?: readonly string[] | undefined;
}

/** Where a bookie keeps its data: as said, or as its cookie says. Rejects with `BOOKIE_SHELL_NO_FOLDER`. */
export async function findBookieFolder(disk: Disk, request: FolderRequest): Promise<StoppedBookie> {
  const { dataDirectory, journalDirectories, ledgerDirectories } = request;
  if (journalDirectories !== undefined && ledgerDirectories !== undefined) return { disk, journalDirectories, ledgerDirectories };
  const usual = [`${dataDirectory}/journal`, `${dataDirectory}/ledgers`];
  for (const directory of [...(journalDirectories ?? []), ...(ledgerDirectories ?? []), ...usual, dataDirectory]) {
    const cookie = await readCookie(disk, directory);
    if (cookie === undefined) continue;
    const root = directory === dataDirectory ? rootOf(cookie, directory) : dataDirectory;
    const absolute = (path: string): string => (path.startsWith('/') ? path : `${root}/${path}`);
    return {
      disk,
      journalDirectories: journalDirectories ?? cookie.journalDirectories.map(absolute),
      ledgerDirectories: ledgerDirectories ?? cookie.ledgerDirectories.map(absolute),
    };
  }
  throw bookieShellErrors.NO_FOLDER(dataDirectory);
}

/** Undefined when there is none that can be read: another directory has the same one. */
async function readCookie(disk: Disk, directory: string): Promise<Cookie | undefined> {
  const bytes = await readWholeFile(disk, `${directory}/VERSION`);
  try {
    return bytes && decodeCookie(bytes);
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return undefined;
  }
}

/** The folder that a cookie's directories are relative to, when one of them was named instead of it. */
function rootOf({ journalDirectories, ledgerDirectories }: Cookie, directory: string): string {
  const own = [...journalDirectories, ...ledgerDirectories].find((path) => directory.endsWith(`/${path}`));
  return own === undefined ? directory : directory.slice(0, -own.length - 1);
}

/** Keeps the bookie from starting while `task` looks at its files. Rejects with `BOOKIE_SHELL_RUNS`, which says what to do `instead`. */
export async function whileStopped<T>(bookie: StoppedBookie, instead: string, task: () => Promise<T>): Promise<T> {
  const locks: DiskLock[] = [];
  try {
    for (const directory of directoriesOf(bookie)) {
      // A lock would make what is missing.
      if ((await bookie.disk.list(directory)).length === 0) continue;
      locks.push(await lock(bookie.disk, directory, instead));
    }
    return await task();
  } finally {
    for (const held of locks) await held.release();
  }
}

const triesMax = 5;

/**
 * Lets `task` look at the files of a bookie and change nothing. A stopped one is kept from starting meanwhile. Of a **running** one no lock is taken, and nothing
 * is held up: what a checkpoint names does not change while it is named, but it may go meanwhile, when the next one counts. Then it is looked at again, unless
 * `mayRepeat` says no, as something was printed already.
 */
export async function lookInto<T>(
  bookie: StoppedBookie,
  task: (isRunning: boolean) => Promise<T>,
  mayRepeat: () => boolean = () => true,
): Promise<T> {
  try {
    return await whileStopped(bookie, '', () => task(false));
  } catch (error) {
    if (!bookieShellErrors.RUNS.is(error)) throw error;
  }
  for (let tries = 1; ; tries++) {
    try {
      return await task(true);
    } catch (error) {
      if (!isChange(error) || tries === triesMax || !mayRepeat()) throw error;
    }
  }
}

/** What looks like damage of a running bookie's files may be that they are others by now. */
function isChange(error: unknown): boolean {
  return [diskErrors.NOT_FOUND, bookieErrors.LOG_DAMAGED, bookieShellErrors.CHANGED].some((kind) => kind.is(error));
}

async function lock(disk: Disk, directory: string, instead: string): Promise<DiskLock> {
  try {
    return await disk.lock(`${directory}/lock`);
  } catch (error) {
    throw diskErrors.LOCKED.is(error) ? bookieShellErrors.RUNS(directory, instead, { cause: error }) : error;
  }
}
