import t from 'tap';
import type { StoppedBookie } from '../repair-journals.js';
import { appended, SimBookie } from '../testing/sim-bookie.js';
import { readLastMark } from './last-mark.js';
import { listLocalLedgers, readLocalIndex } from './local-ledgers.js';
import { listLocalLogs, readRuns } from './local-logs.js';
import { findJournalFile, readJournalFile } from './read-journal-file.js';
import { lookInto } from './stopped-folder.js';

const limits = { journalFileBytesMax: 16 * 1024, logBytesMax: 6 * 1024, flushIntervalMs: 60, diskCheckIntervalMs: 1e9 };
const batchEntries = 5;

t.test(
  'folder of a running bookie: looked into while it writes, flushes, recycles and compacts → everything acknowledged before is told, no damage is',
  async (t) => {
    const sim = new SimBookie({ limits, config: { journalDirectories: ['/data/j0', '/data/j1'], ledgerDirectories: ['/data/ledgers'] } });
    await sim.start();
    const next = new Map<number, number>();
    let isOver = false;
    const write = async (ledger: number): Promise<void> => {
      while (!isOver) {
        const first = next.get(ledger) ?? 0;
        const code = await appended(sim.service, { ledger, first, count: batchEntries, bytes: 150 });
        if (code !== 'OK') throw new Error(code);
        next.set(ledger, first + batchEntries);
      }
    };
    const writing = [1, 2, 3].map(write);
    const bookie: StoppedBookie = {
      disk: sim.disk.boot(sim.clock),
      journalDirectories: ['/data/j0', '/data/j1'],
      ledgerDirectories: ['/data/ledgers'],
    };
    const look = async (): Promise<void> => {
      const before = new Map(next);
      const rows = await lookInto(bookie, (isRunning) => listLocalLedgers(bookie, isRunning));
      for (const [ledger, count] of before) {
        const row = rows.find(({ ledgerId }) => ledgerId === ledger);
        if ((row?.lastEntryId ?? -1) < count - 1) t.fail(`ledger ${ledger}: ${row?.lastEntryId} is told, ${count - 1} was acknowledged`);
        const runs = await lookInto(bookie, (isRunning) => readLocalIndex(bookie, ledger, isRunning));
        const told = new Set(
          runs.flatMap(({ firstEntryId, lastEntryId }) => Array.from({ length: lastEntryId - firstEntryId + 1 }, (_, i) => firstEntryId + i)),
        );
        for (let id = 0; id < count; id++) if (!told.has(id)) t.fail(`entry ${id} of ledger ${ledger} is not told`);
      }
      await lookInto(bookie, async () => {
        for (const log of (await listLocalLogs(bookie)).filter(({ isNamed }) => isNamed)) {
          const { damage } = await readRuns(bookie.disk, log);
          if (damage !== undefined) t.fail(`${log.logPath}: ${damage}`);
        }
      });
      const summary = await lookInto(bookie, async () => {
        const name = (await readLastMark(bookie)).marks[0]?.journalFileName as string;
        return readJournalFile(bookie.disk, await findJournalFile(bookie.disk, bookie.journalDirectories, name), () => undefined);
      });
      t.strictSame(summary.damages, []);
    };
    await sim.queue.runFor(200);
    for (let round = 0; round < 6; round++) {
      await sim.queue.complete(look());
      await sim.queue.runFor(round * 7);
      if (round % 4 === 0) await sim.collect();
    }
    isOver = true;
    await sim.queue.complete(Promise.all(writing));
    const { journals } = (sim.bookie as NonNullable<typeof sim.bookie>).status();
    t.ok(
      journals.every(({ mark }) => mark.fileId > 3),
      'journal files were recycled meanwhile',
    );
    await sim.close();
  },
);
