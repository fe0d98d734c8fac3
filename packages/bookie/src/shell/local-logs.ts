import { type Disk, diskErrors } from '@daybook/runtime';
import { lastCheckpoint } from '../last-checkpoint.js';
import type { StoppedBookie } from '../repair-journals.js';
import type { Checkpoint, LogExtent } from '../storage/checkpoint-format.js';
import { logFileName, logIdIn } from '../storage/entry-log-format.js';
import { checkIndex } from '../storage/index-check.js';
import { decodeTrailer, indexFileName, type LedgerRow, type Run, trailerBytes } from '../storage/index-format.js';
import { readWholeFile } from '../storage/replace-file.js';
import { bookieShellErrors } from './errors.js';

/** An entry log of a stopped bookie. */
export interface LocalLog {
  logId: number;
  logPath: string;
  indexPath: string;
  /** Of the log that count. */
  logBytes: number;
  indexBytes: number;
  isSealed: boolean;
  /** Bytes that an operator gave up. */
  givenUpBytes: number;
  /** False for the rest of something that did not become part of a checkpoint: the next start removes it. */
  isNamed: boolean;
}

/** Of all entry logs that the last checkpoint names, and of files that it does not; ascending. */
export async function listLocalLogs(bookie: StoppedBookie, checkpoint?: Checkpoint): Promise<LocalLog[]> {
  const { disk, ledgerDirectories } = bookie;
  const latest = checkpoint ?? (await lastCheckpoint(bookie));
  const directoryOf = new Map<number, string>();
  for (const directory of ledgerDirectories) {
    for (const name of await disk.list(directory)) {
      const logId = logIdIn(name);
      if (logId !== undefined) directoryOf.set(logId, directory);
    }
  }
  const named = latest?.logs ?? [];
  const logs = named.map((extent) => localLog(extent, directoryOf.get(extent.logId) ?? (ledgerDirectories[0] as string), true));
  for (const [logId, directory] of directoryOf) {
    if (named.some((log) => log.logId === logId)) continue;
    const logBytes = (await disk.fileBytes(`${directory}/${logFileName(logId)}`)) ?? 0;
    const indexBytes = (await disk.fileBytes(`${directory}/${indexFileName(logId)}`)) ?? 0;
    logs.push(localLog({ logId, logBytes, indexBytes, isSealed: false }, directory, false));
  }
  return logs.sort((a, b) => a.logId - b.logId);
}

function localLog(extent: Omit<LogExtent, 'isCompacted'>, directory: string, isNamed: boolean): LocalLog {
  const { logId, logBytes, indexBytes, isSealed } = extent;
  return {
    logId,
    logPath: `${directory}/${logFileName(logId)}`,
    indexPath: `${directory}/${indexFileName(logId)}`,
    logBytes,
    indexBytes,
    isSealed,
    givenUpBytes: extent.givenUpBytes ?? 0,
    isNamed,
  };
}

/** A log by its id (hexadecimal, as in its name) or the name of one of its files. */
export function findLocalLog(logs: readonly LocalLog[], wanted: string): LocalLog {
  const name = wanted.slice(wanted.lastIndexOf('/') + 1);
  const logId = /^[0-9a-f]{1,16}$/i.test(name) ? Number.parseInt(name, 16) : logIdIn(name);
  const found = logs.find((log) => log.logId === logId);
  if (found !== undefined) return found;
  throw bookieShellErrors.NO_FILE(`entry log ${wanted}`, logs.map((log) => log.logId.toString(16)).join(', ') || 'none');
}

/** The runs of a log as its index has them, in the order of their places, and the first thing that is wrong with the index. */
export async function readRuns(disk: Disk, log: LocalLog): Promise<{ runs: readonly Run[]; damage: string | undefined }> {
  const file = await readWholeFile(disk, log.indexPath);
  if (file === undefined) throw diskErrors.NOT_FOUND(log.indexPath);
  const { logId, logBytes, isSealed } = log;
  // One that was rebuilt after the checkpoint has another length than that says: then it ends where its file ends.
  const isWhole = isSealed && decodeTrailer(file.subarray(file.length - trailerBytes), logId) !== undefined;
  const bytes = isWhole ? file : file.subarray(0, log.indexBytes);
  return checkIndex(bytes, { logId, logBytes, isSealed }, log.indexPath);
}

/** How much of a sealed log nobody can tell what it was; undefined when it is not sealed, or its index does not say. */
export async function readHoleBytes(disk: Disk, { indexPath, logId, isSealed }: LocalLog): Promise<number | undefined> {
  const file = isSealed ? await readWholeFile(disk, indexPath) : undefined;
  return file === undefined ? undefined : decodeTrailer(file.subarray(Math.max(0, file.length - trailerBytes)), logId)?.holeBytes;
}

/** What a log holds of each ledger, by ledger id. */
export function ledgerRows(runs: readonly Run[]): LedgerRow[] {
  const rows = new Map<number, LedgerRow>();
  for (const { ledgerId, firstEntryId, count, positions, at } of runs) {
    const logBytes = (positions[at + count] as number) - (positions[at] as number);
    const lastEntryId = firstEntryId + count - 1;
    const row = rows.get(ledgerId);
    if (row === undefined) {
      rows.set(ledgerId, { ledgerId, firstEntryId, lastEntryId, logBytes, entriesCount: count });
      continue;
    }
    row.firstEntryId = Math.min(row.firstEntryId, firstEntryId);
    row.lastEntryId = Math.max(row.lastEntryId, lastEntryId);
    row.logBytes += logBytes;
    row.entriesCount += count;
  }
  return [...rows.values()].sort((a, b) => a.ledgerId - b.ledgerId);
}
