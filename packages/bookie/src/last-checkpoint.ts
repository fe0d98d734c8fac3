import type { Disk } from '@daybook/runtime';
import { Checkpoints } from './storage/checkpoint.js';
import { CheckpointDirectories } from './storage/checkpoint-directories.js';
import type { Checkpoint } from './storage/checkpoint-format.js';
import { LedgerDirectories } from './storage/ledger-directories.js';

export interface BookieDirectories {
  disk: Disk;
  journalDirectories: readonly string[];
  ledgerDirectories: readonly string[];
}

/** All directories, each once. */
export function directoriesOf({ journalDirectories, ledgerDirectories }: Omit<BookieDirectories, 'disk'>): string[] {
  return [...new Set([...journalDirectories, ...ledgerDirectories])];
}

/** The newest checkpoint of a bookie, as a start would find it; undefined when none was ever published. Changes nothing. */
export async function lastCheckpoint(bookie: BookieDirectories): Promise<Checkpoint | undefined> {
  return (await loadCheckpoints(bookie)).latest;
}

export function loadCheckpoints({ disk, journalDirectories, ledgerDirectories }: BookieDirectories): Promise<Checkpoints> {
  return Checkpoints.load(disk, new CheckpointDirectories(new LedgerDirectories(disk, ledgerDirectories), journalDirectories));
}
