import { endLimbo, inspectJournals, type JournalInspection, repairJournals, type StoppedBookie } from '@daybook/bookie';
import {
  checkConsistency,
  type DamagedLog,
  type DiskFileKind,
  diskFileKinds,
  type FileOnDisk,
  findJournalFile,
  findLocalLog,
  giveUpLogs,
  identityProblems,
  inspectLogs,
  type LastMark,
  type LocalLog,
  ledgerRows,
  listFilesOnDisk,
  listLocalLogs,
  readEntryLog,
  readJournalFile,
  readLastMark,
  readLocalIndex,
  readRuns,
} from '@daybook/bookie/shell';
import { ledgerId } from '@daybook/proto';
import { inCluster } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { bookieFolder, type FolderOptions, inAnyFolder, inFolder } from './folder-access.js';
import { askBookie } from './live-bookie.js';
import { bytesText, factsText, type OutputOptions, printJson, printLine, printResult, tableText } from './output.js';
import { liveAddress, onePlace, type PlaceOptions } from './shell-options.js';

export interface PlainOptions extends FolderOptions, PlaceOptions, OutputOptions {}

export interface ListFilesOptions extends PlainOptions {
  txn?: boolean;
  log?: boolean;
  idx?: boolean;
}

export interface LogOptions extends PlainOptions {
  metadata?: string;
}

export interface ReadLogCommandOptions extends PlainOptions {
  ledger?: number;
  entry?: number;
  startpos?: number;
  endpos?: number;
  msg?: boolean;
}

export interface JournalOptions extends FolderOptions, OutputOptions {
  yes?: boolean;
  force?: boolean;
}

const stopIt = 'stop it first';
const useHttp = 'ask it with --http HOST:PORT instead of --data';

export async function lastMark(options: PlainOptions): Promise<void> {
  const mark =
    onePlace(options) === 'live'
      ? await askBookie<LastMark>(liveAddress(options), '/api/v1/bookie/last_log_mark')
      : await inAnyFolder(options, readLastMark);
  printResult(
    options,
    mark,
    ({ marks, ...rest }) => `${factsText(rest)}\n${tableText(marks, 'no mark yet: a start replays the journals from their first file')}`,
  );
}

export async function listFiles(options: ListFilesOptions): Promise<void> {
  const chosen: DiskFileKind[] = [];
  if (options.txn) chosen.push('journal');
  if (options.log) chosen.push('entrylog');
  if (options.idx) chosen.push('index');
  const kinds = chosen.length === 0 ? diskFileKinds : chosen;
  const files = onePlace(options) === 'live' ? await liveFiles(liveAddress(options), kinds) : await folderFiles(options, kinds);
  if (options.json) for (const file of files) printJson(file);
  else
    printLine(
      tableText(
        files.map(({ kind, bytes, path }) => ({ kind, bytes, path })),
        'no files',
      ),
    );
}

async function liveFiles(address: string, kinds: readonly DiskFileKind[]): Promise<FileOnDisk[]> {
  const found = await askBookie<Record<string, Omit<FileOnDisk, 'kind'>[]>>(address, '/api/v1/bookie/list_disk_file');
  return kinds.flatMap((kind) => (found[`${kind} files`] ?? []).map((file) => ({ kind, ...file })));
}

/** Names and sizes may be looked at while the bookie runs. */
async function folderFiles(options: FolderOptions, kinds: readonly DiskFileKind[]): Promise<FileOnDisk[]> {
  const bookie = await bookieFolder(options);
  return listFilesOnDisk(bookie.disk, bookie, kinds);
}

export async function readJournal(file: string | undefined, options: PlainOptions): Promise<void> {
  const summary = await inAnyFolder(options, async (bookie, _isRunning, notePrinted) => {
    const wanted = file ?? (await readLastMark(bookie)).marks[0]?.journalFileName ?? '1';
    const path = await findJournalFile(bookie.disk, bookie.journalDirectories, wanted);
    return readJournalFile(bookie.disk, path, (record) => {
      notePrinted();
      if (options.json) return printJson(record);
      const { offset, type, ledgerId: id, firstEntryId, lastEntryId, isRecovery, bytes } = record;
      const entries = type === 'entries' ? `entries ${firstEntryId} to ${lastEntryId}${isRecovery ? ' (of a recovery)' : ''}` : type;
      printLine(`${offset}\t${entries}\t${id === undefined ? '' : `ledger ${id}`}\t${bytes} bytes`);
    });
  });
  const { damages, ...rest } = summary;
  if (options.json) printJson({ summary });
  else printLine(factsText(rest));
  if (damages.length > 0) {
    throw shellErrors.PROBLEMS(
      damages.length,
      damages.map(({ offset, nextOffset }) => `${nextOffset - offset} bytes at ${offset} cannot be read`).join('; '),
    );
  }
}

