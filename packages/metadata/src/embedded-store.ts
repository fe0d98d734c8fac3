import type { Disk, DiskLock } from '@daybook/runtime';
import { diskErrors } from '@daybook/runtime';
import { EmbeddedLog } from './embedded-log.js';
import { type StoredChange, storedChanges } from './embedded-log-format.js';
import { metadataErrors } from './errors.js';
import { checkPath, checkWritablePath } from './metadata-path.js';
import type { Expected, MetadataStore, PutOptions, PutResult, SessionState, Versioned, Watch } from './metadata-store.js';
import { type MetadataTree, noOwner, type TreeChange } from './metadata-tree.js';
import { checkPut } from './put-checks.js';
import { SessionListeners } from './session-listeners.js';
import { WatchTable } from './watch-table.js';

export interface EmbeddedOptions {
  disk: Disk;
  /** Made when it is missing; belongs to this store alone. */
  directory: string;
  /** The log is folded into a new snapshot when it is longer than this and than the last snapshot. */
  logBytesMax?: number;
  /** The disk failed in a way after which the process has to stop; default: an uncaught error, which stops it. */
  onFailure?: (error: Error) => void;
}

/** Opens or makes a store; rejects with `DISK_LOCKED` while another process has it, `METADATA_CORRUPT` when its files are damaged. */
export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  await options.disk.makeDirectory(options.directory);
  const lock = await options.disk.lock(`${options.directory}/lock`);
  try {
    const { log, tree } = await EmbeddedLog.open(options.disk, options.directory);
    return new EmbeddedStore(options, lock, log, tree);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** One call, in the order in which calls came: its changes are in the tree already, but not yet safe. */
interface Pending {
  changes: TreeChange[];
  stored: StoredChange[];
  bytes: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * A {@link MetadataStore} of one process, in a folder. Writes take effect in memory at once, in call order, and are answered when the log record that
 * holds them is synced; whatever has queued meanwhile is the next record (one sync in flight). Reads are answered after the writes that they saw, watchers
 * called then too: nobody learns of a value that a crash could undo. Ephemeral values end with the process and are never written.
 *
 * States: open → (disk full: what was queued is undone and rejected, still open) → failed (any other disk error: all calls reject, `onFailure`) | closed.
 */
export class EmbeddedStore implements MetadataStore {
  /** No value of another process is ever there. */
  readonly sessionTimeoutMs = 0;
  readonly #lock: DiskLock;
  readonly #log: EmbeddedLog;
  readonly #tree: MetadataTree;
  readonly #logBytesMax: number;
  readonly #onFailure: (error: Error) => void;
  readonly #listeners = new SessionListeners('connected');
  readonly #watches = new WatchTable();
  #pending: Pending[] = [];
  #pendingBytes = 0;
  #committing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #failure: Error | undefined;
  /** After a snapshot found no room: the log may grow to this before the next attempt. */
  #snapshotAtBytes = 0;

  /** @internal Use {@link openEmbeddedStore}. */
  constructor(options: EmbeddedOptions, lock: DiskLock, log: EmbeddedLog, tree: MetadataTree) {
    this.#lock = lock;
    this.#log = log;
    this.#tree = tree;
    this.#logBytesMax = options.logBytesMax ?? 4 * 1024 * 1024;
    this.#onFailure = options.onFailure ?? stopProcess;
  }

  get session(): SessionState {
    return this.#listeners.state;
  }

  onSession(listener: (state: SessionState) => void): Watch {
    return this.#listeners.add(listener);
  }

  async get(path: string): Promise<Versioned | undefined> {
    checkPath(path);
    this.#checkOpen();
    const node = this.#tree.get(path);
    const found = node && { value: Buffer.from(node.value), version: node.version, ownEphemeral: node.owner !== noOwner };
    await this.#settled();
    return found;
  }

  async children(path: string): Promise<string[]> {
    checkPath(path);
    this.#checkOpen();
    const names = this.#tree.children(path);
    await this.#settled();
    return names;
  }

  async put(path: string, value: Uint8Array, expected: Expected, options: PutOptions = {}): Promise<PutResult> {
    checkPut(path, value, expected, options);
    this.#checkOpen();
    this.#checkRoom(value.length);
    const changes: TreeChange[] = [];
    const result = this.#tree.put(path, Buffer.from(value), expected, { ...options, owner: thisProcess }, changes);
    await this.#commit(changes);
    return result;
  }

  async delete(path: string, expected: number | 'any'): Promise<void> {
    checkWritablePath(path);
    this.#checkOpen();
    this.#checkRoom(0);
    const changes: TreeChange[] = [];
    this.#tree.delete(path, expected, changes);
    await this.#commit(changes);
  }

  watch(path: string, listener: () => void): Watch {
    checkPath(path);
    return this.#watches.add(path, listener);
  }

  /** Waits for the writes under way. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#watches.clear();
    this.#listeners.change('closed');
    await this.#committing;
    await this.#log.close();
    await this.#lock.release();
  }

  #checkOpen(): void {
    if (this.#failure !== undefined) throw metadataErrors.UNAVAILABLE('its disk has failed', { cause: this.#failure });
    if (this.#closing !== undefined) throw metadataErrors.CLOSED();
  }

  #checkRoom(bytes: number): void {
    if (this.#pendingBytes + bytes > pendingBytesMax) throw metadataErrors.UNAVAILABLE(`${this.#pendingBytes} bytes wait for the disk already`);
  }

  /** Resolves when all that is in the tree now is safe. */
  #settled(): Promise<void> {
    return this.#committing === undefined ? Promise.resolve() : this.#commit([]);
  }

  #commit(changes: TreeChange[]): Promise<void> {
    // What to store is fixed now: a later write to the same value has its own record.
    const stored = storedChanges(changes);
    const bytes = stored.reduce((sum, change) => sum + (change.kind === 'put' ? change.value.length : 0) + 64, 0);
    this.#pendingBytes += bytes;
    const committed = new Promise<void>((resolve, reject) => this.#pending.push({ changes, stored, bytes, resolve, reject }));
    this.#committing ??= this.#commitAll();
    return committed;
  }

  async #commitAll(): Promise<void> {
    // Lets the calls made in this same moment come along.
    await Promise.resolve();
    while (this.#pending.length > 0 && this.#failure === undefined) {
      const batch = this.#take();
      const snapshot = this.#pending.length === 0 && this.#isLogLong() ? this.#log.encodeNext(this.#tree) : undefined;
      try {
        const stored = batch.flatMap((each) => each.stored);
        if (stored.length > 0) await this.#log.append(stored);
      } catch (error) {
        this.#refuse(batch, error as Error);
        continue;
      }
      this.#answer(batch);
      if (snapshot !== undefined) await this.#startGeneration(snapshot);
    }
    this.#committing = undefined;
  }

  #take(): Pending[] {
    let count = 0;
    let bytes = 0;
    while (count < this.#pending.length && bytes < recordBytesMax) bytes += this.#pending[count++]?.bytes ?? 0;
    const rest = this.#pending.slice(count);
    const batch = this.#pending.slice(0, count);
    this.#pending = rest;
    return batch;
  }

  #answer(batch: readonly Pending[]): void {
    for (const each of batch) {
      this.#pendingBytes -= each.bytes;
      this.#watches.changed(each.changes);
      each.resolve();
    }
  }

  /** What is queued was decided on top of what could not be written: all of it is undone. */
  #refuse(batch: readonly Pending[], cause: Error): void {
    const refused = [...batch, ...this.#pending];
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#tree.undo(refused.flatMap((each) => each.changes));
    const isFull = diskErrors.FULL.is(cause);
    if (!isFull) this.#fail(cause);
    const error = metadataErrors.UNAVAILABLE(isFull ? 'no space left for its log' : 'its disk has failed', { cause });
    for (const each of refused) each.reject(error);
  }

  #fail(cause: Error): void {
    this.#failure = cause;
    this.#listeners.change('lost');
    this.#onFailure(cause);
  }

  #isLogLong(): boolean {
    return this.#log.logBytes > Math.max(this.#logBytesMax, this.#log.snapshotBytes, this.#snapshotAtBytes);
  }

  async #startGeneration(snapshot: Buffer): Promise<void> {
    try {
      await this.#log.startGeneration(snapshot);
      this.#snapshotAtBytes = 0;
    } catch (error) {
      if (diskErrors.FULL.is(error)) this.#snapshotAtBytes = this.#log.logBytes * 2;
      else this.#refuse([], error as Error);
    }
  }
}

const thisProcess = 1;
const pendingBytesMax = 64 * 1024 * 1024;
const recordBytesMax = 4 * 1024 * 1024;

function stopProcess(error: Error): void {
  queueMicrotask(() => {
    throw error;
  });
}
