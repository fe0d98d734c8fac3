import { bookieId as parseBookieId } from '@daybook/proto';
import type { Disk, DiskLock, Logger } from '@daybook/runtime';
import type { BookieOptions } from './bookie-api.js';
import { checkIdentity, type Identity } from './cookie.js';
import { bookieErrors } from './errors.js';
import type { JournalDirectory } from './journal/journal-directory.js';
import { fileHeaderBytes } from './journal/journal-format.js';
import type { JournalMark } from './journal/journal-mark.js';
import { replayJournal } from './journal/replay.js';
import type { Lacs } from './lacs.js';
import { replayInto } from './replay-into.js';
import { LedgerDirectories } from './storage/ledger-directories.js';
import type { LedgerStorage } from './storage/ledger-storage.js';

/** What a start finds out before anything is read. */
export interface OpenedDirectories {
  ledgers: LedgerDirectories;
  identity: Identity;
  locks: readonly DiskLock[];
}

/** Locks all directories and proves that they are this bookie's. A ledger directory that cannot be read (not one that is empty) is taken out. */
export async function openDirectories(options: BookieOptions, logger: Logger): Promise<OpenedDirectories> {
  const { disk, config } = options;
  const ledgers = new LedgerDirectories(disk, config.ledgerDirectories, ({ path, error }) => {
    logger.error({ directory: path, error }, 'a ledger directory fails and is taken out: what lies there may not be readable. Replace the disk');
  });
  const locks: DiskLock[] = [];
  try {
    for (const directory of new Set([...config.journalDirectories, ...config.ledgerDirectories]))
      await lockDirectory(disk, directory, ledgers, locks);
    return { ledgers, locks, identity: await identify(options, ledgers) };
  } catch (error) {
    for (const lock of locks) await lock.release();
    throw error;
  }
}

async function lockDirectory(disk: Disk, directory: string, ledgers: LedgerDirectories, locks: DiskLock[]): Promise<void> {
  try {
    await disk.makeDirectory(directory);
    locks.push(await disk.lock(`${directory}/lock`));
  } catch (error) {
    if (!ledgers.takeOut(directory, error)) throw error;
  }
}

async function identify({ config, disk, random, metadata, dataDirectory }: BookieOptions, ledgers: LedgerDirectories): Promise<Identity> {
  return checkIdentity({
    disk,
    random,
    journalDirectories: config.journalDirectories,
    ledgers,
    bookieId: config.bookieId === undefined ? undefined : parseBookieId(config.bookieId),
    instanceId: await metadata?.instanceId(),
    records: metadata?.cookies,
    allowStorageExpansion: config.allowStorageExpansion,
    dataIntegrityChecking: config.dataIntegrityChecking,
    dataDirectory,
  });
}

export interface ReplayedJournals {
  /** Where each ends. */
  ends: readonly (JournalMark | undefined)[];
  records: number;
  bytes: number;
  /** False when the disk was too full: then some of it is in the write cache. */
  isFlushed: boolean;
}

/** Replays all journals from the marks of the last checkpoint, and flushes everything (rule R18). */
export async function replayJournals(
  disk: Disk,
  storage: LedgerStorage,
  directories: readonly JournalDirectory[],
  lacs: Lacs,
): Promise<ReplayedJournals> {
  const marks = storage.lastCheckpoint?.marks;
  if (marks !== undefined && marks.length !== directories.length) {
    const why = `it has marks for ${marks.length} journals, there are ${directories.length} journalDirectories`;
    throw bookieErrors.CHECKPOINT_CORRUPT('lastMark', why);
  }
  const replay = replayInto(storage, marks ?? directories.map(() => ({ fileId: 1, offset: fileHeaderBytes })), lacs);
  const ends: (JournalMark | undefined)[] = [];
  for (const [i, directory] of directories.entries()) {
    await directory.load();
    ends.push(await replayJournal({ disk, directory, mark: marks?.[i], onRecord: replay.onRecord }));
  }
  const isFlushed = await replay.finish();
  return { ends, records: replay.records, bytes: replay.bytes, isFlushed };
}
