import { journalFileName } from '../journal/journal-format.js';
import type { StoppedBookie } from '../repair-journals.js';
import { Checkpoints } from '../storage/checkpoint.js';
import { LedgerDirectories } from '../storage/ledger-directories.js';

/** What the last checkpoint says. */
export interface LastMark {
  /** Of the checkpoint; 0 when none was ever published: then the journals are replayed from their first file. */
  number: number;
  marks: readonly { journalDirectory: string; journalFileName: string; journalFileId: number; offset: number }[];
  nextLogId: number;
  logsCount: number;
}

export async function readLastMark({ disk, journalDirectories, ledgerDirectories }: StoppedBookie): Promise<LastMark> {
  const { latest } = await Checkpoints.load(disk, new LedgerDirectories(disk, ledgerDirectories));
  const marks = (latest?.marks ?? []).map(({ fileId, offset }, i) => ({
    journalDirectory: journalDirectories[i] ?? '?',
    journalFileName: journalFileName(fileId),
    journalFileId: fileId,
    offset,
  }));
  return { number: latest?.number ?? 0, marks, nextLogId: latest?.nextLogId ?? 1, logsCount: latest?.logs.length ?? 0 };
}
