import { type Cookie, encodeCookie } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { inspectJournals, type StoppedBookie } from '../repair-journals.js';
import { checkLog } from '../storage/log-check.js';
import { readDirectoryIdentities } from './folder-identity.js';
import { type LocalLog, listLocalLogs, readRuns } from './local-logs.js';

export interface ConsistencyReport {
  logsCount: number;
  entriesCount: number;
  bytes: number;
  journalRecordsCount: number;
  /** In words; empty when all is well. */
  problems: readonly string[];
}

/** How many problems are listed; the rest are counted in a last line. */
const problemsMax = 1000;

/** Reads every byte of the entry logs, their indexes and the journals of a stopped bookie, and changes nothing. */
export async function checkConsistency(bookie: StoppedBookie, onLog: (log: LocalLog) => void = () => undefined): Promise<ConsistencyReport> {
  const problems = new Problems();
  for (const text of await identityProblems(bookie)) problems.add(text);
  const logs = (await listLocalLogs(bookie)).filter((log) => log.isNamed);
  const report = { logsCount: logs.length, entriesCount: 0, bytes: 0, journalRecordsCount: 0 };
  for (const log of logs) {
    onLog(log);
    const { entriesCount, bytes } = await checkOne(bookie, log, problems);
    report.entriesCount += entriesCount;
    report.bytes += bytes;
  }
  for (const { problems: found, recordsCount } of await inspectJournals(bookie)) {
    report.journalRecordsCount += recordsCount;
    for (const text of found) problems.add(text);
  }
  return { ...report, problems: problems.list() };
}

async function checkOne({ disk }: StoppedBookie, log: LocalLog, problems: Problems): Promise<{ entriesCount: number; bytes: number }> {
  const { logPath, logBytes } = log;
  try {
    const fileBytes = await disk.fileBytes(logPath);
    if (fileBytes === undefined || fileBytes < logBytes) {
      problems.add(`${logPath}: ${logBytes} bytes expected, ${fileBytes ?? 'none'} there`);
      return { entriesCount: 0, bytes: 0 };
    }
    const { runs, damage } = await readRuns(disk, log);
    if (damage !== undefined) problems.add(`${log.indexPath}: damaged (${damage}); the bookie rebuilds it from the log`);
    const indexBytes = (await disk.fileBytes(log.indexPath)) ?? 0;
    const { badRecords, isHeaderBad, bytes } = await checkLog(
      disk,
      { ...log, indexBytes: log.isSealed ? indexBytes : log.indexBytes },
      async () => undefined,
    );
    if (isHeaderBad) problems.add(`${logPath}: damaged header; nothing is lost, the bookie writes it anew`);
    for (const { ledgerId, entryId, position } of badRecords)
      problems.add(`${logPath}: entry ${entryId} of ledger ${ledgerId} at ${position} is damaged`);
    return { entriesCount: runs.reduce((sum, run) => sum + run.count, 0), bytes };
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    problems.add(error.message);
    return { entriesCount: 0, bytes: 0 };
  }
}

/** Whether all directories carry the cookie of the same bookie. */
export async function identityProblems(bookie: StoppedBookie): Promise<string[]> {
  const problems: string[] = [];
  let first: { directory: string; cookie: Cookie } | undefined;
  for (const { directory, cookie, problem } of await readDirectoryIdentities(bookie)) {
    if (cookie === undefined) {
      problems.push(`${directory}: ${problem}; its disk is not mounted, was wiped, or is damaged`);
      continue;
    }
    first ??= { directory, cookie };
    if (!encodeCookie(cookie).equals(encodeCookie(first.cookie))) problems.push(`${directory} and ${first.directory} belong to different bookies`);
  }
  return problems;
}

class Problems {
  readonly #texts: string[] = [];
  #count = 0;

  add(text: string): void {
    this.#count++;
    if (this.#texts.length < problemsMax) this.#texts.push(text);
  }

  list(): string[] {
    return this.#count > problemsMax ? [...this.#texts, `and ${this.#count - problemsMax} more`] : this.#texts;
  }
}
