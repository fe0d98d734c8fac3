import { DaybookError, type Disk, diskErrors } from '@daybook/runtime';
import { loadCheckpoints } from '../last-checkpoint.js';
import { enterLimbo, type StoppedBookie } from '../repair-journals.js';
import type { Checkpoint, LogExtent } from '../storage/checkpoint-format.js';
import { logHeaderBytes } from '../storage/entry-log-format.js';
import type { LedgerRow, Run } from '../storage/index-format.js';
import { rebuildIndex } from '../storage/index-rebuild.js';
import { syncOrFail } from '../storage/sync-or-fail.js';
import { readStates } from './local-ledgers.js';
import { type LocalLog, ledgerRows, listLocalLogs, readHoleBytes, readRuns } from './local-logs.js';

/**
 * `holes`: parts of it that nobody can say what they were. `short`: its end is missing. `missing`, `unreadable`: all of it. While there is one, the bookie
 * answers with an error instead of "not here", of whatever ledger.
 */
export type LogDamage = 'holes' | 'short' | 'missing' | 'unreadable';

export interface DamagedLog {
  logId: number;
  logPath: string;
  damage: LogDamage;
  why: string;
  /** Of the log. */
  lostBytes: number;
  keptBytes: number;
  /** Of which ledgers entries are known to be lost with it. */
  ledgers: readonly LedgerRow[];
  /** False when entries of any other ledger may be lost as well. */
  areLedgersKnown: boolean;
}

/** Entry logs of a stopped bookie that keep it from saying that something is not there; those whose index alone is damaged it mends itself. Changes nothing. */
export async function inspectLogs(bookie: StoppedBookie): Promise<DamagedLog[]> {
  return inspectEach(bookie.disk, await listLocalLogs(bookie));
}

/**
 * Gives up what {@link inspectLogs} tells: the bookie comes up **in limbo**, as after a repair of its journal, and once that is over, what these logs held and
 * nobody copied here again counts as absent. What can be read of them is kept; files of logs that are dropped stay as `*.damaged`. The caller holds the locks.
 * May be interrupted at any point and run again.
 */
export async function giveUpLogs(bookie: StoppedBookie): Promise<DamagedLog[]> {
  const { disk } = bookie;
  const localLogs = await listLocalLogs(bookie);
  const found = await inspectEach(disk, localLogs);
  if (found.length === 0) return found;
  await enterLimbo(
    bookie,
    found.map(({ logPath, why }) => `${logPath}: ${why}`),
  );
  const checkpoints = await loadCheckpoints(bookie);
  const latest = checkpoints.latest as Checkpoint;
  const logs: LogExtent[] = [];
  for (const extent of latest.logs) {
    const damaged = found.find(({ logId }) => logId === extent.logId);
    const log = localLogs.find(({ logId }) => logId === extent.logId) as LocalLog;
    const kept = damaged === undefined ? extent : await whatIsKept(bookie, { extent, log }, damaged);
    if (kept !== undefined) logs.push(kept);
  }
  await checkpoints.publish({ ...latest, number: checkpoints.takeNumber(), logs });
  for (const { logId, logPath } of found) if (!logs.some((log) => log.logId === logId)) await setAside(disk, logPath);
  return found;
}

async function inspectEach(disk: Disk, logs: readonly LocalLog[]): Promise<DamagedLog[]> {
  const found: DamagedLog[] = [];
  for (const log of logs) {
    const damaged = log.isNamed ? await inspectLog(disk, log) : undefined;
    if (damaged !== undefined) found.push(damaged);
  }
  return found;
}

