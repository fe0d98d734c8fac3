import { bookieId } from '@daybook/proto';
import t from 'tap';
import { journalFileName } from '../journal/journal-format.js';
import type { StoppedBookie } from '../repair-journals.js';
import { entryOf, testKey } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';
import {
  checkConsistency,
  checkFirstUse,
  findBookieFolder,
  findJournalFile,
  findLocalLog,
  type JournalFileRecord,
  type LogRecord,
  ledgerRows,
  listFilesOnDisk,
  listLocalLedgers,
  listLocalLogs,
  readEntryLog,
  readFolderCookie,
  readJournalFile,
  readLastMark,
  readLocalIndex,
  readRuns,
  whileStopped,
  wipeFolder,
} from './index.js';

/** Ledger 5 in sealed and open logs, ledger 7 in an open log and the journal, ledger 9 fenced and empty; then stopped without its last flush. */
async function filled(): Promise<{ sim: SimBookie; bookie: StoppedBookie }> {
  const sim = new SimBookie({ limits: { flushIntervalMs: 1_000_000 } });
  await sim.start();
  for (let round = 0; round < 40; round++) await sim.append({ ledger: 5, first: round * 10, count: 10, bytes: 100 });
  await sim.append({ ledger: 7, first: 0, count: 3 });
  await sim.flush();
  await sim.append({ ledger: 7, first: 3, count: 4 });
  await sim.fence(9, testKey);
  sim.disk.crash({ keep: 'none' });
  sim.stoppedDisk();
  return { sim, bookie: { disk: sim.disk, journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] } };
}

t.test('folder: found by data directory or one of its own, from the cookie; anything else → NO_FOLDER', async (t) => {
  const { sim, bookie } = await filled();
  const find = (dataDirectory: string) => sim.queue.complete(findBookieFolder(sim.disk, { dataDirectory }));
  t.match(await find('/data'), { journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] });
  t.match(await find('/data/ledgers'), { journalDirectories: ['/data/journal'] });
  await t.rejects(find('/other'), { code: 'BOOKIE_SHELL_NO_FOLDER' });
  t.equal((await sim.queue.complete(readFolderCookie(bookie)))?.path, '/data/journal/VERSION');
});

t.test('folder: of a running bookie → refused with what to do instead, and free again after the task', async (t) => {
  const { sim, bookie } = await filled();
  t.equal(await sim.queue.complete(whileStopped(bookie, 'do that', async () => 3)), 3);
  t.equal(await sim.queue.complete(whileStopped(bookie, 'do that', async () => 4)), 4);
  await sim.start();
  const running = { ...bookie, disk: sim.disk };
  await t.rejects(sim.queue.complete(whileStopped(running, 'do that', async () => 5)), { code: 'BOOKIE_SHELL_RUNS', message: /running: do that$/ });
  await sim.close();
});

t.test('last mark and files: what the folder holds', async (t) => {
  const { sim, bookie } = await filled();
  const mark = await sim.queue.complete(readLastMark(bookie));
  t.ok(mark.number > 0);
  t.equal(mark.marks.length, 1);
  t.equal(mark.marks[0]?.journalDirectory, '/data/journal');
  const files = await sim.queue.complete(listFilesOnDisk(sim.disk, bookie));
  const journals = files.filter(({ kind }) => kind === 'journal');
  t.ok(journals.some(({ name }) => name === mark.marks[0]?.journalFileName));
  t.same(await sim.queue.complete(listFilesOnDisk(sim.disk, bookie, ['journal'])), journals);
  t.equal(files.filter(({ kind }) => kind === 'entrylog').length, files.filter(({ kind }) => kind === 'index').length);
  t.equal(mark.logsCount, files.filter(({ kind }) => kind === 'entrylog').length);
});

t.test('journal file: its records; damage in the middle → told, and read on behind it', async (t) => {
  const { sim, bookie } = await filled();
  const mark = await sim.queue.complete(readLastMark(bookie));
  const { journalFileId, offset } = mark.marks[0] as { journalFileId: number; offset: number };
  const path = await sim.queue.complete(findJournalFile(sim.disk, bookie.journalDirectories, journalFileId.toString(16)));
  t.equal(path, `/data/journal/${journalFileName(journalFileId)}`);
  await t.rejects(sim.queue.complete(findJournalFile(sim.disk, bookie.journalDirectories, 'ffff')), { code: 'BOOKIE_SHELL_NO_FILE' });
  const read = async () => {
    const records: JournalFileRecord[] = [];
    const summary = await sim.queue.complete(readJournalFile(sim.disk, path, (record) => void records.push(record)));
    return { summary, records };
  };
  const { summary, records } = await read();
  t.equal(summary.header?.fileId, journalFileId);
  t.equal(summary.recordsCount, records.length);
  const after = records.filter((record) => record.offset >= offset);
  t.match(after, [
    { type: 'entries', ledgerId: 7, firstEntryId: 3, lastEntryId: 6, entriesCount: 4 },
    { type: 'fence', ledgerId: 9 },
  ]);
  const damaged = await sim.queue.complete(sim.disk.open(path));
  await sim.queue.complete(damaged.writeAt((after[0] as JournalFileRecord).offset + 60, Buffer.from('damage')));
  const again = await read();
  t.equal(again.records.length, records.length - 1);
  t.match(again.summary.damages, [{ offset: after[0]?.offset, nextOffset: after[1]?.offset }]);
});

