import type { DiskLock } from '@daybook/runtime';
import { renewIncarnation } from './cookie.js';
import { inspectJournal, type JournalInspection } from './journal/journal-inspection.js';
import { repairJournal } from './journal/journal-repair.js';
import { type BookieDirectories, directoriesOf, lastCheckpoint } from './last-checkpoint.js';
import { markerNames, removeMarker, setMarker } from './marker-files.js';

export type StoppedBookie = BookieDirectories;

/** Looks at the journals of a bookie that does not run, and changes nothing: `problems` is what a repair would give up. */
export async function inspectJournals(bookie: StoppedBookie): Promise<JournalInspection[]> {
  return eachJournal(bookie, inspectJournal);
}

/**
 * Makes journals replayable again by giving up what cannot be read. Entries and fences that this bookie acknowledged may be among it, so it comes up **in
 * limbo** from then on, ledger by ledger until it has found out that the ledger is whole (limbo/limbo-exit.ts), or until {@link endLimbo}: it takes no entries but
 * those of a recovery, and answers UNKNOWN_LEDGER_STATE instead of "not here". Refuses (`DISK_LOCKED`) while the bookie runs. Without problems nothing is done.
 */
export async function repairJournals(bookie: StoppedBookie): Promise<JournalInspection[]> {
  return locked(bookie, async () => {
    const found = await eachJournal(bookie, inspectJournal);
    const problems = found.flatMap((inspection) => inspection.problems);
    if (problems.length === 0) return found;
    await enterLimbo(bookie, problems);
    return eachJournal(bookie, repairJournal);
  });
}

/** From its next start on, for these reasons; also to those who wrote to it, who ask the metadata before they go on. Before anything is given up. May be repeated. */
export async function enterLimbo(bookie: StoppedBookie, reasons: readonly string[]): Promise<void> {
  await setMarker(bookie.disk, bookie.ledgerDirectories, markerNames.limbo, `${reasons.join('\n')}\n`);
  await renewIncarnation(bookie.disk, directoriesOf(bookie));
}

/** To be called when every ledger that names this bookie was checked, and what was missing copied here again: it is as certain as any other from now on. */
export async function endLimbo(bookie: StoppedBookie): Promise<void> {
  await locked(bookie, () => removeMarker(bookie.disk, bookie.ledgerDirectories, markerNames.limbo));
}

async function eachJournal(
  bookie: StoppedBookie,
  task: (options: Parameters<typeof repairJournal>[0]) => Promise<JournalInspection>,
): Promise<JournalInspection[]> {
  const { disk, journalDirectories } = bookie;
  const latest = await lastCheckpoint(bookie);
  const out: JournalInspection[] = [];
  for (const [i, directory] of journalDirectories.entries()) out.push(await task({ disk, directory, mark: latest?.marks[i] }));
  return out;
}

async function locked<T>(bookie: StoppedBookie, task: () => Promise<T>): Promise<T> {
  const locks: DiskLock[] = [];
  try {
    for (const directory of directoriesOf(bookie)) locks.push(await bookie.disk.lock(`${directory}/lock`));
    return await task();
  } finally {
    for (const lock of locks) await lock.release();
  }
}
