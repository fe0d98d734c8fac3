import { decodeAppendBatch } from '@daybook/proto';
import { DaybookError, type Disk } from '@daybook/runtime';
import { JournalDirectory } from './journal-directory.js';
import { decodeFence, decodeFileHeader, type FileHeader, fileHeaderBytes, type JournalRecord, recordTypes } from './journal-format.js';
import type { JournalMark } from './journal-mark.js';
import { FileWindow, findCommitAfter, findRecordBetween, readRecord } from './journal-window.js';

/** Bytes of a journal file that cannot be read although something that was acknowledged was in them. */
export interface JournalDamage {
  path: string;
  offset: number;
  bytes: number;
  /** What is known of it: the readable records around it. */
  before: string | undefined;
  after: string | undefined;
}

/** A file of the journal, as far as replay needs it. */
export interface InspectedFile {
  fileId: number;
  path: string;
  isThere: boolean;
  /** Undefined when it cannot be read. */
  header: FileHeader | undefined;
  /** Where reading starts: behind the header, or at the mark. */
  start: number;
  /** Where its data ends. */
  end: number;
  recordsCount: number;
  damages: readonly JournalDamage[];
}

export interface JournalInspection {
  directory: string;
  mark: JournalMark | undefined;
  files: readonly InspectedFile[];
  /** In words: everything because of which a bookie would not start. Empty: nothing is to be repaired. */
  problems: readonly string[];
  /** Bytes that were acknowledged and cannot be read. Of files that are missing nobody knows. */
  lostBytes: number;
  recordsCount: number;
}

export interface InspectOptions {
  disk: Disk;
  directory: string;
  /** That of the last checkpoint for this journal; undefined when there is none. */
  mark: JournalMark | undefined;
  /** Look into this file alone; the others are only listed. */
  onlyFileId?: number;
  /** Called for every record that can be read, in order. */
  onRecord?(record: JournalRecord & { fileId: number; offset: number }): void | Promise<void>;
}

/**
 * Looks at a journal that a bookie refuses to replay, and changes nothing: what can be read of it, what cannot, and what a repair would therefore give up.
 * The rules are those of the replay, only that it goes on behind what is damaged.
 */
export async function inspectJournal(options: InspectOptions): Promise<JournalInspection> {
  const { disk, directory: path, mark } = options;
  const directory = new JournalDirectory(disk, path, 0);
  await directory.load();
  const first = mark ?? { fileId: 1, offset: fileHeaderBytes };
  const isNew = mark === undefined && directory.fileIds.length === 0;
  const ids = directory.fileIds.filter((id) => id >= first.fileId);
  if (!isNew && ids[0] !== first.fileId) ids.unshift(first.fileId);
  const files: InspectedFile[] = [];
  for (const [i, fileId] of ids.entries()) {
    if (options.onlyFileId !== undefined && options.onlyFileId !== fileId) continue;
    files.push(await inspectFile(options, directory, { fileId, nextId: ids[i + 1], first }));
  }
  const last = files.at(-1);
  // A last file that died at birth is none.
  if (last?.isThere && last.header === undefined && last.recordsCount === 0 && files.length > 1) files.pop();
  const damages = files.flatMap((file) => file.damages);
  return {
    directory: path,
    mark,
    files,
    problems: problemsOf(files, first.fileId),
    lostBytes: damages.reduce((sum, { bytes }) => sum + bytes, 0),
    recordsCount: files.reduce((sum, { recordsCount }) => sum + recordsCount, 0),
  };
}