t.test('entry logs: records, rows and index of a ledger agree; the journal adds what is not in a log yet', async (t) => {
  const { sim, bookie } = await filled();
  const logs = await sim.queue.complete(listLocalLogs(bookie));
  t.ok(logs.length > 1 && logs.some(({ isSealed }) => isSealed) && logs.every(({ isNamed }) => isNamed));
  t.equal(findLocalLog(logs, '1'), logs[0]);
  t.throws(() => findLocalLog(logs, 'fff'), { code: 'BOOKIE_SHELL_NO_FILE' });
  let entries = 0;
  for (const log of logs) {
    const { runs, damage } = await sim.queue.complete(readRuns(sim.disk, log));
    t.equal(damage, undefined);
    const records: Omit<LogRecord, 'entry'>[] = [];
    const summary = await sim.queue.complete(
      readEntryLog(sim.disk, log.logPath, { endBytes: log.logBytes }, (record) => {
        if (record.ledgerId === 5) t.ok(record.entry.equals(entryOf(5, record.entryId, 100)), `entry ${record.entryId}`);
        records.push(record);
      }),
    );
    t.match(summary, { logId: log.logId, badRecordsCount: 0, end: log.logBytes, restBytes: 0 });
    const rows = ledgerRows(runs);
    t.equal(
      rows.reduce((sum, row) => sum + row.entriesCount, 0),
      records.length,
    );
    t.equal(
      rows.reduce((sum, row) => sum + row.logBytes, 0),
      log.logBytes - 64,
    );
    entries += records.length;
    const first = records[0] as LogRecord;
    const one = await sim.queue.complete(readEntryLog(sim.disk, log.logPath, { ledgerId: first.ledgerId, entryId: first.entryId }, () => undefined));
    t.equal(one.recordsCount, 1, 'one entry');
  }
  t.equal(entries, 403);
  const ledgers = await sim.queue.complete(listLocalLedgers(bookie));
  t.match(ledgers, [
    { ledgerId: 5, isKnown: true, isFenced: false, entriesCount: 400, firstEntryId: 0, lastEntryId: 399, journaledEntriesCount: 0 },
    { ledgerId: 7, entriesCount: 3, firstEntryId: 0, lastEntryId: 6, journaledEntriesCount: 4 },
    { ledgerId: 9, isKnown: true, isFenced: true, entriesCount: 0, lastEntryId: -1 },
  ]);
  const index = await sim.queue.complete(readLocalIndex(bookie, 7));
  t.match(index, [
    { firstEntryId: 0, lastEntryId: 2, logId: logs.at(-1)?.logId },
    { firstEntryId: 3, lastEntryId: 6, logId: undefined, path: /\.journal$/ },
  ]);
});

t.test('consistency: whole → no problem; a flipped byte in a log, an index, another cookie → each told', async (t) => {
  const { sim, bookie } = await filled();
  const check = () => sim.queue.complete(checkConsistency(bookie));
  const clean = await check();
  t.same(clean.problems, []);
  t.equal(clean.entriesCount, 403);
  const flip = async (path: string, position: number) => {
    const file = await sim.queue.complete(sim.disk.open(path));
    const byte = Buffer.alloc(1);
    await sim.queue.complete(file.readAt(position, byte));
    await sim.queue.complete(file.writeAt(position, Buffer.from([(byte[0] as number) ^ 1])));
  };
  const logs = await sim.queue.complete(listLocalLogs(bookie));
  await flip(logs[0]?.logPath as string, 200);
  await flip(logs[1]?.indexPath as string, 80);
  await flip('/data/ledgers/VERSION', 20);
  const { problems } = await check();
  t.match(problems, [/belong to different bookies/, /entry \d+ of ledger 5 at \d+ is damaged/, /idx: damaged/]);
  t.equal(problems.length, 3);
});

t.test('wipe and first use: a used folder or a known id → refused; wiped and unknown → clean', async (t) => {
  const { sim, bookie } = await filled();
  const id = bookieId('b1');
  const known = { bytes: Buffer.alloc(0), version: 0 };
  const check = (cookie: typeof known | undefined, ledgerId: number | undefined) =>
    sim.queue.complete(
      checkFirstUse({
        disk: sim.disk,
        directories: ['/data/journal', '/data/ledgers'],
        bookieId: id,
        cookies: { read: async () => cookie, write: async () => undefined, delete: async () => undefined, list: async () => [] },
        ledgerNaming: async () => ledgerId,
      }),
    );
  await t.rejects(check(undefined, undefined), { code: 'BOOKIE_SHELL_NOT_CLEAN', message: /holds .*bookieformat/ });
  t.ok((await sim.queue.complete(wipeFolder(bookie))) > 4);
  await t.rejects(check(known, undefined), { message: /daybook shell recover b1/ });
  await t.rejects(check(undefined, 12), { message: /ledger 12 names bookie b1/ });
  await check(undefined, undefined);
  await sim.start();
  t.equal((await sim.read(5, [0])).code, 'NO_LEDGER', 'it starts as a new one');
  await sim.close();
});
