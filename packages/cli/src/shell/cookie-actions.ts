import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StoppedBookie } from '@daybook/bookie';
import {
  bookieShellErrors,
  checkFirstUse,
  directoriesOf,
  readDirectoryIdentities,
  readFolderCookie,
  whileStopped,
  wipeFolder,
} from '@daybook/bookie/shell';
import { deleteCookieOf, ledgersNaming } from '@daybook/ledger/repair';
import { createCookieRecords } from '@daybook/metadata';
import { type BookieId, type Cookie, decodeCookie, encodeCookie } from '@daybook/proto';
import { RealDisk } from '@daybook/runtime/real';
import { cliErrors } from '../errors.js';
import type { PlainClusterOptions } from './cluster-actions.js';
import { type ClusterSession, inCluster } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { bookieFolder, type FolderOptions } from './folder-access.js';
import { printResult } from './output.js';
import { typedBookieId } from './shell-options.js';

export interface CookieOptions extends PlainClusterOptions, FolderOptions {
  cookieFile?: string;
  outputFile?: string;
  force?: boolean;
}

export interface FormatOptions extends PlainClusterOptions, FolderOptions {
  force?: boolean;
  deletecookie?: boolean;
  bookieid?: string;
}

export interface InitOptions extends PlainClusterOptions, FolderOptions {
  bookieid: string;
}

export async function cookieGet(id: string | undefined, options: CookieOptions): Promise<void> {
  const hasFolder = options.data !== undefined || options.ledgers !== undefined;
  if (!hasFolder && id === undefined) {
    throw cliErrors.USAGE('say which bookie: an id (its cookie in the metadata), --data FOLDER (those on its disks), or both to compare them');
  }
  const found: FoundCookie[] = hasFolder ? await cookiesOnDisk(options) : [];
  if (id !== undefined) found.push(await cookieInMetadata(id, options));
  printResult(options, found, cookiesText);
  const problems = found.flatMap(({ where, problem }) => (problem === undefined ? [] : [`${where}: ${problem}`]));
  if (problems.length > 0) throw shellErrors.PROBLEMS(problems.length, problems.join('; '));
}

interface FoundCookie {
  where: string;
  cookie: Cookie | undefined;
  problem?: string | undefined;
}

/** Written once and hardly ever changed while a bookie runs: no lock is needed. */
async function cookiesOnDisk(options: CookieOptions): Promise<FoundCookie[]> {
  const identities = await readDirectoryIdentities(await bookieFolder(options));
  return identities.map(({ directory, cookie, problem }) => ({ where: directory, cookie, problem }));
}

async function cookieInMetadata(id: string, options: CookieOptions): Promise<FoundCookie> {
  return inCluster(options, async ({ store }) => {
    const found = await createCookieRecords(store).read(typedBookieId(id));
    const where = 'metadata';
    return found === undefined ? { where, cookie: undefined, problem: `no cookie of bookie ${id}` } : { where, cookie: decodeCookie(found.bytes) };
  });
}

/** Equal ones once. */
function cookiesText(found: readonly FoundCookie[]): string {
  const places = new Map<string, string[]>();
  for (const { where, cookie } of found) {
    const text = cookie === undefined ? 'none' : encodeCookie(cookie).toString('utf8').trimEnd();
    places.set(text, [...(places.get(text) ?? []), where]);
  }
  return [...places].map(([text, where]) => `# ${where.join(', ')}\n${text}`).join('\n\n');
}

function printCookie(options: CookieOptions, bytes: Buffer): void {
  printResult(options, decodeCookie(bytes), () => bytes.toString('utf8').trimEnd());
}

export async function cookieCreate(id: string, options: CookieOptions): Promise<void> {
  const bytes = await givenCookie(id, options);
  await inCluster(options, async ({ store }) => {
    await createCookieRecords(store).write(typedBookieId(id), bytes, 'absent');
    printCookie(options, bytes);
  });
}

export async function cookieUpdate(id: string, options: CookieOptions): Promise<void> {
  const bytes = await givenCookie(id, options);
  await inCluster(options, async ({ store }) => {
    const cookies = createCookieRecords(store);
    const found = await cookies.read(typedBookieId(id));
    if (found === undefined) throw shellErrors.PROBLEMS(1, `the metadata has no cookie of bookie ${id}: cookie_create makes one`);
    if (options.force !== true) {
      throw shellErrors.NOT_CONFIRMED(
        `replace\n${found.bytes.toString('utf8')}by\n${bytes.toString('utf8')}A bookie with other disks could then answer as ${id}`,
        '--force',
      );
    }
    await cookies.write(typedBookieId(id), bytes, found.version);
    printCookie(options, bytes);
  });
}