function problemsOf(files: readonly InspectedFile[], firstId: number): string[] {
  const problems: string[] = [];
  for (const [i, { path, isThere, header, fileId, damages }] of files.entries()) {
    if (!isThere) problems.push(`${path} is missing: what was in it is lost`);
    else if (header === undefined || header.fileId !== fileId) problems.push(`${path} has no valid header`);
    else if (i > 0) {
      const before = files[i - 1] as InspectedFile;
      if (header.previousFileId !== before.fileId) problems.push(`the file before ${path} is missing: what was in it is lost`);
      else if (header.previousEnd !== before.end) problems.push(`${before.path} should end at ${header.previousEnd}, it ends at ${before.end}`);
    } else if (firstId === fileId && header.previousFileId !== 0 && fileId === 1) problems.push(`${path} is not the first file of its journal`);
    for (const { offset, bytes, before, after } of damages) {
      problems.push(`${path}: ${bytes} bytes at ${offset} cannot be read (after ${before ?? 'nothing'}, before ${after ?? 'nothing'})`);
    }
  }
  return problems;
}

interface Position {
  fileId: number;
  nextId: number | undefined;
  first: JournalMark;
}

async function inspectFile(options: InspectOptions, directory: JournalDirectory, { fileId, nextId, first }: Position): Promise<InspectedFile> {
  const { disk } = options;
  const path = directory.pathOf(fileId);
  const start = fileId === first.fileId ? first.offset : fileHeaderBytes;
  if ((await disk.fileBytes(path)) === undefined) {
    return { fileId, path, isThere: false, header: undefined, start, end: start, recordsCount: 0, damages: [] };
  }
  const limit = nextId === undefined ? undefined : await endSaidBy(disk, directory.pathOf(nextId), fileId);
  const file = await disk.open(path, { mode: 'read' });
  try {
    const window = new FileWindow(file, await file.bytes());
    const header = decodeFileHeader(Buffer.from(await window.at(0, fileHeaderBytes)), path);
    const found = await readThrough(options, window, { fileId, path, start, limit });
    return { fileId, path, isThere: true, header, start, ...found };
  } finally {
    await file.close();
  }
}

async function endSaidBy(disk: Disk, nextPath: string, fileId: number): Promise<number | undefined> {
  const file = await disk.open(nextPath, { mode: 'read' });
  try {
    const bytes = Buffer.alloc(fileHeaderBytes);
    await file.readAt(0, bytes);
    const header = decodeFileHeader(bytes, nextPath);
    return header?.previousFileId === fileId ? header.previousEnd : undefined;
  } finally {
    await file.close();
  }
}

async function readThrough(
  options: InspectOptions,
  window: FileWindow,
  from: { fileId: number; path: string; start: number; limit: number | undefined },
): Promise<Pick<InspectedFile, 'end' | 'recordsCount' | 'damages'>> {
  const { fileId, path, limit } = from;
  const damages: JournalDamage[] = [];
  let recordsCount = 0;
  let before: string | undefined;
  let offset = from.start;
  while (offset !== limit) {
    const record = await readRecord(window, fileId, offset);
    if (record !== undefined && record.end <= (limit ?? record.end)) {
      recordsCount++;
      before = describe(record);
      const open = damages.at(-1);
      if (open !== undefined) open.after ??= before;
      await options.onRecord?.({ ...record, fileId, offset });
      offset = record.end;
      continue;
    }
    // Only what lies before a later commit, or before the end that the next file names, was ever acknowledged.
    const bound = limit ?? (await findCommitAfter(window, fileId, offset));
    if (bound === undefined) break;
    const next = (await findRecordBetween(window, fileId, offset + 1, bound)) ?? bound;
    damages.push({ path, offset, bytes: next - offset, before, after: undefined });
    offset = next;
  }
  return { end: offset, recordsCount, damages };
}

function describe({ type, body }: JournalRecord): string {
  const fence = type === recordTypes.fence ? decodeFence(body) : undefined;
  if (fence !== undefined) return `the fence of ledger ${fence.ledgerId}`;
  if (type !== recordTypes.appendBatch) return `a record of type ${type}`;
  try {
    const batch = decodeAppendBatch(Buffer.from(body));
    return `entries ${batch.entryIdAt(0)} to ${batch.entryIdAt(batch.count - 1)} of ledger ${batch.ledgerId}`;
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return 'a batch that cannot be read';
  }
}
