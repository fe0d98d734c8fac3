import type { BookieRegistry, RegisteredBookie } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { type Random, shuffled } from '@daybook/runtime';

/** What placement must know of a bookie beyond its registration. */
export interface BookieHealth {
  /** True while it fails so often that others are preferred. */
  isQuarantined(bookieId: BookieId): boolean;
}

/**
 * Chooses bookies: at random among the writable ones, quarantined ones only when there are too few others. Racks are a matter of this file alone when
 * they come: callers hand over who is excluded and take what they get.
 */
export class Placement {
  readonly #registry: BookieRegistry;
  readonly #health: BookieHealth;
  readonly #random: Random;

  constructor(dependencies: { registry: BookieRegistry; health: BookieHealth; random: Random }) {
    this.#registry = dependencies.registry;
    this.#health = dependencies.health;
    this.#random = dependencies.random;
  }

  /** Up to `count` different writable bookies that are not excluded, the healthy ones first; fewer when there are no more. */
  pick(count: number, excluded: ReadonlySet<BookieId>): BookieId[] {
    const usable = this.#registry.list().filter((bookie) => bookie.isWritable && !excluded.has(bookie.bookieId));
    const isHealthy = (bookie: RegisteredBookie) => !this.#health.isQuarantined(bookie.bookieId);
    const healthy = shuffled(this.#random, usable.filter(isHealthy));
    const others = shuffled(
      this.#random,
      usable.filter((bookie) => !isHealthy(bookie)),
    );
    return [...healthy, ...others].slice(0, count).map((bookie) => bookie.bookieId);
  }

  /** Spares for members that failed; quarantined ones are left alone, as a change to one would only be followed by the next. */
  pickSpares(count: number, excluded: ReadonlySet<BookieId>): BookieId[] {
    const quarantined = this.#registry.list().filter((bookie) => this.#health.isQuarantined(bookie.bookieId));
    return this.pick(count, new Set([...excluded, ...quarantined.map((bookie) => bookie.bookieId)]));
  }

  /** The writable bookies by name, for error texts. */
  describeWritable(): string {
    return this.#registry
      .list()
      .filter((bookie) => bookie.isWritable)
      .map((bookie) => bookie.bookieId)
      .join(', ');
  }
}
