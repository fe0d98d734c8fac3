import { type BookieId, type Cookie, decodeCookie, encodeCookie } from '@daybook/proto';
import { type Disk, type Random, uuid } from '@daybook/runtime';
import { bookieErrors } from './errors.js';
import { markerNames, setMarker } from './marker-files.js';
import type { LedgerDirectories } from './storage/ledger-directories.js';
import { readWholeFile, replaceFile } from './storage/replace-file.js';

const cookieFileName = 'VERSION';
const incarnationFileName = 'INCARNATION';

/** The store's side of cookies; none when the bookie runs without a metadata store. */
export interface CookieRecords {
  read(bookieId: BookieId): Promise<{ bytes: Buffer; version: number } | undefined>;
  /** Rejects when the record changed meanwhile. */
  write(bookieId: BookieId, bytes: Buffer, expected: number | 'absent'): Promise<void>;
}

export interface IdentityOptions {
  disk: Disk;
  random: Random;
  journalDirectories: readonly string[];
  ledgers: LedgerDirectories;
  /** The configured id; without one, that of the cookie, or a new one. */
  bookieId: BookieId | undefined;
  /** The cluster's id, from metadata. */
  instanceId: string | undefined;
  records: CookieRecords | undefined;
  allowStorageExpansion: boolean;
  /** An operator says that the data is lost and the bookie may start without it, in limbo. */
  dataIntegrityChecking: boolean;
  /** Directories below it are written down relative to it, so that the whole folder may move. */
  dataDirectory: string | undefined;
}

export interface Identity {
  bookieId: BookieId;
  /** New whenever the directories are formatted. */
  incarnation: string;
  /** False when this start made the directories. */
  isKnown: boolean;
  /** The cluster's id, as it was in metadata at this start and is in the cookie; undefined without a metadata store. */
  instanceId: string | undefined;
}

interface DirectoryCookie {
  path: string;
  cookie: Cookie | undefined;
  incarnation: string | undefined;
  isEmpty: boolean;
  isJournal: boolean;
}

/**
 * Proves that these are the disks of this bookie, all of them, and of this cluster; stamps new ones. Anything else is refused with the way out
 * (`BOOKIE_COOKIE_REFUSED`): a bookie with an empty disk must not answer under its old identity (rule R15).
 */
export async function checkIdentity(options: IdentityOptions): Promise<Identity> {
  const directories = await readDirectories(options);
  const stamped = directories.filter((directory) => directory.cookie !== undefined);
  const known = oldestCookie(stamped);
  const bookieId = options.bookieId ?? (known?.bookieId as BookieId | undefined) ?? (uuid(options.random) as BookieId);
  const record = await options.records?.read(bookieId);
  const cookie = cookieOf(options, bookieId, known);
  const [failed] = options.ledgers.failed;
  if (known === undefined) {
    if (failed !== undefined) throw failed.error;
    const used = directories.find((directory) => !directory.isEmpty);
    if (record !== undefined && options.dataIntegrityChecking && used === undefined) return stampWiped(options, directories, cookie, record.bytes);
    if (record !== undefined) throw refusedWiped(bookieId);
    if (used !== undefined) throw refusedForeign(used.path);
    return stampNew(options, directories, cookie);
  }
  const first = stamped.find((directory) => directory.cookie === known) as DirectoryCookie;
  for (const directory of stamped) checkSame(options, directory, first, cookie);
  const isUnused = failed === undefined && directories.every((directory) => directory.isEmpty);
  const missing = directories.filter((directory) => directory.cookie === undefined);
  // A first start that died while stamping, before anything else was written, is finished.
  if (isUnused && record === undefined && missing.length > 0) return stampNew(options, directories, cookie);
  if (isUnused && record !== undefined && missing.length > 0 && options.dataIntegrityChecking)
    return stampWiped(options, directories, cookie, record.bytes);
  for (const directory of missing) checkMayStamp(options, directory, known);
  checkFields(known, cookie, options.allowStorageExpansion);
  await checkRecord(options, { bookieId, record, known, now: cookie, isUnused });
  const incarnation = first.incarnation as string;
  const outdated = directories.filter((directory) => directory.cookie === undefined || !sameCookie(directory.cookie, cookie));
  if (outdated.length > 0 && failed !== undefined) throw failed.error;
  // The new ones first: what still has the old cookie tells a start that finds this half done what was there before.
  for (const { path } of [...missing, ...outdated]) await stamp(options.disk, path, cookie, incarnation);
  if (record !== undefined && !record.bytes.equals(encodeCookie(cookie)))
    await options.records?.write(bookieId, encodeCookie(cookie), record.version);
  return { bookieId, incarnation, isKnown: true, instanceId: options.instanceId };
}

