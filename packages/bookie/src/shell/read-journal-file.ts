import { decodeAppendBatch } from '@daybook/proto';
import { DaybookError, type Disk, type DiskFile } from '@daybook/runtime';
import {
  decodeFence,
  decodeFileHeader,
  decodeLacRecord,
  type FileHeader,
  fileHeaderBytes,
  type JournalRecord,
  journalFileId,
  journalFileName,
  recordTypes,
} from '../journal/journal-format.js';
import { FileWindow, findCommitAfter, readRecord } from '../journal/journal-window.js';
import { bookieShellErrors } from './errors.js';

export interface JournalFileRecord {
  offset: number;
  bytes: number;
  type: 'entries' | 'fence' | 'explicit-lac' | 'unknown';
  ledgerId?: number;
  firstEntryId?: number;
  lastEntryId?: number;
  entriesCount?: number;
  isRecovery?: boolean;
}

export interface JournalFileSummary {
  path: string;
  /** Undefined when it cannot be read. */
  header: FileHeader | undefined;
  recordsCount: number;
  /** Where its records end. */
  end: number;
  /** Places that cannot be read although something intact follows. */
  damages: readonly { offset: number; nextOffset: number }[];
}

/** Hands over the records of one journal file, in order; goes on behind what is damaged. Changes nothing. */
export async function readJournalFile(
  disk: Disk,
  path: string,
  onRecord: (record: JournalFileRecord) => void | Promise<void>,
): Promise<JournalFileSummary> {
  const file = await disk.open(path, { mode: 'read' });
  try {
    let window = new FileWindow(file, await file.bytes());
    const header = decodeFileHeader(Buffer.from(await window.at(0, fileHeaderBytes)), path);
    const fileId = header?.fileId ?? journalFileId(path.slice(path.lastIndexOf('/') + 1)) ?? 0;
    const damages: { offset: number; nextOffset: number }[] = [];
    let recordsCount = 0;
    let offset = fileHeaderBytes;
    for (;;) {
      let record = await readRecord(window, fileId, offset);
      const nextOffset = record === undefined ? await findCommitAfter(window, fileId, offset) : undefined;
      if (nextOffset !== undefined) {
        // Of a running bookie it may just have been written: looked at once more, past what was read before.
        window = new FileWindow(file, await file.bytes());
        record = await readRecord(window, fileId, offset);
      }
      if (record === undefined) {
        if (nextOffset === undefined) break;
        damages.push({ offset, nextOffset });
        offset = nextOffset;
        continue;
      }
      recordsCount++;
      await onRecord({ offset, bytes: record.end - offset, ...factsOf(record) });
      offset = record.end;
    }
    await requireSame(file, path, header);
    return { path, header, recordsCount, end: offset, damages };
  } finally {
    await file.close();
  }
}

/** A running bookie writes over files that it does not need any more, under other names. */
async function requireSame(file: DiskFile, path: string, header: FileHeader | undefined): Promise<void> {
  const bytes = Buffer.alloc(fileHeaderBytes);
  await file.readAt(0, bytes);
  if (header !== undefined && decodeFileHeader(bytes, path)?.fileId !== header.fileId) throw bookieShellErrors.CHANGED(path);
}

/** What a record says, for people and for counting. */
export function factsOf({ type, body }: Pick<JournalRecord, 'type' | 'body'>): Omit<JournalFileRecord, 'offset' | 'bytes'> {
  switch (type) {
    case recordTypes.fence: {
      const fence = decodeFence(body);
      return fence === undefined ? { type: 'unknown' } : { type: 'fence', ledgerId: fence.ledgerId };
    }
    case recordTypes.explicitLac: {
      const lac = decodeLacRecord(body);
      return lac === undefined ? { type: 'unknown' } : { type: 'explicit-lac', ledgerId: lac.ledgerId };
    }
    case recordTypes.appendBatch:
      return batchFacts(body);
    default:
      return { type: 'unknown' };
  }
}

function batchFacts(body: Buffer): Omit<JournalFileRecord, 'offset' | 'bytes'> {
  try {
    const batch = decodeAppendBatch(Buffer.from(body));
    const { ledgerId, count, isRecovery } = batch;
    const firstEntryId = batch.entryIdAt(0);
    return { type: 'entries', ledgerId, entriesCount: count, firstEntryId, lastEntryId: batch.entryIdAt(count - 1), isRecovery };
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return { type: 'unknown' };
  }
}

/** A journal file by its id (hexadecimal, as in its name) or name, in the only journal or one of several. */
export async function findJournalFile(disk: Disk, journalDirectories: readonly string[], wanted: string): Promise<string> {
  const name = /^[0-9a-f]{1,16}$/i.test(wanted) ? journalFileName(Number.parseInt(wanted, 16)) : wanted.slice(wanted.lastIndexOf('/') + 1);
  const known: string[] = [];
  for (const directory of journalDirectories) {
    const names = (await disk.list(directory)).filter((candidate) => journalFileId(candidate) !== undefined);
    if (names.includes(name) && (!wanted.includes('/') || wanted === `${directory}/${name}`)) return `${directory}/${name}`;
    known.push(...names.map((each) => `${directory}/${each}`));
  }
  throw bookieShellErrors.NO_FILE(`journal file ${wanted}`, known.join(', ') || 'none');
}
