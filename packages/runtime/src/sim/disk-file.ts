import type { DiskFile } from '../disk.js';
import { diskErrors } from '../disk-errors.js';
import { invariant } from '../invariant.js';
import type { PendingOperation } from './disk.js';
import type { Platter } from './platter.js';
import type { StoredFile } from './stored-file.js';

/** What a file needs of its `SimDisk`. */
interface Performer {
  perform<T>(operation: PendingOperation<T>): Promise<T>;
}

export class SimDiskFile implements DiskFile {
  readonly path: string;
  readonly #disk: Performer;
  readonly #platter: Platter;
  readonly #file: StoredFile;
  readonly #syncEachWrite: boolean;
  readonly #readOnly: boolean;
  #writing = false;
  #closed = false;

  constructor(disk: Performer, platter: Platter, file: StoredFile, options: { path: string; syncEachWrite: boolean; readOnly: boolean }) {
    this.path = options.path;
    this.#disk = disk;
    this.#platter = platter;
    this.#file = file;
    this.#syncEachWrite = options.syncEachWrite;
    this.#readOnly = options.readOnly;
  }

  bytes(): Promise<number> {
    return this.#perform({ kind: 'bytes', path: this.path, apply: () => this.#file.current.length });
  }

  readAt(position: number, target: Uint8Array): Promise<number> {
    const apply = () => {
      this.#platter.maybeFail('read', this.path, this.#platter.faults.readFailChance);
      return this.#file.current.read(position, target);
    };
    return this.#perform({ kind: 'read', path: this.path, position, bytes: target.length, apply });
  }

  writeAt(position: number, source: Uint8Array): Promise<void> {
    invariant(!this.#writing, `two writes at a time to ${this.path}`);
    this.#writing = true;
    const apply = () => {
      this.#writing = false;
      this.#requireWritable();
      this.#platter.write(this.#file, this.path, position, source, this.#syncEachWrite);
    };
    // A power cut decides by itself what it keeps of an unsynced write.
    const interrupt = (powerLost: boolean) => {
      this.#file.write(position, powerLost ? source : this.#platter.partOf(position, source), false);
    };
    const operation = { kind: 'write', path: this.path, position, bytes: source.length, syncs: this.#syncEachWrite } as const;
    return this.#perform({ ...operation, apply, interrupt });
  }

  sync(): Promise<void> {
    const begun = this.#file.changes();
    return this.#perform({ kind: 'sync', path: this.path, apply: () => this.#platter.sync(this.#file, this.path, begun) });
  }

  truncate(bytes: number): Promise<void> {
    const apply = () => {
      this.#requireWritable();
      this.#file.truncate(bytes);
    };
    const interrupt = () => {
      if (this.#platter.random.chance(0.5)) this.#file.truncate(bytes);
    };
    return this.#perform({ kind: 'truncate', path: this.path, position: bytes, apply, interrupt });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #perform<T>(operation: PendingOperation<T>): Promise<T> {
    if (this.#closed) return Promise.reject(diskErrors.IO(this.path, 'the file is closed'));
    return this.#disk.perform(operation);
  }

  #requireWritable(): void {
    if (this.#readOnly) throw diskErrors.IO(this.path, 'it was opened for reading only');
  }
}
