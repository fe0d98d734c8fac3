import type { CookieRecords } from '@daybook/metadata';
import { type BookieId, type Cookie, decodeCookie } from '@daybook/proto';
import { DaybookError, type Disk } from '@daybook/runtime';
import { directoriesOf } from '../last-checkpoint.js';
import { markerNames } from '../marker-files.js';
import type { StoppedBookie } from '../repair-journals.js';
import { readWholeFile } from '../storage/replace-file.js';
import { bookieShellErrors } from './errors.js';

/** A directory and whose it says it is. */
export interface DirectoryIdentity {
  directory: string;
  /** Undefined without one, or when it cannot be read: then `problem` says why. */
  cookie: Cookie | undefined;
  bytes: Buffer | undefined;
  problem?: string;
}

/** The cookie that each directory of a bookie carries. */
export async function readDirectoryIdentities(bookie: StoppedBookie): Promise<DirectoryIdentity[]> {
  const out: DirectoryIdentity[] = [];
  for (const directory of directoriesOf(bookie)) {
    const bytes = await readWholeFile(bookie.disk, `${directory}/VERSION`);
    try {
      out.push({ directory, bytes, cookie: bytes && decodeCookie(bytes), ...(bytes === undefined && { problem: 'there is no VERSION file' }) });
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      out.push({ directory, bytes: undefined, cookie: undefined, problem: error.message });
    }
  }
  return out;
}

/** The cookie that the directories of a bookie carry: the first one that can be read. */
export async function readFolderCookie(bookie: StoppedBookie): Promise<{ cookie: Cookie; bytes: Buffer; path: string } | undefined> {
  for (const { directory, cookie, bytes } of await readDirectoryIdentities(bookie)) {
    if (cookie !== undefined && bytes !== undefined) return { cookie, bytes, path: `${directory}/VERSION` };
  }
  return undefined;
}

/**
 * Removes every file of a stopped bookie from its directories, the cookie last, so that one that was broken off is still known as this bookie. The caller
 * holds the locks. Resolves to how many files went.
 */
export async function wipeFolder(bookie: StoppedBookie): Promise<number> {
  let count = 0;
  const wipe = async (directory: string, isDue: (name: string) => boolean): Promise<void> => {
    for (const name of await bookie.disk.list(directory)) {
      if (name === 'lock' || !isDue(name)) continue;
      await bookie.disk.remove(`${directory}/${name}`);
      count++;
    }
    await bookie.disk.syncDirectory(directory);
  };
  const directories: string[] = [];
  for (const directory of directoriesOf(bookie)) if ((await bookie.disk.list(directory)).length > 0) directories.push(directory);
  for (const directory of directories) await wipe(directory, (name) => !isIdentity(name));
  for (const directory of directories) await wipe(directory, isIdentity);
  return count;
}

function isIdentity(name: string): boolean {
  return name.startsWith('VERSION') || name.startsWith('INCARNATION') || name.startsWith(markerNames.limbo);
}

export interface FirstUse {
  disk: Disk;
  directories: readonly string[];
  bookieId: BookieId;
  /** Undefined: only the directories are looked at. */
  cookies: CookieRecords | undefined;
  /** A ledger that names the id, if there is one. */
  ledgerNaming(bookieId: BookieId): Promise<number | undefined>;
}

/** Rejects with `BOOKIE_SHELL_NOT_CLEAN` unless a bookie may start with this id and these directories as one that never was. */
export async function checkFirstUse({ disk, directories, bookieId, cookies, ledgerNaming }: FirstUse): Promise<void> {
  for (const directory of directories) {
    const names = (await disk.list(directory)).filter((name) => name !== 'lock');
    if (names.length > 0)
      throw bookieShellErrors.NOT_CLEAN(
        `${directory} holds ${names.slice(0, 3).join(', ')}. Name an empty folder, or wipe it with daybook shell bookieformat`,
      );
  }
  if ((await cookies?.read(bookieId)) !== undefined) {
    throw bookieShellErrors.NOT_CLEAN(
      `there is a cookie of bookie ${bookieId} already. Choose another id; or, when its disks are lost, daybook shell recover ${bookieId} --deletecookie`,
    );
  }
  const ledgerId = await ledgerNaming(bookieId);
  if (ledgerId !== undefined) {
    throw bookieShellErrors.NOT_CLEAN(
      `ledger ${ledgerId} names bookie ${bookieId}: a new one under its id would say that entries are not there. Choose another id, or daybook shell recover ${bookieId}`,
    );
  }
}