/** While directories are added, some have the cookie that names the new ones already. */
function oldestCookie(stamped: readonly DirectoryCookie[]): Cookie | undefined {
  let oldest: Cookie | undefined;
  for (const { cookie } of stamped) {
    if (oldest === undefined || (cookie as Cookie).ledgerDirectories.length < oldest.ledgerDirectories.length) oldest = cookie;
  }
  return oldest;
}

/** True when `now` is `before` with more ledger directories. */
function isExpansionOf(now: Cookie, before: Cookie): boolean {
  return (
    sameCookie({ ...before, ledgerDirectories: now.ledgerDirectories }, now) &&
    before.ledgerDirectories.every((path) => now.ledgerDirectories.includes(path))
  );
}

function cookieOf(options: IdentityOptions, bookieId: BookieId, known: Cookie | undefined): Cookie {
  return {
    bookieId,
    journalDirectories: options.journalDirectories.map((path) => nameOf(options, path)),
    ledgerDirectories: options.ledgers.all.map((path) => nameOf(options, path)),
    // Without a metadata store to ask, the cluster stays the one that is written down.
    instanceId: options.instanceId ?? known?.instanceId,
    indexDirectories: undefined,
  };
}

function nameOf({ dataDirectory }: IdentityOptions, path: string): string {
  return dataDirectory !== undefined && path.startsWith(`${dataDirectory}/`) ? path.slice(dataDirectory.length + 1) : path;
}

/** Leaves out ledger directories that fail and cannot be read: nobody knows what they say about themselves, but they are not empty either. */
async function readDirectories(options: IdentityOptions): Promise<DirectoryCookie[]> {
  const { journalDirectories, ledgers } = options;
  const out: DirectoryCookie[] = [];
  for (const path of new Set([...journalDirectories, ...ledgers.all])) {
    try {
      const found = await readDirectory(options, path);
      if (found.cookie !== undefined || !ledgers.hasFailed(path)) out.push(found);
    } catch (error) {
      if (!ledgers.takeOut(path, error)) throw error;
    }
  }
  return out;
}

async function readDirectory({ disk, journalDirectories }: IdentityOptions, path: string): Promise<DirectoryCookie> {
  const bytes = await readWholeFile(disk, `${path}/${cookieFileName}`);
  const incarnation = await readWholeFile(disk, `${path}/${incarnationFileName}`);
  const names = (await disk.list(path)).filter((name) => !isOwnName(name));
  let cookie: Cookie | undefined;
  try {
    cookie = bytes === undefined ? undefined : decodeCookie(bytes);
  } catch (error) {
    throw bookieErrors.COOKIE_REFUSED(
      `${path}/${cookieFileName} cannot be read`,
      'Copy it from another directory of this bookie (all have the same one: `daybook shell cookie_get`)',
      {
        cause: error,
      },
    );
  }
  // The cookie is written last: one without an incarnation was not written by this program.
  if (cookie !== undefined && incarnation === undefined) throw refusedForeign(path);
  const text = cookie === undefined ? undefined : incarnation?.toString('utf8').trim();
  return { path, cookie, incarnation: text, isEmpty: names.length === 0, isJournal: journalDirectories.includes(path) };
}

function isOwnName(name: string): boolean {
  return name.startsWith(cookieFileName) || name.startsWith(incarnationFileName) || name.startsWith(markerNames.limbo) || name === 'lock';
}

async function stampNew(options: IdentityOptions, directories: readonly DirectoryCookie[], cookie: Cookie): Promise<Identity> {
  const incarnation = directories.find((directory) => directory.incarnation !== undefined)?.incarnation ?? uuid(options.random);
  for (const { path } of directories) await stamp(options.disk, path, cookie, incarnation);
  const bookieId = cookie.bookieId as BookieId;
  await options.records?.write(bookieId, encodeCookie(cookie), 'absent');
  return { bookieId, incarnation, isKnown: false, instanceId: options.instanceId };
}

