import type { Disk } from '@daybook/runtime';
import type { LedgerDirectories } from './storage/ledger-directories.js';
import { readWholeFile, replaceFile } from './storage/replace-file.js';
import { syncOrFail } from './storage/sync-or-fail.js';

/**
 * Modes that outlive a restart, as small files in every ledger directory; one of them is enough. `READONLY`: an operator wants the bookie to take nothing in.
 * `LIMBO`: its journal was repaired, so it may have lost entries and fences that it acknowledged, and must not say of anything that it is not there.
 */
export const markerNames = { readOnly: 'READONLY', limbo: 'LIMBO' } as const;
export type MarkerName = (typeof markerNames)[keyof typeof markerNames];

/** The text of a marker, or undefined when there is none. */
export async function readMarker(disk: Disk, directories: readonly string[], name: MarkerName): Promise<string | undefined> {
  for (const directory of directories) {
    const bytes = await readWholeFile(disk, `${directory}/${name}`);
    if (bytes !== undefined) return bytes.toString('utf8');
  }
  return undefined;
}

/** Durable when it resolves. */
export async function setMarker(disk: Disk, directories: readonly string[], name: MarkerName, text: string): Promise<void> {
  for (const directory of directories) await replaceFile(disk, directory, name, Buffer.from(text));
}

export async function removeMarker(disk: Disk, directories: readonly string[], name: MarkerName): Promise<void> {
  for (const directory of directories) {
    await disk.remove(`${directory}/${name}`);
    await syncOrFail(() => disk.syncDirectory(directory));
  }
}

/** While the bookie runs: sets a marker, or removes it without a text; a directory that fails is taken out. */
export async function switchMarker(disk: Disk, ledgers: LedgerDirectories, name: MarkerName, text: string | undefined): Promise<void> {
  await ledgers.each((path) => (text === undefined ? removeMarker(disk, [path], name) : setMarker(disk, [path], name, text)));
}
