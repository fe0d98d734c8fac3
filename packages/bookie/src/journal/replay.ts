import type { Disk } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { syncOrFail } from '../storage/sync-or-fail.js';
import type { JournalDirectory } from './journal-directory.js';
import { decodeFileHeader, type FileHeader, fileHeaderBytes, journalFileName } from './journal-format.js';
import type { JournalMark } from './journal-mark.js';
import { FileWindow, findCommitAfter, readRecord } from './journal-window.js';

export interface ReplayedRecord {
  type: number;
  /** Valid only until the returned promise is done: copy what stays. */
  body: Buffer;
  path: string;
  offset: number;
}

export interface ReplayOptions {
  disk: Disk;
  directory: JournalDirectory;
  /** Where to begin; undefined when no checkpoint was ever published: then everything is replayed, from the very first file. */
  mark: JournalMark | undefined;
  onRecord(record: ReplayedRecord): Promise<void> | void;
}

/**
 * Hands over every record from the mark on, in order, and resolves to where the journal ends. What was acknowledged is there, or it throws:
 *
 * - a record that cannot be read ends its file, unless a commit begun later is intact: commits are written one after another, so the unreadable one
 *   was durable once, and is damaged now (`BOOKIE_JOURNAL_CORRUPT`);
 * - each file says where the data of the one before it ended: a shorter one is damaged as well, and what lies behind in a longer one is the rest of a
 *   write that failed on a full disk;
 * - a file that the mark or its successor names must be there (`BOOKIE_JOURNAL_MISSING`).
 */
export async function replayJournal(options: ReplayOptions): Promise<JournalMark | undefined> {
  const fileIds = filesToReplay(options);
  let end = options.mark;
  for (const [i, fileId] of fileIds.entries()) {
    const replayed = await replayFile(options, { fileId, nextId: fileIds[i + 1] }, end);
    // The last file may have died at birth, before its header was durable: then nothing was ever put into it.
    if (replayed === undefined) await options.directory.removeFile(fileId);
    else end = replayed;
  }
  if (end !== undefined && fileIds.includes(end.fileId)) await makeDurable(options, end.fileId);
  return end;
}

/**
 * The process before may have been killed in the middle of a write: then what was read just now may be in the system's memory only. The next file will say
 * that it is there, so it has to be, even if the power fails next.
 */
async function makeDurable({ disk, directory }: ReplayOptions, fileId: number): Promise<void> {
  const file = await disk.open(directory.pathOf(fileId), { mode: 'write' });
  try {
    await syncOrFail(() => file.sync());
  } finally {
    await file.close();
  }
}

function filesToReplay({ directory, mark }: ReplayOptions): number[] {
  if (mark === undefined) {
    const first = directory.fileIds[0];
    if (first !== undefined && first !== 1) throw missing(directory, 1, 'there is no checkpoint, and this is the first file of any journal');
    return [...directory.fileIds];
  }
  if (!directory.fileIds.includes(mark.fileId)) throw missing(directory, mark.fileId, 'the last checkpoint names it');
  return directory.fileIds.filter((id) => id >= mark.fileId);
}

function missing(directory: JournalDirectory, fileId: number, why: string) {
  return bookieErrors.JOURNAL_MISSING(directory.path, journalFileName(fileId), why);
}

/** Where the file's data ends; undefined for a last file without a header. `before` is where the replay stands. */
async function replayFile(
  options: ReplayOptions,
  { fileId, nextId }: { fileId: number; nextId: number | undefined },
  before: JournalMark | undefined,
): Promise<JournalMark | undefined> {
  const path = options.directory.pathOf(fileId);
  const file = await options.disk.open(path, { mode: 'read' });
  try {
    const window = new FileWindow(file, await file.bytes());
    const header = decodeFileHeader(await window.at(0, fileHeaderBytes), path);
    if (header === undefined || header.fileId !== fileId) {
      const isUnborn = nextId === undefined && fileId !== options.mark?.fileId && (await findCommitAfter(window, fileId, 0)) === undefined;
      if (isUnborn) return undefined;
      throw bookieErrors.JOURNAL_CORRUPT(path, 0, header === undefined ? 'no valid header' : `its header is that of file ${header.fileId}`);
    }
    const isMarked = fileId === options.mark?.fileId;
    if (!isMarked) checkChain(options.directory, header, before);
    const start = isMarked ? (options.mark as JournalMark).offset : fileHeaderBytes;
    const limit = nextId === undefined ? undefined : await endNamedBy(options, nextId, fileId);
    return { fileId, offset: await scan(options, window, { fileId, path, start, limit }) };
  } finally {
    await file.close();
  }
}

/** Where the data of `fileId` ends according to the file after it; undefined when that one does not say (it died at birth, or another one is missing). */
async function endNamedBy({ disk, directory }: ReplayOptions, nextId: number, fileId: number): Promise<number | undefined> {
  const path = directory.pathOf(nextId);
  const file = await disk.open(path, { mode: 'read' });
  try {
    const bytes = Buffer.alloc(fileHeaderBytes);
    const header = (await file.readAt(0, bytes)) === bytes.length ? decodeFileHeader(bytes, path) : undefined;
    return header?.fileId === nextId && header.previousFileId === fileId ? header.previousEnd : undefined;
  } finally {
    await file.close();
  }
}

function checkChain(directory: JournalDirectory, header: FileHeader, before: JournalMark | undefined): void {
  const beforeId = before?.fileId ?? 0;
  if (header.previousFileId !== beforeId) {
    throw missing(directory, header.previousFileId, `${journalFileName(header.fileId)} continues it`);
  }
  if (before !== undefined && before.offset !== header.previousEnd) {
    throw bookieErrors.JOURNAL_CORRUPT(directory.pathOf(beforeId), before.offset, `its data should end at ${header.previousEnd}`);
  }
}

interface Scan {
  fileId: number;
  path: string;
  start: number;
  /** Where the data ends, if that is known. */
  limit: number | undefined;
}

async function scan(options: ReplayOptions, window: FileWindow, from: Scan): Promise<number> {
  const { fileId, path } = from;
  if (from.start > window.fileBytes) throw bookieErrors.JOURNAL_CORRUPT(path, window.fileBytes, `the checkpoint names offset ${from.start}`);
  let offset = from.start;
  while (offset !== from.limit) {
    const record = await readRecord(window, fileId, offset);
    if (record === undefined || record.end > (from.limit ?? record.end)) break;
    await options.onRecord({ type: record.type, body: record.body, path, offset });
    offset = record.end;
  }
  if (offset === from.limit) return offset;
  const later = await findCommitAfter(window, fileId, offset);
  if (later !== undefined) throw bookieErrors.JOURNAL_CORRUPT(path, offset, `an intact record follows at ${later}`);
  return offset;
}
