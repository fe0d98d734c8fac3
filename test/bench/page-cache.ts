import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of all files of the machine: `sync`. */
export async function writeOutDirtyPages(): Promise<void> {
  await run('sync', []);
}

/**
 * Drops all files below a folder from the page cache, with `posix_fadvise(DONTNEED)` as `dd` calls it (`/proc/sys/vm/drop_caches` is for the owner of the whole
 * machine). Dirty pages stay, so everything is written out first.
 */
export async function dropFromPageCache(folder: string): Promise<void> {
  await writeOutDirtyPages();
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, String(name));
    if (statSync(path).isFile()) await run('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']);
  }
}
