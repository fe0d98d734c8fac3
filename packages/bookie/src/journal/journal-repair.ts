import type { Disk } from '@daybook/runtime';
import { syncOrFail } from '../storage/sync-or-fail.js';
import {
  commitAlignmentBytes,
  encodeFileHeader,
  encodeRecord,
  fileHeaderBytes,
  journalFileName,
  type RecordType,
  recordBytesFor,
} from './journal-format.js';
import { type InspectedFile, type InspectOptions, inspectJournal, type JournalInspection } from './journal-inspection.js';

const repairedSuffix = '.repaired';
const damagedSuffix = '.damaged';

/**
 * Makes a journal replayable again by giving up what cannot be read, as {@link inspectJournal} shows it: every file is written anew beside the old one, synced,
 * and only then put in its place; damaged ones are kept as `*.damaged`. May be interrupted at any point and run again. The bookie must not run,
 * and must be in limbo before: see `repairJournals`.
 */
export async function repairJournal(options: Omit<InspectOptions, 'onRecord'>): Promise<JournalInspection> {
  const { disk, directory } = options;
  const inspection = await inspectJournal(options);
  if (inspection.problems.length === 0) return inspection;
  let previous: { fileId: number; end: number } | undefined;
  for (const file of inspection.files) previous = { fileId: file.fileId, end: await renew(options, file, previous) };
  await syncOrFail(() => disk.syncDirectory(directory));
  for (const { fileId, path, isThere, header, damages } of inspection.files) {
    if (isThere && (damages.length > 0 || header === undefined)) await keepCopy(disk, path, await freeName(disk, `${path}${damagedSuffix}`));
    // In one step: a journal that just lacks its last file would look whole.
    await disk.rename(`${directory}/${journalFileName(fileId)}${repairedSuffix}`, path);
    await syncOrFail(() => disk.syncDirectory(directory));
  }
  return inspection;
}

async function keepCopy(disk: Disk, from: string, to: string): Promise<void> {
  const source = await disk.open(from, { mode: 'read' });
  const target = await disk.open(to);
  try {
    const bytes = Buffer.alloc(1 << 20);
    for (let at = 0; ; ) {
      const read = await source.readAt(at, bytes);
      if (read === 0) break;
      await target.writeAt(at, bytes.subarray(0, read));
      at += read;
    }
    await syncOrFail(() => target.sync());
  } finally {
    await source.close();
    await target.close();
  }
}

/** What was set aside before is kept. */
async function freeName(disk: Disk, path: string): Promise<string> {
  for (let i = 1; ; i++) {
    const name = i === 1 ? path : `${path}${i}`;
    if ((await disk.fileBytes(name)) === undefined) return name;
  }
}

const commitBytesAim = 1 << 20;

/** Writes what can be read of a file into a new one, whole commits of it; resolves to where its data ends. */
async function renew(
  options: Omit<InspectOptions, 'onRecord'>,
  file: InspectedFile,
  previous: { fileId: number; end: number } | undefined,
): Promise<number> {
  const { disk, directory } = options;
  const { fileId, start, header } = file;
  const out = await disk.open(`${directory}/${journalFileName(fileId)}${repairedSuffix}`);
  try {
    await out.truncate(0);
    const previousFileId = previous?.fileId ?? header?.previousFileId ?? 0;
    const previousEnd = previous?.end ?? header?.previousEnd ?? 0;
    await out.writeAt(0, encodeFileHeader({ fileId, previousFileId, previousEnd }));
    // What lies before the mark is not needed any more: only its length is.
    if (start > fileHeaderBytes) await out.writeAt(start - 1, Buffer.alloc(1));
    let end = start;
    let pending: { type: RecordType; body: Buffer }[] = [];
    let pendingBytes = 0;
    const write = async (): Promise<void> => {
      if (pending.length === 0) return;
      const buffer = Buffer.alloc(pendingBytes + commitAlignmentBytes);
      let at = 0;
      for (const [i, { type, body }] of pending.entries()) {
        at = encodeRecord(buffer, at, { fileId, commitOffset: end }, { type, body, isLast: i === pending.length - 1 });
      }
      await out.writeAt(end, buffer.subarray(0, at));
      end += at;
      pending = [];
      pendingBytes = 0;
    };
    await eachRecord(options, fileId, async (type, body) => {
      pending.push({ type: type as RecordType, body: Buffer.from(body) });
      pendingBytes += recordBytesFor(body.length);
      if (pendingBytes >= commitBytesAim) await write();
    });
    await write();
    await syncOrFail(() => out.sync());
    return end;
  } finally {
    await out.close();
  }
}

async function eachRecord(
  options: Omit<InspectOptions, 'onRecord'>,
  fileId: number,
  task: (type: number, body: Buffer) => Promise<void>,
): Promise<void> {
  await inspectJournal({ ...options, onlyFileId: fileId, onRecord: (record) => task(record.type, record.body) });
}
