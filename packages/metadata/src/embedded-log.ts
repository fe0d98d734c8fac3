import { type Disk, type DiskFile, diskErrors } from '@daybook/runtime';
import {
  decodeRecord,
  encodeHeader,
  encodeRecord,
  encodeSnapshot,
  hasRecordAfter,
  headerBytes,
  headerFault,
  headerGeneration,
  type StoredChange,
} from './embedded-log-format.js';
import { metadataErrors } from './errors.js';
import { MetadataTree } from './metadata-tree.js';

const snapshotName = 'snapshot';
const temporaryName = 'snapshot.tmp';
const logName = (generation: number) => `log-${generation}`;

/**
 * The files behind the embedded store: one snapshot and the log that goes on from it.
 *
 * A new generation: next log made and synced → snapshot written beside the old one and synced → renamed over it and the directory synced (from here the
 * new pair counts) → old log removed. A crash anywhere leaves one complete pair; what else lies about is removed at the next opening.
 */
export class EmbeddedLog {
  readonly #disk: Disk;
  readonly #directory: string;
  #generation = 0;
  #file: DiskFile | undefined;
  #recordNumber = 1;
  /** Where the next record goes. */
  #position = headerBytes;
  #snapshotBytes = 0;

  private constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  /** Reads everything back; rejects with `METADATA_CORRUPT`, naming file and offset, rather than leave anything out. */
  static async open(disk: Disk, directory: string): Promise<{ log: EmbeddedLog; tree: MetadataTree }> {
    await disk.makeDirectory(directory);
    const log = new EmbeddedLog(disk, directory);
    const tree = new MetadataTree();
    const names = await disk.list(directory);
    if (names.includes(snapshotName)) await log.#readSnapshot(tree);
    await log.#readLog(tree, names);
    const leftovers = names.filter((name) => name === temporaryName || (/^log-\d+$/.test(name) && name !== logName(log.#generation)));
    for (const name of leftovers) await disk.remove(log.#path(name));
    return { log, tree };
  }

  get logBytes(): number {
    return this.#position;
  }

  get snapshotBytes(): number {
    return this.#snapshotBytes;
  }

  /** Durable when it resolves. After `DISK_FULL` nothing has changed and the next one may work; after any other rejection nothing may be trusted. */
  async append(changes: readonly StoredChange[]): Promise<void> {
    const file = this.#file as DiskFile;
    const record = encodeRecord({ generation: this.#generation, position: this.#position, number: this.#recordNumber }, changes);
    try {
      await file.writeAt(this.#position, record);
    } catch (error) {
      if (diskErrors.FULL.is(error)) {
        await file.truncate(this.#position);
        await file.sync();
      }
      throw error;
    }
    this.#position += record.length;
    this.#recordNumber += 1;
  }

  /** `snapshot` made by {@link encodeNext} of exactly what has been appended. Rejects with `DISK_FULL` when nothing has changed. */
  async startGeneration(snapshot: Buffer): Promise<void> {
    const generation = this.#generation + 1;
    const next = await this.#makeLog(generation);
    try {
      await this.#write(temporaryName, snapshot);
    } catch (error) {
      await next.close();
      if (diskErrors.FULL.is(error)) await this.#disk.remove(this.#path(temporaryName));
      throw error;
    }
    await this.#disk.rename(this.#path(temporaryName), this.#path(snapshotName));
    await this.#disk.syncDirectory(this.#directory);
    const old = { file: this.#file as DiskFile, name: logName(this.#generation) };
    this.#file = next;
    this.#generation = generation;
    this.#position = headerBytes;
    this.#recordNumber = 1;
    this.#snapshotBytes = snapshot.length;
    await old.file.close();
    await this.#disk.remove(this.#path(old.name));
  }

  encodeNext(tree: MetadataTree): Buffer {
    return encodeSnapshot(tree, this.#generation + 1);
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #path(name: string): string {
    return `${this.#directory}/${name}`;
  }

  async #readSnapshot(tree: MetadataTree): Promise<void> {
    const path = this.#path(snapshotName);
    const file = await this.#read(path);
    const fault = headerFault(file, 'snapshot');
    if (fault !== undefined) throw corrupt(path, 0, fault);
    this.#generation = headerGeneration(file);
    this.#snapshotBytes = file.length;
    const { position, ended } = replay(path, file, this.#generation, tree);
    if (!ended) throw corrupt(path, position, 'the rest of the snapshot is missing or damaged');
  }

  async #readLog(tree: MetadataTree, names: readonly string[]): Promise<void> {
    const name = logName(this.#generation);
    const path = this.#path(name);
    if (!names.includes(name)) {
      if (this.#generation > 0 || names.some((each) => each.startsWith('log-'))) throw corrupt(path, 0, 'the file is missing');
      this.#file = await this.#makeLog(0);
      return;
    }
    const file = await this.#read(path);
    const fault = headerFault(file, 'log', this.#generation);
    if (fault !== undefined) {
      // Only the very first log can be met half made: it is not preceded by anything.
      if (this.#generation > 0 || hasRecordAfter(file, 0, 0)) throw corrupt(path, 0, fault);
      this.#file = await this.#makeLog(0);
      return;
    }
    const { position, number } = replay(path, file, this.#generation, tree);
    if (hasRecordAfter(file, this.#generation, position)) throw corrupt(path, position, 'a record is damaged and good ones follow it');
    this.#file = await this.#disk.open(path, { syncEachWrite: true });
    this.#position = position;
    this.#recordNumber = number;
    if (position < file.length) {
      await this.#file.truncate(position);
      await this.#file.sync();
    }
  }

  async #makeLog(generation: number): Promise<DiskFile> {
    const file = await this.#disk.open(this.#path(logName(generation)), { syncEachWrite: true });
    await file.truncate(0);
    await file.writeAt(0, encodeHeader('log', generation));
    await file.sync();
    await this.#disk.syncDirectory(this.#directory);
    return file;
  }

  async #write(name: string, content: Buffer): Promise<void> {
    const file = await this.#disk.open(this.#path(name));
    try {
      await file.truncate(0);
      await file.writeAt(0, content);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async #read(path: string): Promise<Buffer> {
    const file = await this.#disk.open(path, { mode: 'read' });
    const content = Buffer.alloc(await file.bytes());
    const bytes = await file.readAt(0, content);
    await file.close();
    if (bytes < content.length) throw corrupt(path, bytes, 'it ended while it was read');
    return content;
  }
}

/** Applies all good records; says where they end. */
function replay(path: string, file: Buffer, generation: number, tree: MetadataTree): { position: number; number: number; ended: boolean } {
  let position = headerBytes;
  let number = 1;
  for (; ; number++) {
    const record = decode(path, file, { generation, position, number });
    if (record === undefined) return { position, number, ended: false };
    for (const change of record.changes) {
      if (change.kind === 'end') {
        if (change.valuesCount !== tree.nodesCount)
          throw corrupt(path, position, `it has ${tree.nodesCount} values instead of ${change.valuesCount}`);
        return { position: record.end, number, ended: true };
      }
      apply(path, position, change, tree);
    }
    position = record.end;
  }
}

function decode(path: string, file: Buffer, place: { generation: number; position: number; number: number }) {
  try {
    return decodeRecord(file, place);
  } catch (error) {
    throw corrupt(path, place.position, (error as Error).message);
  }
}

function apply(path: string, position: number, change: Exclude<StoredChange, { kind: 'end' }>, tree: MetadataTree): void {
  const parent = change.kind === 'put' ? change.path.slice(0, Math.max(1, change.path.lastIndexOf('/'))) : change.path;
  if (change.path !== '/' && tree.get(parent) === undefined)
    throw corrupt(path, position, `there is no ${parent} for its ${change.kind} of ${change.path}`);
  if (change.kind === 'put') tree.restore(change.path, change.value, change.version);
  else if (change.kind === 'sequence') tree.restoreSequence(change.path, change.next);
  else if (!tree.restoreDelete(change.path)) throw corrupt(path, position, `${change.path} cannot be deleted`);
}

function corrupt(path: string, offset: number, detail: string): Error {
  return metadataErrors.CORRUPT(`${path}, offset ${offset}`, `${detail}. Restore the folder from a copy; nothing was changed`);
}