/**
 * All its disks are new, and an operator knows it. First the marker that keeps it from saying "not here" of what it once had (rule R15), durably, then the
 * cookies: a start that dies in between is refused without the approval, as before.
 */
async function stampWiped(options: IdentityOptions, directories: readonly DirectoryCookie[], cookie: Cookie, recorded: Buffer): Promise<Identity> {
  if (!sameCookie(decodeCookie(recorded), cookie)) {
    throw bookieErrors.COOKIE_REFUSED(
      `the metadata store has another cookie of bookie ${cookie.bookieId}:\n${recorded.toString('utf8')}`,
      'Start it with the same journalDirectories and ledgerDirectories as before, on new disks',
    );
  }
  const text = 'its disks were new at a start with dataIntegrityChecking: what it once had is lost\n';
  await setMarker(options.disk, options.ledgers.all, markerNames.limbo, text);
  const incarnation = directories.find((directory) => directory.incarnation !== undefined)?.incarnation ?? uuid(options.random);
  for (const { path } of directories) await stamp(options.disk, path, cookie, incarnation);
  return { bookieId: cookie.bookieId as BookieId, incarnation, isKnown: false, instanceId: options.instanceId };
}

/**
 * The same disks, but not all that was on them: to those who wrote to this bookie it is another one from now on, and they ask the metadata before they go on (P6).
 * May be repeated when it was interrupted.
 */
export async function renewIncarnation(disk: Disk, directories: readonly string[]): Promise<void> {
  const known: { name: string; count: number }[] = [];
  for (const path of directories) {
    const bytes = await readWholeFile(disk, `${path}/${incarnationFileName}`);
    const [, name, count] = /^(.*?)(?:~(\d+))?$/.exec(bytes?.toString('utf8').trim() ?? '') ?? [];
    if (name !== undefined && name !== '') known.push({ name, count: Number(count ?? 0) });
  }
  const newest = known.sort((a, b) => a.count - b.count).at(-1);
  if (newest === undefined) return;
  const next = Buffer.from(`${newest.name}~${newest.count + 1}\n`);
  for (const path of directories) await replaceFile(disk, path, incarnationFileName, next);
}

async function stamp(disk: Disk, path: string, cookie: Cookie, incarnation: string): Promise<void> {
  await replaceFile(disk, path, incarnationFileName, Buffer.from(`${incarnation}\n`));
  await replaceFile(disk, path, cookieFileName, encodeCookie(cookie));
}

function checkSame(options: IdentityOptions, directory: DirectoryCookie, first: DirectoryCookie, now: Cookie): void {
  const cookie = directory.cookie as Cookie;
  // Adding directories was interrupted.
  const isHalfDone = options.allowStorageExpansion && sameCookie(cookie, now) && isExpansionOf(now, first.cookie as Cookie);
  if ((sameCookie(cookie, first.cookie as Cookie) || isHalfDone) && directory.incarnation === first.incarnation) return;
  throw bookieErrors.COOKIE_REFUSED(
    `${directory.path} and ${first.path} do not belong to the same bookie`,
    'Mount the disks of one bookie, or correct journalDirectories and ledgerDirectories: `daybook shell cookie_get` shows whose they are. ' +
      'If it died while ledger directories were added, start it with allowStorageExpansion=true again',
  );
}

function checkMayStamp(options: IdentityOptions, directory: DirectoryCookie, known: Cookie): void {
  const wasKnown = [...known.journalDirectories, ...known.ledgerDirectories].includes(nameOf(options, directory.path));
  if (!wasKnown && !directory.isJournal && directory.isEmpty && options.allowStorageExpansion) return;
  if (wasKnown || directory.isJournal) {
    throw bookieErrors.COOKIE_REFUSED(
      `${directory.path} has no cookie: its disk is not mounted, or was wiped`,
      `Mount the right disk. If its data is lost, ${wayOutOfLoss}`,
    );
  }
  throw bookieErrors.COOKIE_REFUSED(
    `${directory.path} is new to this bookie`,
    'To add it, empty it and start once with allowStorageExpansion=true (`DAYBOOK_ALLOW_STORAGE_EXPANSION=true daybook bookie`); otherwise take it out of ledgerDirectories',
  );
}

