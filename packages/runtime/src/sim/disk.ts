import { posix } from 'node:path';
import type { Disk, DiskFile, DiskLock, DiskUsage, OpenOptions } from '../disk.js';
import { diskErrors } from '../disk-errors.js';
import type { SimClock } from './clock.js';
import type { CrashOptions, DiskOperation, SimDiskFaults } from './disk-faults.js';
import { SimDiskFile } from './disk-file.js';
import { Platter } from './platter.js';
import type { SimRandom } from './random.js';
import { StoredFile } from './stored-file.js';

export interface SimDiskOptions {
  /** The clock of the process that uses the disk: its operations end when that clock lets them. */
  clock: SimClock;
  /** Default: an own stream of the queue's. */
  random?: SimRandom;
  capacityBytes?: number;
  faults?: Partial<SimDiskFaults>;
}

/** An operation on its way: `apply` is its effect, `interrupt` what may be left of it when the process or the power goes away meanwhile. */
export interface PendingOperation<T> extends DiskOperation {
  readonly syncs?: boolean;
  apply(): T;
  interrupt?(powerLost: boolean): void;
}

/**
 * A node's disk as one run of its process sees it. `crash` is a power cut, `kill` only the end of the process; after either, this object and
 * its files are dead (nothing they were asked ever ends) and `boot` gives the next run's view of what survived.
 * Operations take simulated time and end in the node's clock; a paused node's disk works on.
 */
export class SimDisk implements Disk {
  readonly #clock: SimClock;
  readonly #platter: Platter;
  readonly #views: Set<SimDisk>;
  readonly #pending = new Set<PendingOperation<unknown>>();
  #dead = false;
  #crashIn = Number.POSITIVE_INFINITY;
  #crashOptions: CrashOptions = {};
  /** Called when an operation was asked for, before it has any effect. May crash the disk. */
  beforeOperation: ((operation: DiskOperation) => void) | undefined;
  /** Called when an operation has had its effect, before its caller learns of it. May crash the disk. */
  afterOperation: ((operation: DiskOperation) => void) | undefined;
  /** Called at the end of `crash` and `kill`: the place to stop the node's clock. */
  onCrash: (() => void) | undefined;

  constructor(options: SimDiskOptions, survivors?: { platter: Platter; views: Set<SimDisk> }) {
    const { clock, random = clock.queue.random.fork(`${clock.name} disk`), capacityBytes = Number.MAX_SAFE_INTEGER, faults } = options;
    this.#clock = clock;
    this.#platter = survivors?.platter ?? new Platter(random, capacityBytes);
    this.#views = survivors?.views ?? new Set();
    this.#views.add(this);
    if (faults !== undefined) this.setFaults(faults);
  }