async function inspectLog(disk: Disk, log: LocalLog): Promise<DamagedLog | undefined> {
  const { logId, logPath, logBytes } = log;
  const { runs, isWhole } = await readableRuns(disk, log);
  const lost = (damage: LogDamage, why: string, from: number): DamagedLog => ({
    logId,
    logPath,
    damage,
    why,
    lostBytes: logBytes - from,
    keptBytes: from,
    ledgers: ledgerRows(runsFrom(runs, from)),
    areLedgersKnown: isWhole,
  });
  try {
    const bytes = await disk.fileBytes(logPath);
    if (bytes === undefined || bytes <= logHeaderBytes)
      return lost('missing', bytes === undefined ? 'there is no such file' : `it has ${bytes} bytes`, 0);
    if (bytes < logBytes) return lost('short', `it has ${bytes} bytes instead of ${logBytes}`, bytes);
    const holeBytes = await readHoleBytes(disk, log);
    // Its index is made again from the log: that has to be readable, all of it.
    if (!isWhole) await readThrough(disk, logPath, logBytes);
    const newBytes = (holeBytes ?? 0) - log.givenUpBytes;
    if (newBytes <= 0) return undefined;
    const why = `of ${newBytes} bytes of it nobody knows whose entries they were`;
    return { ...lost('holes', why, logBytes), lostBytes: newBytes, keptBytes: logBytes - newBytes, areLedgersKnown: false };
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return lost('unreadable', error.message, 0);
  }
}

async function readableRuns(disk: Disk, log: LocalLog): Promise<{ runs: readonly Run[]; isWhole: boolean }> {
  try {
    const { runs, damage } = await readRuns(disk, log);
    return { runs, isWhole: damage === undefined };
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    return { runs: [], isWhole: false };
  }
}

/** The parts of runs whose entries end behind `from`. */
function runsFrom(runs: readonly Run[], from: number): Run[] {
  const out: Run[] = [];
  for (const run of runs) {
    let first = 0;
    while (first < run.count && (run.positions[run.at + first + 1] as number) <= from) first++;
    if (first < run.count) out.push({ ...run, firstEntryId: run.firstEntryId + first, count: run.count - first, at: run.at + first });
  }
  return out;
}

/** The parts of runs whose entries end at or before `to`. */
function runsTo(runs: readonly Run[], to: number): Run[] {
  const out: Run[] = [];
  for (const run of runs) {
    let count = 0;
    while (count < run.count && (run.positions[run.at + count + 1] as number) <= to) count++;
    if (count > 0) out.push({ ...run, count });
  }
  return out;
}

/** What the checkpoint says of a damaged log from now on; undefined: nothing. */
async function whatIsKept(
  bookie: StoppedBookie,
  { extent, log }: { extent: LogExtent; log: LocalLog },
  { damage, keptBytes, logPath }: DamagedLog,
): Promise<LogExtent | undefined> {
  const { disk } = bookie;
  const { logId } = extent;
  if (damage === 'holes') return { ...extent, givenUpBytes: (await readHoleBytes(disk, log)) ?? 0 };
  if (damage !== 'short') return undefined;
  const { runs } = await readableRuns(disk, log);
  const known = new Set((await readStates(bookie)).map(({ ledgerId }) => ledgerId));
  const { indexBytes, holeBytes } = await rebuildIndex({
    disk,
    directory: logPath.slice(0, logPath.lastIndexOf('/')),
    logId,
    logBytes: keptBytes,
    known: runsTo(runs, keptBytes),
    isKnownLedger: (ledgerId) => known.has(ledgerId),
    afterRead: async () => undefined,
  });
  return { ...extent, logBytes: keptBytes, indexBytes, isSealed: true, givenUpBytes: holeBytes };
}

async function setAside(disk: Disk, logPath: string): Promise<void> {
  for (const path of [logPath, logPath.replace(/\.log$/, '.idx')]) {
    try {
      if ((await disk.fileBytes(path)) === undefined) continue;
      await disk.rename(path, `${path}.damaged`);
      await syncOrFail(() => disk.syncDirectory(path.slice(0, path.lastIndexOf('/'))));
    } catch (error) {
      // No checkpoint names it any more: the next start removes what cannot be set aside on a disk that fails.
      if (!diskErrors.IO.is(error)) throw error;
    }
  }
}

async function readThrough(disk: Disk, path: string, bytes: number): Promise<void> {
  const file = await disk.open(path, { mode: 'read' });
  try {
    const target = Buffer.allocUnsafe(1 << 20);
    for (let at = 0; at < bytes; ) {
      const read = await file.readAt(at, target);
      if (read === 0) return;
      at += read;
    }
  } finally {
    await file.close();
  }
}