function checkFields(known: Cookie, now: Cookie, mayExpand: boolean): void {
  const refuse = (why: string, wayOut: string) => bookieErrors.COOKIE_REFUSED(why, wayOut);
  if (known.bookieId !== now.bookieId) {
    throw refuse(
      `these disks belong to bookie ${known.bookieId}, not ${now.bookieId}`,
      `Start it with \`daybook bookie --bookie-id ${known.bookieId}\`, or mount the right disks`,
    );
  }
  if (known.instanceId !== now.instanceId) {
    const why = `these disks belong to cluster ${known.instanceId ?? '(none)'}, the metadata is that of ${now.instanceId ?? '(none)'}`;
    throw refuse(why, 'Correct the metadata address (`daybook shell whatisinstanceid` says which cluster it leads to), or mount the right disks');
  }
  if (!sameList(known.journalDirectories, now.journalDirectories)) {
    throw refuse(
      `its journal was in ${known.journalDirectories.join(', ')}`,
      'Set journalDirectories to that (`daybook shell cookie_get` shows all its directories)',
    );
  }
  const lost = known.ledgerDirectories.filter((path) => !now.ledgerDirectories.includes(path));
  if (lost.length > 0)
    throw refuse(
      `${lost.join(', ')} is not in ledgerDirectories any more`,
      'Add it to ledgerDirectories again: it holds entries (`daybook shell cookie_get` shows all its directories)',
    );
  const isLonger = now.ledgerDirectories.length > known.ledgerDirectories.length;
  if (isLonger && !mayExpand)
    throw refuse(
      'there are new ledger directories',
      'To add them, start once with allowStorageExpansion=true (`DAYBOOK_ALLOW_STORAGE_EXPANSION=true daybook bookie`)',
    );
}

async function checkRecord(
  options: IdentityOptions,
  found: { bookieId: BookieId; record: { bytes: Buffer; version: number } | undefined; known: Cookie; now: Cookie; isUnused: boolean },
): Promise<void> {
  const { bookieId, record, known, now, isUnused } = found;
  if (options.records === undefined) return;
  if (record === undefined) {
    // Died between stamping the directories and the store: nothing was served yet.
    if (isUnused) return options.records.write(bookieId, encodeCookie(known), 'absent');
    throw bookieErrors.COOKIE_REFUSED(
      `the metadata store has no cookie of bookie ${bookieId}, but its disks do`,
      'Check the metadata address. If the cookie was deleted on purpose, wipe the directories with `daybook shell bookieformat` and start it as a new bookie',
    );
  }
  const recorded = decodeCookie(record.bytes);
  if (sameCookie(recorded, known)) return;
  // Adding directories was interrupted between the last of them and the store.
  if (options.allowStorageExpansion && sameCookie(known, now) && isExpansionOf(now, recorded)) return;
  throw bookieErrors.COOKIE_REFUSED(
    `the metadata store has another cookie of bookie ${bookieId}:\n${record.bytes.toString('utf8')}`,
    'Another bookie uses this id, or directories were moved: give this one another bookieId, or put the directories back. ' +
      '`daybook shell cookie_get` shows both cookies',
  );
}

const wayOutOfLoss =
  'have its ledgers copied again from their other replicas (`daybook shell recover`), then forget it with `daybook shell bookieformat --deletecookie` ' +
  'and start it as a new bookie';

function refusedWiped(bookieId: BookieId) {
  return bookieErrors.COOKIE_REFUSED(
    `bookie ${bookieId} is known to the metadata store, but its directories are empty`,
    `Mount its disks. If they are lost, ${wayOutOfLoss}`,
  );
}

function refusedForeign(path: string) {
  return bookieErrors.COOKIE_REFUSED(
    `${path} holds files, but no cookie of a Daybook bookie`,
    'Name an empty directory, or the right one; `daybook shell initbookie` says whether it can be used',
  );
}

function sameCookie(a: Cookie, b: Cookie): boolean {
  return encodeCookie(a).equals(encodeCookie(b));
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
