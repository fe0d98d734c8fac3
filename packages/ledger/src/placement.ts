import type { BookieRegistry, BookieTopology, RegisteredBookie } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { type Random, shuffled } from '@daybook/runtime';
import type { QuorumSizes } from './quorum.js';
import {
  type Candidate,
  type ChosenEnsemble,
  chooseEnsemble,
  chooseReplacement,
  distance,
  improveEnsemble,
  type Location,
  type Move,
  type PlacementRule,
  parseLocation,
} from './rack-placement.js';

/** What placement must know of a bookie beyond its registration. */
export interface BookieHealth {
  /** True while it fails so often that others are preferred. */
  isQuarantined(bookieId: BookieId): boolean;
}

export interface PlacementDependencies {
  registry: BookieRegistry;
  health: BookieHealth;
  random: Random;
  /** Without one all bookies stand in one rack. */
  topology?: Pick<BookieTopology, 'locationOf' | 'bookieIds'> | undefined;
  rule?: PlacementRule;
  /** Where this process stands, `/region/rack`: ensembles begin there. */
  local?: string | undefined;
}

const noRule: PlacementRule = { minNumRacksPerWriteQuorum: 0, enforceMinNumRacksPerWriteQuorum: false, minRegionsForDurability: 0 };

/**
 * Chooses bookies among the writable ones, quarantined ones only when there are too few others, spread over racks and regions (rack-placement.ts). Nothing is
 * remembered of where a bookie stands: the topology is asked each time.
 */
export class Placement {
  readonly #registry: BookieRegistry;
  readonly #health: BookieHealth;
  readonly #random: Random;
  readonly #topology: PlacementDependencies['topology'];
  readonly #rule: PlacementRule;
  readonly #local: Location | undefined;

  constructor(dependencies: PlacementDependencies) {
    this.#registry = dependencies.registry;
    this.#health = dependencies.health;
    this.#random = dependencies.random;
    this.#topology = dependencies.topology;
    this.#rule = dependencies.rule ?? noRule;
    this.#local = dependencies.local === undefined ? undefined : parseLocation(dependencies.local);
  }

