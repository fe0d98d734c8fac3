import type { Disk } from '@daybook/runtime';
import { journalFileId } from '../journal/journal-format.js';
import { logIdIn } from '../storage/entry-log-format.js';

export const diskFileKinds = ['journal', 'entrylog', 'index'] as const;
export type DiskFileKind = (typeof diskFileKinds)[number];

export interface FileOnDisk {
  kind: DiskFileKind;
  path: string;
  name: string;
  bytes: number;
}

/** Journal files, entry logs and indexes, of a bookie that runs or not; those that vanish meanwhile are left out. */
export async function listFilesOnDisk(
  disk: Disk,
  { journalDirectories, ledgerDirectories }: { journalDirectories: readonly string[]; ledgerDirectories: readonly string[] },
  kinds: readonly DiskFileKind[] = diskFileKinds,
): Promise<FileOnDisk[]> {
  const files: FileOnDisk[] = [];
  for (const directory of new Set([...journalDirectories, ...ledgerDirectories])) {
    for (const name of await disk.list(directory)) {
      const kind = kindOf(name);
      if (kind === undefined || !kinds.includes(kind)) continue;
      const bytes = await disk.fileBytes(`${directory}/${name}`);
      if (bytes !== undefined) files.push({ kind, path: `${directory}/${name}`, name, bytes });
    }
  }
  return files;
}

function kindOf(name: string): DiskFileKind | undefined {
  if (journalFileId(name) !== undefined || name.endsWith('.journal.spare')) return 'journal';
  if (logIdIn(name) === undefined) return undefined;
  return name.endsWith('.idx') ? 'index' : 'entrylog';
}
