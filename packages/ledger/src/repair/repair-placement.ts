import type { BookieRegistry, BookieTopology } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import type { Random } from '@daybook/runtime';
import { defaultLedgerClientOptions } from '../ledger-client-options.js';
import { type BookieHealth, Placement } from '../placement.js';
import type { QuorumSizes } from '../quorum.js';
import { gradeEnsemble, type Move, type PlacementRule } from '../rack-placement.js';

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
  /** Moves after which a whole ensemble lies better; none when it lies as well as it can. */
  improvements(place: Omit<VacantPlace, 'index'>): Move[];
  /** What is wrong with where an ensemble lies, if it could be better. */
  problemOf(sizes: QuorumSizes, ensemble: readonly BookieId[]): string | undefined;
  /** For error texts. */
  describeWritable(): string;
}

export interface RepairPlacementDependencies {
  registry: BookieRegistry;
  health: BookieHealth;
  random: Random;
  topology?: BookieTopology | undefined;
  /** As for the ledger client; what is left out is as there by default. */
  rule?: Partial<PlacementRule> | undefined;
}

/** Alternatives to the first choice, should it fail. */
const sparesMax = 3;

/** The placement of the ledger client, asked for one place at a time. */
export function createRepairPlacement(dependencies: RepairPlacementDependencies): RepairPlacement {
  const { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability } = defaultLedgerClientOptions;
  const rule = { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability, ...dependencies.rule };
  const { registry, topology } = dependencies;
  const placement = new Placement({ ...dependencies, rule });
  return {
    spares({ sizes, ensemble, index, avoided }) {
      const spares: BookieId[] = [];
      while (spares.length < sparesMax) {
        const next = placement.pickReplacement({ sizes, ensemble, index, excluded: new Set([...avoided, ...spares]) });
        if (next === undefined) break;
        spares.push(next);
      }
      // A copy on a bookie that fails now and then is better than none; one that breaks an enforced rule is not wanted.
      if (spares.length > 0 || rule.enforceMinNumRacksPerWriteQuorum) return spares;
      return placement.pick(sparesMax, new Set([...ensemble, ...avoided]));
    },
    improvements: ({ sizes, ensemble, avoided }) => (topology === undefined ? [] : placement.improve(sizes, ensemble, avoided)),
    problemOf(sizes, ensemble) {
      if (topology === undefined) return undefined;
      const members = ensemble.map((bookieId) => placement.locationOf(bookieId));
      const available = registry.list().map(({ bookieId }) => placement.locationOf(bookieId));
      if (gradeEnsemble(sizes, members, rule, available) !== 'fail') return undefined;
      return `${ensemble.map((bookieId, i) => `${bookieId} in ${members[i]?.rack}`).join(', ')}: more racks or regions could be spanned`;
    },
    describeWritable: () => placement.describeWritable(),
  };
}
