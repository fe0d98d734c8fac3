import { ledgerErrors } from './errors.js';

/**
 * The arithmetic of replication (reference: BookKeeper 1.1). An ensemble is a list of `ensembleSize` bookies; entry `e` goes to the
 * `writeQuorumSize` indexes that begin at `e mod ensembleSize`; it is acknowledged when `ackQuorumSize` of them hold it durably.
 */
export interface QuorumSizes {
  readonly ensembleSize: number;
  readonly writeQuorumSize: number;
  readonly ackQuorumSize: number;
}

/** More bookies than this in one ensemble is surely a typing error; it also keeps the per-batch arithmetic trivial. */
export const ensembleSizeMax = 64;

/** Throws `LEDGER_BAD_QUORUM` unless the sizes are integers with E >= Qw >= Qa >= 1. */
export function checkQuorumSizes(sizes: QuorumSizes): void {
  const { ensembleSize, writeQuorumSize, ackQuorumSize } = sizes;
  const all = [ensembleSize, writeQuorumSize, ackQuorumSize];
  const shown = `ensemble ${ensembleSize}, write quorum ${writeQuorumSize}, ack quorum ${ackQuorumSize}`;
  if (!all.every(Number.isSafeInteger)) throw ledgerErrors.BAD_QUORUM(`${shown} are not all integers`);
  if (ackQuorumSize < 1 || writeQuorumSize < ackQuorumSize || ensembleSize < writeQuorumSize) throw ledgerErrors.BAD_QUORUM(shown);
  if (ensembleSize > ensembleSizeMax) throw ledgerErrors.BAD_QUORUM(`ensemble ${ensembleSize} is more than ${ensembleSizeMax}`);
}

/** Explicit negatives after which an entry cannot have been acknowledged (R7): fewer than Qa members are left that could hold it. */
export function negativesNeeded(sizes: QuorumSizes): number {
  return sizes.writeQuorumSize - sizes.ackQuorumSize + 1;
}

/**
 * Whether enough members answered that nothing can be acknowledged behind their back: in every write set fewer than Qa members are silent.
 * `answered[i]` says whether the member at index i gave a definite answer.
 */
export function isCovered(sizes: QuorumSizes, answered: readonly boolean[]): boolean {
  return everyWriteSet(sizes, (silent) => silent < sizes.ackQuorumSize, answered);
}

/** Whether every write set has at least Qa members for which `live[i]` holds: appends can be acknowledged. */
export function canReachAckQuorum(sizes: QuorumSizes, live: readonly boolean[]): boolean {
  return everyWriteSet(sizes, (missing) => sizes.writeQuorumSize - missing >= sizes.ackQuorumSize, live);
}

/** Calls `holds` with the number of `false` flags in each distinct write set. */
function everyWriteSet(sizes: QuorumSizes, holds: (falseCount: number) => boolean, flags: readonly boolean[]): boolean {
  const { ensembleSize, writeQuorumSize } = sizes;
  const setsCount = ensembleSize === writeQuorumSize ? 1 : ensembleSize;
  for (let start = 0; start < setsCount; start++) {
    let falseCount = 0;
    for (let i = 0; i < writeQuorumSize; i++) if (flags[(start + i) % ensembleSize] !== true) falseCount++;
    if (!holds(falseCount)) return false;
  }
  return true;
}