export async function readLog(wanted: string, options: ReadLogCommandOptions): Promise<void> {
  const summary = await inAnyFolder(options, async (bookie, _isRunning, notePrinted) => {
    const log = findLocalLog(await listLocalLogs(bookie), wanted);
    const { ledger, entry: entryId, startpos: from, endpos: to } = options;
    return readEntryLog(bookie.disk, log.logPath, { endBytes: log.logBytes, from, to, ledgerId: ledger, entryId }, ({ entry, ...record }) => {
      notePrinted();
      if (options.json) return printJson(options.msg ? { ...record, entry: entry.toString('base64') } : record);
      const { position, ledgerId: id, entryId: found, lastAddConfirmed, bytes, isIntact } = record;
      printLine(`${position}\tledger ${id}\tentry ${found}\tlac ${lastAddConfirmed}\t${bytes} bytes${isIntact ? '' : '\tDAMAGED'}`);
      if (options.msg) printLine(entry.toString('hex'));
    });
  });
  if (options.json) printJson({ summary });
  else printLine(factsText(summary));
  if (summary.badRecordsCount > 0) throw shellErrors.PROBLEMS(summary.badRecordsCount, `damaged records in ${summary.path}`);
}

export async function readLogMetadata(wanted: string | undefined, options: LogOptions): Promise<void> {
  const damages = await inAnyFolder(options, async (bookie, _isRunning, notePrinted) => {
    const logs = await listLocalLogs(bookie);
    const damaged: string[] = [];
    for (const log of wanted === undefined ? logs : [findLocalLog(logs, wanted)]) {
      const { runs, damage } = await readRuns(bookie.disk, log);
      const ledgers = ledgerRows(runs);
      if (damage !== undefined) damaged.push(`${log.indexPath} (${damage})`);
      notePrinted();
      if (options.json) printJson({ ...logFacts(log), damage, ledgers });
      else printLine(`${factsText({ ...logFacts(log), damage })}\n${tableText(ledgers, 'no entries')}\n`);
    }
    return damaged;
  });
  if (damages.length > 0) throw shellErrors.PROBLEMS(damages.length, `damaged indexes: ${damages.join('; ')}. The bookie rebuilds them when it runs`);
}

function logFacts({ logId, logPath, indexPath: _path, ...rest }: LocalLog): object {
  return { logId: logId.toString(16), logPath, ...rest };
}

export async function activeLedgers(wanted: string, options: LogOptions): Promise<void> {
  const rows = await inAnyFolder(options, async (bookie) => {
    const log = findLocalLog(await listLocalLogs(bookie), wanted);
    return ledgerRows((await readRuns(bookie.disk, log)).runs);
  });
  await inCluster(options, async ({ records }) => {
    const ledgers: { ledgerId: number; isActive: boolean; logBytes: number }[] = [];
    for (const { ledgerId: id, logBytes } of rows)
      ledgers.push({ ledgerId: id, isActive: (await records.read(ledgerId(id))) !== undefined, logBytes });
    printResult(options, ledgers, () => {
      const live = ledgers.filter(({ isActive }) => isActive).reduce((sum, row) => sum + row.logBytes, 0);
      const all = ledgers.reduce((sum, row) => sum + row.logBytes, 0);
      return `${tableText(ledgers, 'no ledgers')}\n${bytesText(live)} of ${bytesText(all)} are of ledgers that exist`;
    });
  });
}

export async function ledgerIndex(id: number, options: PlainOptions): Promise<void> {
  if (onePlace(options) === 'live') {
    const answer = await askBookie<{ entriesCount: number; runs: { first: number; last: number }[] }>(
      liveAddress(options),
      `/api/v1/bookie/ledger?ledger_id=${id}`,
    );
    printResult(options, answer, ({ runs, entriesCount }) => `${tableText(runs, 'no entries')}\n${entriesCount} entries`);
    return;
  }
  const runs = await inAnyFolder(options, (bookie, isRunning) => readLocalIndex(bookie, id, isRunning));
  printResult(options, { ledgerId: id, runs }, () => tableText(runs, `no entries of ledger ${id}`));
}

export async function consistencyCheck(options: PlainOptions): Promise<void> {
  const report = await inFolder(options, 'let it check itself with daybook shell scrub --http HOST:PORT', (bookie) => checkConsistency(bookie));
  const { problems, ...counts } = report;
  printResult(options, report, () => `${factsText(counts)}${problems.map((text) => `\n${text}`).join('')}`);
  if (problems.length > 0) throw shellErrors.PROBLEMS(problems.length, 'see above');
}

