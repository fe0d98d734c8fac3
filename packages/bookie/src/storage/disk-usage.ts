import type { DiskUsage } from '@daybook/runtime';

/** `full`: nothing new is taken in until there is space again. `failed`: taken out, see LedgerDirectories. */
export type DiskLevel = 'ok' | 'warn' | 'full' | 'failed';

/** Shares of a disk in use, 0 to 1. */
export interface DiskThresholds {
  warn: number;
  full: number;
  /** A full disk counts as full until less than this is in use. */
  lowWater: number;
}

export interface DiskObservation extends DiskUsage {
  before: DiskLevel;
  /** A write found no room since the last observation, whatever the disk says about itself. */
  hadNoRoom: boolean;
  /** Bytes that are to be kept back and are not there (yet). */
  missingReserveBytes: number;
}

/** Which level a disk is at now. A full one is so until the space that is to be kept back is really there again: that it could be written is the proof. */
export function levelOf({ totalBytes, freeBytes, before, hadNoRoom, missingReserveBytes }: DiskObservation, thresholds: DiskThresholds): DiskLevel {
  const share = usedShare({ totalBytes, freeBytes });
  if (hadNoRoom || share >= thresholds.full) return 'full';
  if (before === 'full' && (share >= thresholds.lowWater || missingReserveBytes > 0)) return 'full';
  return share >= thresholds.warn ? 'warn' : 'ok';
}

export function usedShare({ totalBytes, freeBytes }: DiskUsage): number {
  return totalBytes === 0 ? 1 : (totalBytes - freeBytes) / totalBytes;
}

/** How much is kept back on a disk: what is wished for, but only a fiftieth of a small one. */
export function reserveBytesFor(totalBytes: number, wishedBytes: number): number {
  return Math.min(wishedBytes, Math.floor(totalBytes / 50));
}
