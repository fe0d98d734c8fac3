import { type Disk, type DiskFile, type DiskLock, type DiskUsage, diskErrors, type OpenOptions } from '@daybook/runtime';

/** `dead`: nothing works. `read only`: what is there can be read. `full`: nothing grows; names, removals and overwriting work. */
export type DirectoryFault = 'dead' | 'read only' | 'full';

type Kind = 'read' | 'write' | 'grow' | 'free';

/** A disk on which single directories have troubles of their own, as if each were a disk. */
export class FaultyDisk implements Disk {
  readonly #inner: Disk;
  readonly #faults: ReadonlyMap<string, DirectoryFault>;

  constructor(inner: Disk, faults: ReadonlyMap<string, DirectoryFault>) {
    this.#inner = inner;
    this.#faults = faults;
  }

  async open(path: string, options: OpenOptions = {}): Promise<DiskFile> {
    const isThere = (await this.#inner.fileBytes(path)) !== undefined;
    this.check(path, options.mode === 'read' ? 'read' : isThere ? 'write' : 'grow');
    return new FaultyFile(await this.#inner.open(path, options), this);
  }

  async rename(from: string, to: string): Promise<void> {
    this.check(from, 'write');
    return this.#inner.rename(from, to);
  }

  async remove(path: string): Promise<void> {
    this.check(path, 'free');
    return this.#inner.remove(path);
  }

  async makeDirectory(path: string): Promise<void> {
    this.check(`${path}/`, 'write');
    return this.#inner.makeDirectory(path);
  }

  async list(directory: string): Promise<string[]> {
    this.check(`${directory}/`, 'read');
    return this.#inner.list(directory);
  }

  async fileBytes(path: string): Promise<number | undefined> {
    this.check(path, 'read');
    return this.#inner.fileBytes(path);
  }

  async syncDirectory(directory: string): Promise<void> {
    this.check(`${directory}/`, 'write');
    return this.#inner.syncDirectory(directory);
  }

  async usage(directory: string): Promise<DiskUsage> {
    const fault = this.check(`${directory}/`, 'read');
    const usage = await this.#inner.usage(directory);
    return fault === 'full' ? { ...usage, freeBytes: 0 } : usage;
  }

  async lock(path: string): Promise<DiskLock> {
    this.check(path, 'write');
    return this.#inner.lock(path);
  }

  check(path: string, kind: Kind): DirectoryFault | undefined {
    for (const [directory, fault] of this.#faults) {
      if (!path.startsWith(`${directory}/`)) continue;
      if (fault === 'dead' || (fault === 'read only' && kind !== 'read')) throw diskErrors.IO(path, `the disk is ${fault}`);
      if (fault === 'full' && kind === 'grow') throw diskErrors.FULL(path);
      return fault;
    }
    return undefined;
  }
}

class FaultyFile implements DiskFile {
  readonly path: string;
  readonly #inner: DiskFile;
  readonly #disk: FaultyDisk;

  constructor(inner: DiskFile, disk: FaultyDisk) {
    this.path = inner.path;
    this.#inner = inner;
    this.#disk = disk;
  }

  async bytes(): Promise<number> {
    this.#disk.check(this.path, 'read');
    return this.#inner.bytes();
  }

  async readAt(position: number, target: Uint8Array): Promise<number> {
    this.#disk.check(this.path, 'read');
    return this.#inner.readAt(position, target);
  }

  async writeAt(position: number, source: Uint8Array): Promise<void> {
    if (this.#disk.check(this.path, 'write') === 'full' && position + source.length > (await this.#inner.bytes())) throw diskErrors.FULL(this.path);
    return this.#inner.writeAt(position, source);
  }

  async sync(): Promise<void> {
    this.#disk.check(this.path, 'write');
    return this.#inner.sync();
  }

  async truncate(bytes: number): Promise<void> {
    this.#disk.check(this.path, 'write');
    return this.#inner.truncate(bytes);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