export async function sanity(options: PlainOptions): Promise<void> {
  if (onePlace(options) === 'live') {
    const answer = await askBookie<{ passed: boolean; reason?: string }>(liveAddress(options), '/api/v1/bookie/sanity');
    printResult(options, answer, factsText);
    if (!answer.passed) throw shellErrors.PROBLEMS(1, answer.reason ?? 'the check did not pass');
    return;
  }
  const problems = await inFolder(options, useHttp, startProblems);
  printResult(options, { passed: problems.length === 0, problems }, () => (problems.length === 0 ? 'it would start' : problems.join('\n')));
  if (problems.length > 0) throw shellErrors.PROBLEMS(problems.length, 'see above');
}

async function startProblems(bookie: StoppedBookie): Promise<string[]> {
  const problems = await identityProblems(bookie);
  for (const { disk, logPath, logBytes } of (await listLocalLogs(bookie))
    .filter((log) => log.isNamed)
    .map((log) => ({ disk: bookie.disk, ...log }))) {
    const bytes = await disk.fileBytes(logPath);
    if (bytes === undefined || bytes < logBytes) problems.push(`${logPath}: ${logBytes} bytes expected, ${bytes ?? 'none'} there`);
  }
  for (const inspection of await inspectJournals(bookie)) problems.push(...inspection.problems);
  return problems;
}

export async function inspectJournal(options: JournalOptions): Promise<void> {
  const found = await inFolder(options, stopIt, inspectJournals);
  printResult(options, found, journalsText);
  const problems = found.flatMap((inspection) => inspection.problems);
  if (problems.length > 0) throw shellErrors.PROBLEMS(problems.length, 'see above. To give them up: daybook shell journal repair');
}

export async function repairJournal(options: JournalOptions): Promise<void> {
  const found = await inFolder(options, stopIt, inspectJournals);
  printResult(options, found, journalsText);
  const problems = found.flatMap((inspection) => inspection.problems);
  if (problems.length === 0) return;
  if (options.yes !== true) throw shellErrors.NOT_CONFIRMED('give up for ever what is listed above, and let the bookie start in limbo', '--yes');
  // It takes the locks itself.
  await repairJournals(await bookieFolder(options));
  if (!options.json) {
    printLine('repaired. The bookie starts in limbo now: autorecovery copies its ledgers back, and each of them leaves limbo when it is whole again');
  }
}

function journalsText(inspections: readonly JournalInspection[]): string {
  return inspections
    .map(({ directory, mark, files, problems, lostBytes, recordsCount }) => {
      const facts = {
        directory,
        mark: mark === undefined ? 'none' : `file ${mark.fileId.toString(16)}, offset ${mark.offset}`,
        recordsCount,
        lostBytes,
      };
      const rows = files.map(({ path, start, end, recordsCount: records, damages }) => ({ path, start, end, records, damages: damages.length }));
      return `${factsText(facts)}\n${tableText(rows, 'no files')}${problems.map((text) => `\n${text}`).join('')}`;
    })
    .join('\n\n');
}

export async function endLimboOf(options: JournalOptions): Promise<void> {
  if (options.force !== true) {
    throw shellErrors.NOT_CONFIRMED(
      'let the bookie say of everything it does not have that it never was there; it does so by itself, ledger by ledger, when autorecovery has copied them back',
      '--force',
    );
  }
  await endLimbo(await bookieFolder(options));
  printResult(options, { isLimbo: false }, () => 'the bookie is not in limbo any more');
}

export async function inspectEntryLogs(options: JournalOptions): Promise<void> {
  const found = await inFolder(options, stopIt, inspectLogs);
  printResult(options, found, damagedLogsText);
  if (found.length > 0) throw shellErrors.PROBLEMS(found.length, 'see above. To give them up: daybook shell entrylog giveup');
}

export async function giveUpEntryLogs(options: JournalOptions): Promise<void> {
  const found = await inFolder(options, stopIt, options.force === true ? giveUpLogs : inspectLogs);
  printResult(options, found, damagedLogsText);
  if (found.length === 0) return;
  if (options.force !== true) throw shellErrors.NOT_CONFIRMED('give up for ever what is listed above, and let the bookie start in limbo', '--force');
  if (!options.json)
    printLine('given up. The bookie starts in limbo now: each of its ledgers leaves it by itself when it was copied again (daybook autorecovery)');
}

function damagedLogsText(logs: readonly DamagedLog[]): string {
  if (logs.length === 0) return 'nothing is to be given up: the bookie mends what is damaged, if anything is, by itself';
  return logs
    .map(({ logPath, damage, why, lostBytes, keptBytes, ledgers, areLedgersKnown }) => {
      const rows = ledgers.map(({ ledgerId: id, firstEntryId, lastEntryId, entriesCount }) => ({
        ledgerId: id,
        firstEntryId,
        lastEntryId,
        entriesCount,
      }));
      const facts = factsText({ logPath, damage, why, lostBytes, keptBytes });
      const others = areLedgersKnown ? '' : '\nentries of any other ledger may be lost as well';
      return `${facts}\n${tableText(rows, 'no entries that are known')}${others}`;
    })
    .join('\n\n');
}
