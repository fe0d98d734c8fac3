import { close, constants, fsync, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs';
import { dirname, join, resolve as resolvePath } from 'node:path';
import type { Disk, DiskFile, DiskLock, DiskUsage, OpenOptions } from '../disk.js';
import { diskFailure, isMissing } from './disk-failure.js';
import { openRealFile } from './disk-file.js';
import { isLockName, lockFolder } from './disk-lock.js';

type Settle<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

/** Files of the operating system. */
export class RealDisk implements Disk {
  open(path: string, options?: OpenOptions): Promise<DiskFile> {
    return openRealFile(path, options);
  }

  rename(from: string, to: string): Promise<void> {
    return call(from, (settle: Settle<void>) => rename(from, to, (error) => settle(error, undefined)));
  }

  remove(path: string): Promise<void> {
    return call(path, (settle: Settle<void>) => unlink(path, (error) => settle(error?.code === 'ENOENT' ? null : error, undefined)));
  }

  /**
   * Syncs the parent of every directory it made. Of one that was there already it syncs the direct parent too: a start that was
   * killed between making and syncing must not leave a directory that only looks durable.
   */
  async makeDirectory(path: string): Promise<void> {
    const target = resolvePath(path);
    const first = await call(path, (settle: Settle<string | undefined>) => mkdir(target, { recursive: true }, settle));
    const highest = dirname(first ?? target);
    for (let directory = dirname(target); ; directory = dirname(directory)) {
      await syncFolder(directory, first === undefined);
      if (directory === highest || directory === dirname(directory)) return;
    }
  }

  async list(directory: string): Promise<string[]> {
    const names = await call(directory, (settle: Settle<string[]>) =>
      readdir(directory, (error, found) => (error?.code === 'ENOENT' ? settle(null, []) : settle(error, found))),
    );
    return names.filter((name) => !isLockName(name)).sort();
  }

  fileBytes(path: string): Promise<number | undefined> {
    return call(path, (settle: Settle<number | undefined>) =>
      stat(path, (error, stats) => {
        if (error !== null) settle(isMissing(error) ? null : error, undefined);
        else settle(null, stats.isFile() ? stats.size : undefined);
      }),
    );
  }

  syncDirectory(directory: string): Promise<void> {
    return syncFolder(directory, false);
  }

  async usage(directory: string): Promise<DiskUsage> {
    const found = await call(directory, (settle: Settle<{ blocks: number; bavail: number; bsize: number }>) => statfs(directory, settle));
    return { totalBytes: found.blocks * found.bsize, freeBytes: found.bavail * found.bsize };
  }

  async lock(path: string): Promise<DiskLock> {
    await this.makeDirectory(path);
    return lockFolder(path);
  }
}

function call<T>(path: string, begin: (settle: Settle<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    begin((error, value) => (error == null ? resolve(value) : reject(diskFailure(path, error))));
  });
}

/** Windows cannot sync a directory (and does not need to). */
function syncFolder(directory: string, tolerateDenied: boolean): Promise<void> {
  if (process.platform === 'win32') return Promise.resolve();
  return call(join(directory, '.'), (settle: Settle<void>) =>
    open(directory, constants.O_RDONLY | constants.O_DIRECTORY, (error, handle) => {
      if (error !== null) return settle(tolerateDenied && error.code === 'EACCES' ? null : error, undefined);
      fsync(handle, (syncError) => close(handle, (closeError) => settle(syncError ?? closeError, undefined)));
    }),
  );
}
