export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What goes wrong on a simulated disk, and how slow it is. Chances are per operation, in [0, 1]. */
export interface SimDiskFaults {
  readonly readMs: Range;
  readonly writeMs: Range;
  readonly syncMs: Range;
  /** Opening, renaming, removing, listing. */
  readonly nameMs: Range;
  /** Chance that an operation takes `stallMs` longer. */
  readonly stallChance: number;
  readonly stallMs: Range;
  readonly readFailChance: number;
  readonly writeFailChance: number;
  /** A failed sync loses what it should have written, as on Linux: a later one that succeeds does not bring it back. */
  readonly syncFailChance: number;
  /** Chance that a write leaves one flipped bit among the bytes it wrote. */
  readonly writeFlipChance: number;
}

export const noDiskFaults: SimDiskFaults = {
  readMs: { from: 0.02, to: 0.1 },
  writeMs: { from: 0.02, to: 0.1 },
  syncMs: { from: 0.2, to: 1 },
  nameMs: { from: 0.02, to: 0.1 },
  stallChance: 0,
  stallMs: { from: 100, to: 1000 },
  readFailChance: 0,
  writeFailChance: 0,
  syncFailChance: 0,
  writeFlipChance: 0,
};

export type DiskOperationKind =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'bytes'
  | 'rename'
  | 'remove'
  | 'make-directory'
  | 'list'
  | 'sync-directory'
  | 'usage'
  | 'lock';

/** What a hook is told about an operation. */
export interface DiskOperation {
  readonly kind: DiskOperationKind;
  readonly path: string;
  /** Of a read or write: where, and how many bytes. */
  readonly position?: number;
  readonly bytes?: number;
}

export interface CrashOptions {
  /** What becomes of unsynced changes: each by chance (default), `all` are kept, or `none` is. */
  keep?: 'random' | 'all' | 'none';
}
