import { journalFileName } from '../journal/journal-format.js';
import { lastCheckpoint } from '../last-checkpoint.js';
import type { StoppedBookie } from '../repair-journals.js';

/** What the last checkpoint says. */
export interface LastMark {
  /** Of the checkpoint; 0 when none was ever published: then the journals are replayed from their first file. */
  number: number;
  marks: readonly { journalDirectory: string; journalFileName: string; journalFileId: number; offset: number }[];
  nextLogId: number;
  logsCount: number;
}

export async function readLastMark(bookie: StoppedBookie): Promise<LastMark> {
  const latest = await lastCheckpoint(bookie);
  const marks = (latest?.marks ?? []).map(({ fileId, offset }, i) => ({
    journalDirectory: bookie.journalDirectories[i] ?? '?',
    journalFileName: journalFileName(fileId),
    journalFileId: fileId,
    offset,
  }));
  return { number: latest?.number ?? 0, marks, nextLogId: latest?.nextLogId ?? 1, logsCount: latest?.logs.length ?? 0 };
}
