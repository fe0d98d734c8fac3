import { type Disk, diskErrors } from '@daybook/runtime';
import { syncOrFail } from './sync-or-fail.js';

/** Replaces a small file so that a crash leaves the old or the new content, whole; durable when it resolves. */
export async function replaceFile(disk: Disk, directory: string, name: string, bytes: Uint8Array): Promise<void> {
  const path = `${directory}/${name}`;
  const file = await disk.open(`${path}.new`, { mode: 'write' });
  try {
    await file.truncate(0);
    await file.writeAt(0, bytes);
    await syncOrFail(() => file.sync());
  } catch (error) {
    // Its half-written beginning would only take up room that is missing.
    if (diskErrors.FULL.is(error)) await disk.remove(`${path}.new`);
    throw error;
  } finally {
    await file.close();
  }
  await disk.rename(`${path}.new`, path);
  await syncOrFail(() => disk.syncDirectory(directory));
}

/** The whole file, or undefined when there is none. */
export async function readWholeFile(disk: Disk, path: string): Promise<Buffer | undefined> {
  const bytes = await disk.fileBytes(path);
  if (bytes === undefined) return undefined;
  const file = await disk.open(path, { mode: 'read' });
  try {
    const out = Buffer.alloc(bytes);
    return out.subarray(0, await file.readAt(0, out));
  } finally {
    await file.close();
  }
}
