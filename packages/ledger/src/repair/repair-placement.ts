import type { BookieId } from '@daybook/proto';
import type { Placement } from '../placement.js';
import type { QuorumSizes } from '../quorum.js';

/** A place in an ensemble that needs another bookie. */
export interface VacantPlace {
  sizes: QuorumSizes;
  ensemble: readonly BookieId[];
  index: number;
  /** Besides the members. */
  avoided: readonly BookieId[];
}

/** Chooses bookies for copies. */
export interface RepairPlacement {
  /** Bookies that may take the place, the best first; none when there is no spare. */
  spares(place: VacantPlace): BookieId[];
  /** For error texts. */
  describeWritable(): string;
}

/** Alternatives to the first choice, should it fail. */
const sparesMax = 3;

/** The placement of the ledger client, asked for one place at a time. */
export function createRepairPlacement(placement: Placement): RepairPlacement {
  return {
    spares: ({ ensemble, avoided }) => placement.pick(sparesMax, new Set([...ensemble, ...avoided])),
    describeWritable: () => placement.describeWritable(),
  };
}
