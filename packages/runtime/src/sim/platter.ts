import { posix } from 'node:path';
import { diskErrors } from '../disk-errors.js';
import { below } from '../random.js';
import { type CrashOptions, type DiskOperationKind, noDiskFaults, type SimDiskFaults } from './disk-faults.js';
import type { SimRandom } from './random.js';
import type { StoredFile, Survival } from './stored-file.js';
import { StoredNames } from './stored-names.js';

const sectorBytes = 512;

/** The part of a simulated disk that outlives processes and power cuts: what is stored, and the faults it was given. No time passes here. */
export class Platter {
  readonly random: SimRandom;
  names = new StoredNames();
  faults: SimDiskFaults = noDiskFaults;
  capacityBytes: number;
  stalledUntilMs = 0;
  operationsCount = 0;
  /** Who holds the lock of a folder. */
  readonly locks = new Map<string, object>();
  readonly #failNext = new Map<DiskOperationKind, number>();
  #usedBytes = 0;

  constructor(random: SimRandom, capacityBytes: number) {
    this.random = random;
    this.capacityBytes = capacityBytes;
  }

  failNext(kind: DiskOperationKind, count: number): void {
    this.#failNext.set(kind, count);
  }

  /** Throws when this operation was told to fail, or chance wants it. */
  maybeFail(kind: DiskOperationKind, path: string, chance: number): void {
    const told = this.#failNext.get(kind) ?? 0;
    if (told > 0) this.#failNext.set(kind, told - 1);
    if (told > 0 || this.random.chance(chance)) throw diskErrors.IO(path, `simulated ${kind} failure`);
  }

  latencyMs(kind: DiskOperationKind, nowMs: number, syncs: boolean): number {
    const { faults, random } = this;
    const range = kind === 'read' ? faults.readMs : kind === 'write' ? faults.writeMs : kind.startsWith('sync') ? faults.syncMs : faults.nameMs;
    let latency = random.between(range.from, range.to);
    if (syncs && kind === 'write') latency += random.between(faults.syncMs.from, faults.syncMs.to);
    if (random.chance(faults.stallChance)) latency += random.between(faults.stallMs.from, faults.stallMs.to);
    return Math.max(latency, this.stalledUntilMs - nowMs);
  }

  usedBytes(): number {
    let used = 0;
    for (const path of this.names.paths()) used += this.names.file(path)?.current.length ?? 0;
    this.#usedBytes = used;
    return used;
  }

  requireParent(path: string): void {
    const parent = posix.dirname(path);
    if (!this.names.hasDirectory(parent)) throw diskErrors.NOT_FOUND(path);
  }

  requireNoDirectory(path: string): void {
    if (this.names.hasDirectory(path)) throw diskErrors.IO(path, 'it is a directory');
  }

  /** A full disk takes what fits, or nothing, and says so. */
  write(file: StoredFile, path: string, position: number, source: Uint8Array, synced: boolean): void {
    this.maybeFail('write', path, this.faults.writeFailChance);
    const growth = position + source.length - file.current.length;
    if (growth > 0 && this.#usedBytes + growth > this.capacityBytes && this.usedBytes() + growth > this.capacityBytes) {
      const missing = this.#usedBytes + growth - this.capacityBytes;
      const fitting = source.length - missing;
      if (fitting > 0 && this.random.chance(0.5)) this.#store(file, position, source.subarray(0, fitting), false);
      throw diskErrors.FULL(path);
    }
    if (synced) this.#maybeFailSyncedWrite(file, path, position, source);
    this.#store(file, position, source, synced);
    if (source.length > 0 && this.random.chance(this.faults.writeFlipChance)) {
      file.flipBit(position + below(this.random, source.length), below(this.random, 8));
    }
  }

  sync(file: StoredFile, path: string, begun: readonly object[]): void {
    try {
      this.maybeFail('sync', path, this.faults.syncFailChance);
    } catch (error) {
      file.failSync(() => this.random.chance(0.5));
      throw error;
    }
    file.sync(begun, () => this.random.chance(0.5));
  }

  /** Flips a bit of some stored byte; false when nothing is stored. */
  flipRandomBit(matches: (path: string) => boolean): boolean {
    const paths = [...this.names.paths()].filter((path) => matches(path) && (this.names.file(path)?.current.length ?? 0) > 0);
    const file = this.names.file(paths[below(this.random, paths.length)] ?? '');
    return file?.flipBit(below(this.random, file.current.length), below(this.random, 8)) ?? false;
  }

  /** Loses what the power cut loses. How much differs from crash to crash: everything, nothing, or a share of it. */
  losePower({ keep = 'random' }: CrashOptions): void {
    const shares = [0, 1, 0.5, this.random.fraction()];
    const share = keep === 'all' ? 1 : keep === 'none' ? 0 : (shares[below(this.random, shares.length)] as number);
    const keeps = () => share === 1 || this.random.chance(share);
    const survivors = new Map<StoredFile, StoredFile>();
    this.names = this.names.survivor(keeps, (file) => {
      const survivor = survivors.get(file) ?? file.survivor((bytes, position) => this.#survival(share, bytes, position));
      survivors.set(file, survivor);
      return survivor;
    });
    this.locks.clear();
    this.usedBytes();
  }

  /** How much of a write that was under way arrived when its process was killed. */
  partOf(position: number, source: Uint8Array): Uint8Array {
    const survival = this.#survival(0.5, source.length, position);
    return survival === 'all' ? source : source.subarray(0, survival === 'none' ? 0 : survival.bytes);
  }

  #store(file: StoredFile, position: number, source: Uint8Array, synced: boolean): void {
    const before = file.current.length;
    file.write(position, source, synced);
    this.#usedBytes += file.current.length - before;
  }

  #maybeFailSyncedWrite(file: StoredFile, path: string, position: number, source: Uint8Array): void {
    try {
      this.maybeFail('sync', path, this.faults.syncFailChance);
    } catch (error) {
      this.#store(file, position, source, false);
      throw error;
    }
  }

  /** Sectors are written whole, in order: a torn write ends at a sector's end. */
  #survival(share: number, bytes: number, position: number): Survival {
    if (share === 1) return 'all';
    if (share === 0) return 'none';
    if (this.random.chance(1 / 3)) {
      const firstEnd = sectorBytes - (position % sectorBytes);
      const ends = bytes > firstEnd ? Math.ceil((bytes - firstEnd) / sectorBytes) : 0;
      if (ends > 0) return { bytes: firstEnd + below(this.random, ends) * sectorBytes };
    }
    return this.random.chance(share) ? 'all' : 'none';
  }
}
