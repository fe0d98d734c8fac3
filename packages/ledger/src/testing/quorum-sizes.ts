import type { QuorumSizes } from '../quorum.js';

const upTo6 = [1, 2, 3, 4, 5, 6];

/** All legal E >= Qw >= Qa >= 1 up to 6, for property tests. */
export const allQuorumSizes: readonly QuorumSizes[] = upTo6.flatMap((ensembleSize) =>
  upTo6.flatMap((writeQuorumSize) =>
    upTo6.flatMap((ackQuorumSize) =>
      ensembleSize >= writeQuorumSize && writeQuorumSize >= ackQuorumSize ? [{ ensembleSize, writeQuorumSize, ackQuorumSize }] : [],
    ),
  ),
);