  /** A whole ensemble, or undefined: too few bookies, or the rule cannot be kept and is enforced. */
  pickEnsemble(sizes: QuorumSizes, excluded: ReadonlySet<BookieId> = new Set()): ChosenEnsemble | undefined {
    const usable = this.#usable(excluded);
    const healthy = usable.filter((bookie) => !this.#health.isQuarantined(bookie.bookieId));
    const choose = (bookies: readonly RegisteredBookie[]) =>
      chooseEnsemble(sizes, this.#rule, {
        candidates: this.#candidates(bookies),
        local: this.#local,
        reshuffle: (items) => shuffled(this.#random, items),
      });
    return choose(healthy) ?? choose(this.#healthyAndSome(healthy, usable, sizes.ensembleSize));
  }

  /** A spare for the failed member at `index`; quarantined ones are left alone, as a change to one would only be followed by the next. */
  pickReplacement(place: {
    sizes: QuorumSizes;
    ensemble: readonly BookieId[];
    index: number;
    excluded?: ReadonlySet<BookieId>;
  }): BookieId | undefined {
    const taken = new Set([...place.ensemble, ...(place.excluded ?? [])]);
    const candidates = this.#candidates(this.#usable(taken).filter((bookie) => !this.#health.isQuarantined(bookie.bookieId)));
    const members = place.ensemble.map((bookieId) => this.locationOf(bookieId));
    return chooseReplacement(place.sizes, this.#rule, { index: place.index, members, candidates })?.bookieId;
  }

  /** Spares for several failed members of one ensemble, by index; those without one are left out. */
  pickReplacements(sizes: QuorumSizes, ensemble: readonly BookieId[], failed: readonly number[]): Map<number, BookieId> {
    const picked = new Map<number, BookieId>();
    const members = [...ensemble];
    for (const index of failed) {
      const bookieId = this.pickReplacement({ sizes, ensemble: members, index, excluded: new Set(ensemble) });
      if (bookieId === undefined) continue;
      picked.set(index, bookieId);
      members[index] = bookieId;
    }
    return picked;
  }

  /** Moves to healthy spares after which the rule is kept better. */
  improve(sizes: QuorumSizes, ensemble: readonly BookieId[], excluded: readonly BookieId[]): Move[] {
    const taken = new Set([...ensemble, ...excluded]);
    const candidates = this.#candidates(this.#usable(taken).filter((bookie) => !this.#health.isQuarantined(bookie.bookieId)));
    return improveEnsemble(sizes, this.#rule, { members: ensemble.map((bookieId) => this.locationOf(bookieId)), candidates });
  }

  /** Up to `count` different writable bookies that are not excluded, the healthy ones first, wherever they stand; fewer when there are no more. */
  pick(count: number, excluded: ReadonlySet<BookieId>): BookieId[] {
    const usable = this.#usable(excluded);
    const isHealthy = (bookie: RegisteredBookie) => !this.#health.isQuarantined(bookie.bookieId);
    const healthy = shuffled(this.#random, usable.filter(isHealthy));
    const others = shuffled(
      this.#random,
      usable.filter((bookie) => !isHealthy(bookie)),
    );
    return [...healthy, ...others].slice(0, count).map((bookie) => bookie.bookieId);
  }

  /** As {@link pick}, without quarantined ones. */
  pickSpares(count: number, excluded: ReadonlySet<BookieId>): BookieId[] {
    const quarantined = this.#registry.list().filter((bookie) => this.#health.isQuarantined(bookie.bookieId));
    return this.pick(count, new Set([...excluded, ...quarantined.map((bookie) => bookie.bookieId)]));
  }

  locationOf(bookieId: BookieId): Location {
    return parseLocation(this.#topology?.locationOf(bookieId));
  }

  /** 0 in the same rack as this process, 1 in the same region, 2 elsewhere. */
  distanceTo(bookieId: BookieId): number {
    return this.#local === undefined ? 0 : distance(this.#local, this.locationOf(bookieId));
  }

  /** How many writable bookies could be in an ensemble. */
  get writableCount(): number {
    return this.#usable(new Set()).length;
  }

  /** The writable bookies by name, for error texts. */
  describeWritable(): string {
    return this.#usable(new Set())
      .map((bookie) => bookie.bookieId)
      .join(', ');
  }

  /** Who could take entries and does not, and why, for error texts. Of those that are down, all that joined the cluster are known. */
  describeMissing({ except = [] }: { except?: readonly BookieId[] } = {}): string {
    const up = this.#registry.list().map((bookie) => bookie.bookieId);
    const known = new Set([...up, ...(this.#registry.joined?.() ?? []), ...(this.#topology?.bookieIds() ?? [])]);
    for (const bookieId of except) known.delete(bookieId);
    const reasons = [...known].sort().flatMap((bookieId) => {
      const why = this.#whyMissing(bookieId);
      return why === undefined ? [] : [`${bookieId} (${why})`];
    });
    const { enforceMinNumRacksPerWriteQuorum, minNumRacksPerWriteQuorum } = this.#rule;
    if (!enforceMinNumRacksPerWriteQuorum) return reasons.join(', ');
    const racks = new Set(this.#usable(new Set()).map((bookie) => this.locationOf(bookie.bookieId).rack));
    const rule = `each write quorum must span ${minNumRacksPerWriteQuorum} racks (enforceMinNumRacksPerWriteQuorum), the bookies that are up stand in ${[...racks].sort().join(', ') || 'none'}`;
    return [...reasons, rule].join(', ');
  }

  #whyMissing(bookieId: BookieId): string | undefined {
    const registered = this.#registry.get(bookieId);
    if (registered === undefined) return 'down';
    if (!registered.isWritable) return 'read-only';
    return this.#health.isQuarantined(bookieId) ? 'quarantined: it failed a moment ago' : undefined;
  }

  #usable(excluded: ReadonlySet<BookieId>): RegisteredBookie[] {
    return this.#registry.list().filter((bookie) => bookie.isWritable && !excluded.has(bookie.bookieId));
  }

  #candidates(bookies: readonly RegisteredBookie[]): Candidate[] {
    return shuffled(this.#random, bookies).map(({ bookieId }) => ({ bookieId, location: this.locationOf(bookieId) }));
  }

  /** All healthy ones and as many of the others as are needed; all of them when it is the rule that is not kept. */
  #healthyAndSome(healthy: readonly RegisteredBookie[], usable: readonly RegisteredBookie[], count: number): readonly RegisteredBookie[] {
    if (healthy.length >= count) return usable;
    const others = usable.filter((bookie) => !healthy.includes(bookie));
    return [...healthy, ...shuffled(this.#random, others).slice(0, count - healthy.length)];
  }
}
