import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { checkFirstUse, directoriesOf, readFolderCookie, wipeFolder } from '@daybook/bookie/shell';
import { deleteCookieOf, ledgersNaming } from '@daybook/ledger/repair';
import { createCookieRecords } from '@daybook/metadata';
import { type BookieId, decodeCookie } from '@daybook/proto';
import { RealDisk } from '@daybook/runtime/real';
import { cliErrors } from '../errors.js';
import type { PlainClusterOptions } from './cluster-actions.js';
import { type ClusterSession, inCluster } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { bookieFolder, type FolderOptions, inFolder } from './folder-access.js';
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
}

export interface InitOptions extends PlainClusterOptions, FolderOptions {
  bookieid: string;
}

export async function cookieGet(id: string | undefined, options: CookieOptions): Promise<void> {
  if (options.data !== undefined || options.ledgers !== undefined) {
    // Written once and never changed while a bookie runs.
    const found = await readFolderCookie(await bookieFolder(options));
    if (found === undefined) throw shellErrors.PROBLEMS(1, `there is no cookie in ${options.data ?? 'these folders'}`);
    return printCookie(options, found.bytes, { path: found.path });
  }
  if (id === undefined) throw cliErrors.USAGE('say which bookie: an id (its cookie in the metadata), or --data FOLDER (the one on its disks)');
  await inCluster(options, async ({ store }) => {
    const found = await createCookieRecords(store).read(typedBookieId(id));
    if (found === undefined) throw shellErrors.PROBLEMS(1, `the metadata has no cookie of bookie ${id}`);
    printCookie(options, found.bytes, { version: found.version });
  });
}

function printCookie(options: CookieOptions, bytes: Buffer, facts: object): void {
  printResult(options, { ...facts, ...decodeCookie(bytes) }, () => bytes.toString('utf8').trimEnd());
}

export async function cookieCreate(id: string, options: CookieOptions): Promise<void> {
  const bytes = await givenCookie(id, options);
  await inCluster(options, async ({ store }) => {
    await createCookieRecords(store).write(typedBookieId(id), bytes, 'absent');
    printCookie(options, bytes, {});
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
    printCookie(options, bytes, {});
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
  printCookie(options, found.bytes, { path: found.path });
}

export async function formatBookie(options: FormatOptions): Promise<void> {
  const folder = await bookieFolder(options);
  const cookie = (await readFolderCookie(folder))?.cookie;
  const places = directoriesOf(folder).join(', ');
  if (options.force !== true) {
    throw shellErrors.NOT_CONFIRMED(
      `remove every file of bookie ${cookie?.bookieId ?? '(without a cookie)'} from ${places}: what only it has is lost`,
      '--force',
    );
  }
  const wipe = async (): Promise<number> => inFolder(options, 'stop it first', wipeFolder);
  if (options.deletecookie !== true || cookie === undefined) {
    const filesRemoved = await wipe();
    printResult(options, { filesRemoved }, () => `${filesRemoved} files are removed from ${places}`);
    return;
  }
  await inCluster(options, async (session) => {
    // First: it is refused while the bookie runs or ledgers name it, and then its data stays.
    await deleteChecked(session, typedBookieId(cookie.bookieId));
    const filesRemoved = await wipe();
    printResult(
      options,
      { filesRemoved, cookieDeleted: cookie.bookieId },
      () => `${filesRemoved} files are removed from ${places}; bookie ${cookie.bookieId} is known no more`,
    );
  });
}

export async function initBookie(options: InitOptions): Promise<void> {
  const id = typedBookieId(options.bookieid);
  const root = options.data === undefined ? undefined : resolve(options.data);
  const directories = [
    ...(options.journal?.map((path) => resolve(path)) ?? (root === undefined ? [] : [`${root}/journal`])),
    ...(options.ledgers?.map((path) => resolve(path)) ?? (root === undefined ? [] : [`${root}/ledgers`])),
  ];
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
