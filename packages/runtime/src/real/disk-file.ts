import { close, constants, fdatasync, fstat, ftruncate, open, read, write } from 'node:fs';
import type { DiskFile, OpenOptions } from '../disk.js';
import { diskErrors } from '../disk-errors.js';
import { invariant } from '../invariant.js';
import { diskFailure } from './disk-failure.js';

/** macOS has the flag but keeps the data in the drive's cache, Windows has no such flag: there a write is followed by a sync. */
const syncFlagWorks = process.platform === 'linux' || process.platform === 'freebsd';

const modeFlags = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR | constants.O_CREAT,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
};

export function openRealFile(path: string, { mode = 'write', syncEachWrite = false }: OpenOptions = {}): Promise<DiskFile> {
  const flags = modeFlags[mode] | (syncEachWrite && syncFlagWorks ? constants.O_DSYNC : 0);
  return new Promise((resolve, reject) => {
    open(path, flags, 0o644, (error, handle) => {
      if (error === null) resolve(new RealDiskFile(path, handle, syncEachWrite && !syncFlagWorks));
      else reject(diskFailure(path, error));
    });
  });
}

/**
 * Callbacks instead of fs/promises: one trip to the thread pool and one promise per call.
 * `close` waits for what is under way, as the number of a closed file may be given to another one.
 */
class RealDiskFile implements DiskFile {
  readonly path: string;
  readonly #handle: number;
  readonly #syncAfterWrite: boolean;
  #pendingCalls = 0;
  #writing = false;
  #closed: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(path: string, handle: number, syncAfterWrite: boolean) {
    this.path = path;
    this.#handle = handle;
    this.#syncAfterWrite = syncAfterWrite;
  }

  bytes(): Promise<number> {
    return this.#call((done, fail) => {
      fstat(this.#handle, (error, stats) => (error === null ? done(stats.size) : fail(error)));
    });
  }

  readAt(position: number, target: Uint8Array): Promise<number> {
    return this.#call((done, fail) => {
      let filled = 0;
      const next = () => {
        read(this.#handle, target, filled, target.length - filled, position + filled, (error, count) => {
          if (error !== null) return fail(error);
          filled += count;
          if (count === 0 || filled === target.length) done(filled);
          else next();
        });
      };
      if (target.length === 0) done(0);
      else next();
    });
  }

  writeAt(position: number, source: Uint8Array): Promise<void> {
    invariant(!this.#writing, `two writes at a time to ${this.path}`);
    this.#writing = true;
    return this.#call<void>((done, fail) => {
      let written = 0;
      const end = (error: NodeJS.ErrnoException | null) => {
        this.#writing = false;
        if (error === null) done();
        else fail(error);
      };
      const next = () => {
        if (written === source.length) return this.#syncAfterWrite ? fdatasync(this.#handle, end) : end(null);
        write(this.#handle, source, written, source.length - written, position + written, (error, count) => {
          if (error !== null) return end(error);
          if (count === 0) return end(new Error('the system wrote nothing'));
          written += count;
          next();
        });
      };
      next();
    });
  }

  sync(): Promise<void> {
    return this.#call((done, fail) => fdatasync(this.#handle, (error) => (error === null ? done() : fail(error))));
  }

  truncate(bytes: number): Promise<void> {
    return this.#call((done, fail) => ftruncate(this.#handle, bytes, (error) => (error === null ? done() : fail(error))));
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve, reject) => {
      const end = () => close(this.#handle, (error) => (error == null ? resolve() : reject(diskFailure(this.path, error))));
      if (this.#pendingCalls === 0) end();
      else this.#idle = end;
    });
    return this.#closed;
  }

  #call<T>(begin: (done: (value: T) => void, fail: (error: NodeJS.ErrnoException) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return reject(diskErrors.IO(this.path, 'the file is closed'));
      this.#pendingCalls++;
      begin(
        (value) => {
          this.#ended();
          resolve(value);
        },
        (error) => {
          this.#ended();
          reject(diskFailure(this.path, error));
        },
      );
    });
  }

  #ended(): void {
    this.#pendingCalls--;
    if (this.#pendingCalls === 0) this.#idle?.();
  }
}
