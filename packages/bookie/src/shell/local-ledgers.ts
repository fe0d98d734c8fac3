import { journalFileName } from '../journal/journal-format.js';
import { inspectJournal } from '../journal/journal-inspection.js';
import { lastCheckpoint } from '../last-checkpoint.js';
import type { StoppedBookie } from '../repair-journals.js';
import type { Checkpoint } from '../storage/checkpoint-format.js';
import { decodeLedgerStates, type LedgerState, ledgerStatesFileName } from '../storage/ledger-state-format.js';
import { readWholeFile } from '../storage/replace-file.js';
import { bookieShellErrors } from './errors.js';
import { ledgerRows, listLocalLogs, readRuns } from './local-logs.js';
import { factsOf } from './read-journal-file.js';

/** What a stopped bookie has of a ledger. */
export interface LocalLedger {
  ledgerId: number;
  /** False when only leftovers of a deleted ledger are there, which garbage collection will remove. */
  isKnown: boolean;
  isFenced: boolean;
  /** In entry logs, of the ledger or of an older copy of its entries. */
  entriesCount: number;
  bytes: number;
  firstEntryId: number;
  lastEntryId: number;
  logs: number[];
  /** Only in the journal so far: the next start puts them into an entry log. */
  journaledEntriesCount: number;
}

/** All ledgers of a bookie that is stopped, or of a running one whose files are looked at (`lookInto`), ascending: of its snapshot, its entry logs, and what its journals hold behind the last mark. */
export async function listLocalLedgers(bookie: StoppedBookie, isRunning = false): Promise<LocalLedger[]> {
  const latest = await lastCheckpoint(bookie);
  const found = new Map<number, LocalLedger>();
  const ledger = (ledgerId: number): LocalLedger => {
    let row = found.get(ledgerId);
    if (row === undefined) {
      const none = { entriesCount: 0, bytes: 0, firstEntryId: -1, lastEntryId: -1, journaledEntriesCount: 0 };
      row = { ledgerId, isKnown: false, isFenced: false, logs: [], ...none };
      found.set(ledgerId, row);
    }
    return row;
  };
  for (const { ledgerId, isFenced } of await readStates(bookie)) Object.assign(ledger(ledgerId), { isKnown: true, isFenced });
  // First, as a running bookie keeps them only until its next checkpoint.
  await eachJournaled(bookie, { latest, isRunning }, ({ type, ledgerId, entriesCount = 0, firstEntryId = 0, lastEntryId = 0 }) => {
    if (ledgerId === undefined) return;
    const into = ledger(ledgerId);
    if (type === 'fence') into.isFenced = true;
    into.isKnown = true;
    if (type !== 'entries') return;
    into.journaledEntriesCount += entriesCount;
    widen(into, firstEntryId, lastEntryId);
  });
  for (const log of await listLocalLogs(bookie, latest)) {
    if (!log.isNamed) continue;
    for (const row of ledgerRows((await readRuns(bookie.disk, log)).runs)) {
      const into = ledger(row.ledgerId);
      into.entriesCount += row.entriesCount;
      into.bytes += row.logBytes;
      into.logs.push(log.logId);
      widen(into, row.firstEntryId, row.lastEntryId);
    }
  }
  return [...found.values()].sort((a, b) => a.ledgerId - b.ledgerId);
}

function widen(ledger: LocalLedger, first: number, last: number): void {
  ledger.firstEntryId = ledger.firstEntryId < 0 ? first : Math.min(ledger.firstEntryId, first);
  ledger.lastEntryId = Math.max(ledger.lastEntryId, last);
}

/** Entries of a ledger that lie one after another. */
export interface IndexedRun {
  firstEntryId: number;
  lastEntryId: number;
  /** Undefined: in the journal only. */
  logId: number | undefined;
  /** Of the first one, in its log or journal file. */
  position: number;
  bytes: number;
  path: string;
}

/** Where a stopped bookie has the entries of a ledger, by their ids; of an entry that was written twice both places, the newer one last. */
export async function readLocalIndex(bookie: StoppedBookie, ledgerId: number, isRunning = false): Promise<IndexedRun[]> {
  const latest = await lastCheckpoint(bookie);
  const runs: IndexedRun[] = [];
  const journaled: IndexedRun[] = [];
  await eachJournaled(bookie, { latest, isRunning }, (record) => {
    if (record.ledgerId !== ledgerId || record.type !== 'entries') return;
    const { firstEntryId = 0, lastEntryId = 0, offset: position, bytes, path } = record;
    journaled.push({ firstEntryId, lastEntryId, logId: undefined, position, bytes, path });
  });
  for (const log of await listLocalLogs(bookie, latest)) {
    if (!log.isNamed) continue;
    for (const run of (await readRuns(bookie.disk, log)).runs) {
      if (run.ledgerId !== ledgerId) continue;
      const { firstEntryId, count, positions, at } = run;
      const position = positions[at] as number;
      const bytes = (positions[at + count] as number) - position;
      runs.push({ firstEntryId, lastEntryId: firstEntryId + count - 1, logId: log.logId, position, bytes, path: log.logPath });
    }
  }
  return [...runs, ...journaled].sort((a, b) => a.firstEntryId - b.firstEntryId);
}

type Journaled = ReturnType<typeof factsOf> & { offset: number; bytes: number; path: string };

/** Every record behind the last mark: what the next start will replay. */
async function eachJournaled(
  { disk, journalDirectories }: StoppedBookie,
  { latest, isRunning }: { latest: Checkpoint | undefined; isRunning: boolean },
  task: (record: Journaled) => void,
): Promise<void> {
  for (const [i, directory] of journalDirectories.entries()) {
    const { problems } = await inspectJournal({
      disk,
      directory,
      mark: latest?.marks[i],
      onRecord: ({ type, body, offset, end, fileId }) => {
        task({ ...factsOf({ type, body }), offset, bytes: end - offset, path: `${directory}/${journalFileName(fileId)}` });
      },
    });
    // The bookie needs them no more: what was in them is in entry logs that this checkpoint does not name.
    if (isRunning && problems.length > 0) throw bookieShellErrors.CHANGED(directory);
  }
}

/** The newest snapshot of the ledgers' states; empty before the first checkpoint. */
export async function readStates({ disk, journalDirectories, ledgerDirectories }: StoppedBookie): Promise<readonly LedgerState[]> {
  let newest: { checkpointNumber: number; states: LedgerState[] } | undefined;
  for (const directory of [...ledgerDirectories, ...journalDirectories]) {
    const path = `${directory}/${ledgerStatesFileName}`;
    const bytes = await readWholeFile(disk, path);
    const decoded = bytes === undefined ? undefined : decodeLedgerStates(bytes, path);
    if (decoded !== undefined && decoded.checkpointNumber >= (newest?.checkpointNumber ?? 0)) newest = decoded;
  }
  return newest?.states ?? [];
}
