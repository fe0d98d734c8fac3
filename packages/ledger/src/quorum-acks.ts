import type { QuorumSizes } from './quorum.js';

/** The watermarks of one write set while it is looked at: one for all ledgers, as nothing stays in it. */
const highestFirst: number[] = [];
const indexesOf: number[] = [];

/** An entry needs copies in several fault domains: see `enforceMinNumFaultDomainsForWrite`. */
export interface DomainRule {
  readonly domainsMin: number;
  /** By index of the ensemble. */
  readonly domains: readonly string[];
}

/**
 * Finds how far entries are confirmed from one watermark per index, without looking at single entries.
 *
 * `ackedUpTo[i]` = every entry up to this one that index i stores is durable there. Entry e is covered when Qa of its write set reach it; the write set
 * depends on e mod E only, so the Qa-th highest watermark of each of the E write sets decides for all entries of that residue.
 */
export class QuorumAcks {
  readonly #sizes: QuorumSizes;

  constructor(sizes: QuorumSizes) {
    this.#sizes = sizes;
  }

  /** The greatest L in lastConfirmed..lastPushed such that all entries in (lastConfirmed, L] are covered. */
  confirmedUpTo(ackedUpTo: ArrayLike<number>, lastConfirmed: number, lastPushed: number, rule?: DomainRule): number {
    const { ensembleSize, writeQuorumSize } = this.#sizes;
    if (ensembleSize === writeQuorumSize) return Math.max(lastConfirmed, Math.min(lastPushed, this.#coveredUpTo(ackedUpTo, 0, rule)));
    let confirmed = lastPushed;
    for (let residue = 0; residue < ensembleSize; residue++) {
      const covered = this.#coveredUpTo(ackedUpTo, residue, rule);
      const from = Math.max(lastConfirmed, covered) + 1;
      // The first entry of this residue that is not covered.
      const firstOpen = from + ((((residue - from) % ensembleSize) + ensembleSize) % ensembleSize);
      if (firstOpen - 1 < confirmed) confirmed = firstOpen - 1;
    }
    return Math.max(lastConfirmed, confirmed);
  }

  /** The Qa-th highest watermark in the write set of the entries with this residue; with a rule, a lower one until there are enough domains. */
  #coveredUpTo(ackedUpTo: ArrayLike<number>, residue: number, rule: DomainRule | undefined): number {
    const { ensembleSize, writeQuorumSize, ackQuorumSize } = this.#sizes;
    for (let count = 0; count < writeQuorumSize; count++) {
      const index = (residue + count) % ensembleSize;
      const mark = ackedUpTo[index] as number;
      let at = count;
      for (; at > 0 && (highestFirst[at - 1] as number) < mark; at--) {
        highestFirst[at] = highestFirst[at - 1] as number;
        indexesOf[at] = indexesOf[at - 1] as number;
      }
      highestFirst[at] = mark;
      indexesOf[at] = index;
    }
    return highestFirst[rule === undefined ? ackQuorumSize - 1 : this.#placeWithDomains(rule)] as number;
  }

  /** Place of the first watermark from which on there are Qa members, in as many domains as are asked for, or as the write set spans. */
  #placeWithDomains({ domains, domainsMin }: DomainRule): number {
    const { writeQuorumSize, ackQuorumSize } = this.#sizes;
    const domainAt = (place: number) => domains[indexesOf[place] as number] as string;
    const spanned = new Set(Array.from({ length: writeQuorumSize }, (_, place) => domainAt(place))).size;
    const seen = new Set<string>();
    let place = 0;
    for (; place < writeQuorumSize; place++) {
      seen.add(domainAt(place));
      if (place + 1 >= ackQuorumSize && seen.size >= Math.min(domainsMin, spanned)) break;
    }
    return place;
  }
}