/** From a file or the bookie's own disks; it must be this bookie's. */
async function givenCookie(id: string, options: CookieOptions): Promise<Buffer> {
  const bytes = options.cookieFile === undefined ? (await readFolderCookie(await bookieFolder(options)))?.bytes : readFileSync(options.cookieFile);
  if (bytes === undefined) throw shellErrors.PROBLEMS(1, 'there is no cookie in these folders');
  const found = decodeCookie(bytes).bookieId;
  if (found !== id) throw cliErrors.USAGE(`that is the cookie of bookie ${found}, not of ${id}`);
  return bytes;
}

export async function cookieDelete(id: string, options: CookieOptions): Promise<void> {
  await inCluster(options, async (session) => {
    if (options.force === true) await createCookieRecords(session.store).delete(typedBookieId(id), 'any');
    else await deleteChecked(session, typedBookieId(id));
    printResult(options, { bookieId: id, deleted: true }, () => `the metadata knows bookie ${id} no more`);
  });
}

async function deleteChecked({ records, registry, parts, store }: ClusterSession, id: BookieId): Promise<void> {
  await deleteCookieOf({ records, registry, logger: parts.logger, cookies: createCookieRecords(store) }, id);
}

export async function cookieGenerate(options: CookieOptions): Promise<void> {
  const found = await readFolderCookie(await bookieFolder(options));
  if (found === undefined) throw shellErrors.PROBLEMS(1, 'there is no cookie in these folders');
  writeFileSync(options.outputFile as string, found.bytes);
  printCookie(options, found.bytes);
}

export async function formatBookie(options: FormatOptions): Promise<void> {
  const folder = await folderToFormat(options);
  const found = (await readFolderCookie(folder))?.cookie.bookieId;
  if (found !== undefined && options.bookieid !== undefined && found !== options.bookieid) {
    throw cliErrors.USAGE(`these are the folders of bookie ${found}, not of ${options.bookieid}`);
  }
  const id = found ?? options.bookieid;
  const places = directoriesOf(folder).join(', ');
  if (options.deletecookie === true && id === undefined)
    throw cliErrors.USAGE('there is no cookie in these folders: say whose to delete with --bookieid');
  if (options.force !== true) {
    const forget = options.deletecookie === true ? ` and delete its cookie in the metadata` : '';
    throw shellErrors.NOT_CONFIRMED(
      `remove every file of bookie ${id ?? '(without a cookie)'} from ${places}${forget}: what only it has is lost`,
      '--force',
    );
  }
  const wipe = (): Promise<number> => whileStopped(folder, 'stop it first', () => wipeFolder(folder));
  if (options.deletecookie !== true || id === undefined) {
    const filesRemoved = await wipe();
    printResult(options, { filesRemoved }, () => `${filesRemoved} files are removed from ${places}`);
    return;
  }
  await inCluster(options, async (session) => {
    // First: it is refused while the bookie runs or ledgers name it, and then its data stays.
    await deleteChecked(session, typedBookieId(id));
    const filesRemoved = await wipe();
    printResult(
      options,
      { filesRemoved, cookieDeleted: id },
      () => `${filesRemoved} files are removed from ${places}; bookie ${id} is known no more`,
    );
  });
}

/** Also folders that lost their cookie, when it is said whose they are. */
async function folderToFormat(options: FormatOptions): Promise<StoppedBookie> {
  try {
    return await bookieFolder(options);
  } catch (error) {
    if (!bookieShellErrors.NO_FOLDER.is(error) || options.bookieid === undefined) throw error;
    const { journalDirectories, ledgerDirectories } = usualDirectories(options);
    return { disk: new RealDisk(), journalDirectories, ledgerDirectories };
  }
}

/** As said, or where a bookie makes them by itself. */
function usualDirectories({ data, journal, ledgers }: FolderOptions): { journalDirectories: string[]; ledgerDirectories: string[] } {
  const below = (name: string): string[] => (data === undefined ? [] : [`${resolve(data)}/${name}`]);
  return {
    journalDirectories: journal?.map((path) => resolve(path)) ?? below('journal'),
    ledgerDirectories: ledgers?.map((path) => resolve(path)) ?? below('ledgers'),
  };
}

export async function initBookie(options: InitOptions): Promise<void> {
  const id = typedBookieId(options.bookieid);
  const { journalDirectories, ledgerDirectories } = usualDirectories(options);
  const directories = [...new Set([...journalDirectories, ...ledgerDirectories])];
  if (directories.length === 0) throw cliErrors.USAGE('say where its data will be: --data FOLDER');
  await inCluster(options, async ({ store, records, parts }) => {
    await checkFirstUse({
      disk: new RealDisk(),
      directories,
      bookieId: id,
      cookies: createCookieRecords(store),
      ledgerNaming: async () => (await ledgersNaming({ records, logger: parts.logger }, new Set([id])))[0],
    });
    printResult(
      options,
      { bookieId: id, directories, isClean: true },
      () => `bookie ${id} may start for the first time in ${directories.join(', ')}`,
    );
  });
}