  /** The same disk for another process: after a crash the restarted one, before it a second one that runs beside this one. */
  boot(clock: SimClock = this.#clock): SimDisk {
    return new SimDisk({ clock }, { platter: this.#platter, views: this.#views });
  }

  /** The power fails: unsynced changes are kept, dropped or torn; all processes on this disk are dead. */
  crash(options: CrashOptions = {}): void {
    this.#clock.queue.trace.record(this.#clock.queue.nowMs, this.#clock.name, 'disk crash');
    const views = [...this.#views];
    for (const view of views) view.#die(true);
    this.#platter.losePower(options);
    for (const view of views) view.onCrash?.();
  }

  /** kill -9: the process is gone, what it wrote is still in the system's memory (and unsynced there). */
  kill(): void {
    this.#clock.queue.trace.record(this.#clock.queue.nowMs, this.#clock.name, 'disk kill');
    this.#die(false);
    this.onCrash?.();
  }

  /** Lets `count` more operations begin; the one after them is caught by a crash while it is under way. */
  crashAfter(count: number, options: CrashOptions = {}): void {
    this.#crashIn = count;
    this.#crashOptions = options;
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** Operations asked for since the disk was new, over all its boots. */
  get operationsCount(): number {
    return this.#platter.operationsCount;
  }

  setFaults(faults: Partial<SimDiskFaults>): void {
    this.#platter.faults = { ...this.#platter.faults, ...faults };
  }

  setCapacityBytes(bytes: number): void {
    this.#platter.capacityBytes = bytes;
  }

  failNextSync(count = 1): void {
    this.#platter.failNext('sync', count);
  }

  failNextRead(count = 1): void {
    this.#platter.failNext('read', count);
  }

  failNextWrite(count = 1): void {
    this.#platter.failNext('write', count);
  }

  /** Nothing that is asked for from now on ends before then. */
  stallFor(durationMs: number): void {
    this.#platter.stalledUntilMs = this.#clock.queue.nowMs + durationMs;
  }

  /** Flips one bit of what is stored, durable image included; false when the file has no such byte. */
  flipBit(path: string, position: number, bit = 0): boolean {
    return this.#platter.names.file(absolute(path))?.flipBit(position, bit) ?? false;
  }

  /** Flips one bit of some file; false when nothing is stored. */
  flipRandomBit(matches: (path: string) => boolean = () => true): boolean {
    return this.#platter.flipRandomBit(matches);
  }

  /** What a file holds now, for checkers: no time passes and no fault strikes. */
  peek(path: string): Buffer | undefined {
    const file = this.#platter.names.file(absolute(path));
    if (file === undefined) return undefined;
    const out = Buffer.alloc(file.current.length);
    file.current.read(0, out);
    return out;
  }

  async open(path: string, { mode = 'write', syncEachWrite = false }: OpenOptions = {}): Promise<DiskFile> {
    const full = absolute(path);
    const make = () => this.#openFile(full, path, mode);
    const file = await this.perform({ kind: 'open', path: full, apply: make, interrupt: this.#maybe(make) });
    return new SimDiskFile(this, this.#platter, file, { path, syncEachWrite, readOnly: mode === 'read' });
  }

  rename(from: string, to: string): Promise<void> {
    const [source, target] = [absolute(from), absolute(to)];
    const apply = () => {
      const { names } = this.#platter;
      if (names.file(source) === undefined) throw diskErrors.NOT_FOUND(from);
      this.#platter.requireParent(target);
      this.#platter.requireNoDirectory(target);
      names.rename(source, target);
    };
    return this.perform({ kind: 'rename', path: source, apply, interrupt: this.#maybe(apply) });
  }

  remove(path: string): Promise<void> {
    const full = absolute(path);
    const apply = () => {
      this.#platter.requireNoDirectory(full);
      this.#platter.names.remove(full);
    };
    return this.perform({ kind: 'remove', path: full, apply, interrupt: this.#maybe(apply) });
  }

  makeDirectory(path: string): Promise<void> {
    const full = absolute(path);
    const apply = () => {
      if (this.#platter.names.file(full) !== undefined) throw diskErrors.EXISTS(path);
      this.#platter.names.makeDirectory(full);
    };
    return this.perform({ kind: 'make-directory', path: full, apply, interrupt: this.#maybe(apply) });
  }

  list(directory: string): Promise<string[]> {
    const full = absolute(directory);
    const apply = () => {
      if (this.#platter.names.file(full) !== undefined) throw diskErrors.IO(directory, 'it is not a directory');
      return this.#platter.names.list(full);
    };
    return this.perform({ kind: 'list', path: full, apply });
  }

  fileBytes(path: string): Promise<number | undefined> {
    const full = absolute(path);
    return this.perform({ kind: 'bytes', path: full, apply: () => this.#platter.names.file(full)?.current.length });
  }

  syncDirectory(directory: string): Promise<void> {
    const full = absolute(directory);
    const begun = this.#platter.names.changes();
    const apply = () => {
      if (!this.#platter.names.hasDirectory(full)) throw diskErrors.NOT_FOUND(directory);
      this.#platter.maybeFail('sync-directory', directory, this.#platter.faults.syncFailChance);
      this.#platter.names.syncDirectory(full, begun);
    };
    return this.perform({ kind: 'sync-directory', path: full, apply });
  }

  usage(directory: string): Promise<DiskUsage> {
    const full = absolute(directory);
    const apply = () => {
      if (!this.#platter.names.hasDirectory(full)) throw diskErrors.NOT_FOUND(directory);
      const totalBytes = this.#platter.capacityBytes;
      return { totalBytes, freeBytes: Math.max(0, totalBytes - this.#platter.usedBytes()) };
    };
    return this.perform({ kind: 'usage', path: full, apply });
  }

  lock(path: string): Promise<DiskLock> {
    const full = absolute(path);
    const apply = (): DiskLock => {
      this.#platter.names.makeDirectory(full);
      if (this.#platter.locks.has(full)) throw diskErrors.LOCKED(path);
      const held = { by: this };
      this.#platter.locks.set(full, held);
      const release = async () => {
        if (this.#platter.locks.get(full) === held) this.#platter.locks.delete(full);
      };
      return { release };
    };
    return this.perform({ kind: 'lock', path: full, apply });
  }

  /** Runs one operation in simulated time; for this class and its files. */
  perform<T>(operation: PendingOperation<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#dead) return;
      this.#platter.operationsCount++;
      this.beforeOperation?.(operation);
      if (this.#dead) return;
      this.#pending.add(operation);
      if (this.#crashIn-- === 0) return this.crash(this.#crashOptions);
      const { queue, name } = this.#clock;
      const latencyMs = this.#platter.latencyMs(operation.kind, queue.nowMs, operation.syncs ?? false);
      queue.schedule(latencyMs, () => this.#finish(operation, resolve, reject), `${name} disk ${operation.kind} ${operation.path}`);
    });
  }

  #finish<T>(operation: PendingOperation<T>, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    if (this.#dead) return;
    this.#pending.delete(operation);
    let outcome: () => void;
    try {
      const value = operation.apply();
      outcome = () => resolve(value);
    } catch (error) {
      outcome = () => reject(error);
    }
    this.afterOperation?.(operation);
    this.#clock.deliver(() => {
      if (!this.#dead) outcome();
    });
  }

  #openFile(full: string, path: string, mode: 'read' | 'write' | 'create'): StoredFile {
    const { names } = this.#platter;
    const existing = names.file(full);
    if (mode === 'create' && (existing !== undefined || names.hasDirectory(full))) throw diskErrors.EXISTS(path);
    this.#platter.requireNoDirectory(full);
    if (existing !== undefined) return existing;
    if (mode === 'read') throw diskErrors.NOT_FOUND(path);
    this.#platter.requireParent(full);
    const file = new StoredFile();
    names.create(full, file);
    return file;
  }

  /** A change that was under way when the process ended may have happened. */
  #maybe(apply: () => unknown): () => void {
    return () => {
      if (!this.#platter.random.chance(0.5)) return;
      try {
        apply();
      } catch {
        // It would have failed, and nobody is left to be told.
      }
    };
  }

  #die(powerLost: boolean): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#views.delete(this);
    for (const operation of this.#pending) operation.interrupt?.(powerLost);
    this.#pending.clear();
    for (const [path, held] of this.#platter.locks) {
      if ((held as { by: SimDisk }).by === this) this.#platter.locks.delete(path);
    }
  }
}

function absolute(path: string): string {
  // Nearly always it is one already.
  if (path.startsWith('/') && !path.includes('/.') && !path.includes('//') && !path.endsWith('/')) return path;
  return posix.resolve('/', path);
}
