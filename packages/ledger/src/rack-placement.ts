import type { BookieId } from '@daybook/proto';
import type { QuorumSizes } from './quorum.js';

/** Where a bookie stands. A rack is named with its region, so that two regions never share one. */
export interface Location {
  readonly region: string;
  readonly rack: string;
}

export interface PlacementRule {
  /** Each write quorum spans this many racks, if it has as many members. */
  readonly minNumRacksPerWriteQuorum: number;
  /** Rather no ensemble than one that breaks the rule. */
  readonly enforceMinNumRacksPerWriteQuorum: boolean;
  /** Each write quorum spans this many regions; 0 for no such rule. */
  readonly minRegionsForDurability: number;
}

/**
 * How well an ensemble keeps the rule: `strict`: in every write quorum; `soft`: as well as the racks and regions there are allow; `fail`: it could be better.
 */
export type Adherence = 'strict' | 'soft' | 'fail';

export interface Candidate {
  readonly bookieId: BookieId;
  readonly location: Location;
}

export interface ChosenEnsemble {
  readonly members: readonly Candidate[];
  readonly adherence: Adherence;
}

const defaultRegion = 'default-region';
const defaultRack = 'default-rack';

/** `/region/rack`, or `/rack` in the default region; undefined when nobody said. */
export function parseLocation(path: string | undefined): Location {
  const [first, ...rest] = (path ?? '').split('/').filter((part) => part !== '');
  if (first === undefined) return { region: defaultRegion, rack: `/${defaultRegion}/${defaultRack}` };
  if (rest.length === 0) return { region: defaultRegion, rack: `/${defaultRegion}/${first}` };
  return { region: first, rack: `/${first}/${rest.join('/')}` };
}

/** Throws nothing: says what is wrong with a rule about regions for these sizes. */
export function regionRuleProblem({ writeQuorumSize, ackQuorumSize }: QuorumSizes, minRegions: number): string | undefined {
  if (minRegions <= 0) return undefined;
  if (ackQuorumSize < minRegions) return `an ack quorum of ${ackQuorumSize} cannot span ${minRegions} regions (minRegionsForDurability)`;
  const needed = writeQuorumSize - Math.trunc(writeQuorumSize / minRegions);
  if (ackQuorumSize > needed) return undefined;
  return `an ack quorum of ${ackQuorumSize} of ${writeQuorumSize} does not always span ${minRegions} regions (minRegionsForDurability); it must be above ${needed}`;
}

/** Members that share a write quorum with `index`. */
function neighbours({ ensembleSize, writeQuorumSize }: QuorumSizes, index: number): number[] {
  const others = new Set<number>();
  for (let distance = 1; distance < writeQuorumSize; distance++) {
    others.add((index + distance) % ensembleSize);
    others.add((index - distance + ensembleSize * writeQuorumSize) % ensembleSize);
  }
  others.delete(index);
  return [...others];
}

/** The write quorums, each as what stands where. */
function windows<T>({ ensembleSize, writeQuorumSize }: QuorumSizes, members: readonly T[]): T[][] {
  const count = ensembleSize === writeQuorumSize ? 1 : ensembleSize;
  return Array.from({ length: count }, (_, start) => Array.from({ length: writeQuorumSize }, (_, i) => members[(start + i) % ensembleSize] as T));
}

function countOf(locations: readonly Location[], part: (location: Location) => string): number {
  return new Set(locations.map(part)).size;
}

const rackOf = (location: Location): string => location.rack;
const regionOf = (location: Location): string => location.region;

/** Write quorums that break the rule, when at most so many racks and regions can be had. */
function brokenCount(sizes: QuorumSizes, members: readonly Location[], atMost: { racks: number; regions: number }): number {
  const racks = Math.min(sizes.writeQuorumSize, atMost.racks);
  const regions = Math.min(sizes.writeQuorumSize, atMost.regions);
  return windows(sizes, members).filter((window) => countOf(window, rackOf) < racks || countOf(window, regionOf) < regions).length;
}

/** By how many racks and regions the write quorums fall short of it, all together. */
function shortfall(sizes: QuorumSizes, members: readonly Location[], wanted: { racks: number; regions: number }): number {
  const racks = Math.min(sizes.writeQuorumSize, wanted.racks);
  const regions = Math.min(sizes.writeQuorumSize, wanted.regions);
  return windows(sizes, members).reduce(
    (sum, window) => sum + Math.max(0, racks - countOf(window, rackOf)) + Math.max(0, regions - countOf(window, regionOf)),
    0,
  );
}

/** `available` is where the bookies stand that could have been taken. */
export function gradeEnsemble(sizes: QuorumSizes, members: readonly Location[], rule: PlacementRule, available: readonly Location[]): Adherence {
  const wanted = { racks: rule.minNumRacksPerWriteQuorum, regions: rule.minRegionsForDurability };
  if (brokenCount(sizes, members, wanted) === 0) return 'strict';
  const all = [...available, ...members];
  const possible = { racks: Math.min(wanted.racks, countOf(all, rackOf)), regions: Math.min(wanted.regions, countOf(all, regionOf)) };
  return brokenCount(sizes, members, possible) === 0 ? 'soft' : 'fail';
}

/** Tries with other beginnings before an arrangement that breaks the rule is taken. */
const attemptsMax = 16;

/**
 * Puts an ensemble together from candidates in random order: each next member stands as far as possible from those it shares a write quorum with, by rack and
 * by region; among equally far ones the nearest to this process is taken, so that its own region has the odd one (two of three, with two regions). Undefined with too few candidates, or when the rule is enforced and no arrangement was found that keeps it.
 */
export function chooseEnsemble(
  sizes: QuorumSizes,
  rule: PlacementRule,
  from: { candidates: readonly Candidate[]; local: Location | undefined; reshuffle(items: readonly Candidate[]): readonly Candidate[] },
): ChosenEnsemble | undefined {
  if (from.candidates.length < sizes.ensembleSize) return undefined;
  const available = from.candidates.map((candidate) => candidate.location);
  let best: ChosenEnsemble | undefined;
  for (let attempt = 0; attempt < attemptsMax && best?.adherence !== 'strict'; attempt++) {
    const members = spread(sizes, attempt === 0 ? from.candidates : from.reshuffle(from.candidates), from.local);
    const adherence = gradeEnsemble(
      sizes,
      members.map((member) => member.location),
      rule,
      available,
    );
    if (best === undefined || order[adherence] < order[best.adherence]) best = { members, adherence };
    if (adherence === 'soft') break; // It cannot get better.
  }
  return rule.enforceMinNumRacksPerWriteQuorum && best?.adherence !== 'strict' ? undefined : best;
}

const order: Readonly<Record<Adherence, number>> = { strict: 0, soft: 1, fail: 2 };

function spread(sizes: QuorumSizes, candidates: readonly Candidate[], local: Location | undefined): Candidate[] {
  const rest = [...candidates];
  const members: Candidate[] = [];
  for (let index = 0; index < sizes.ensembleSize; index++) {
    const near = neighbours(sizes, index).flatMap((other) => members[other]?.location ?? []);
    const all = members.map((member) => member.location);
    const cost = ({ location }: Candidate) => {
      if (index === 0) return local === undefined ? 0 : distance(local, location);
      return 1000 * sharing(near, location) + sharing(all, location) + (local === undefined ? 0 : distance(local, location) / 10);
    };
    const cheapest = indexOfLeast(rest, cost);
    members.push(...rest.splice(cheapest, 1));
  }
  return members;
}

/** Same rack counts more than same region: two racks in one region are better than one rack twice. */
function sharing(others: readonly Location[], location: Location): number {
  let sum = 0;
  for (const other of others) sum += other.rack === location.rack ? 10 : other.region === location.region ? 1 : 0;
  return sum;
}

export const distanceElsewhere = 2;

/** 0 same rack, 1 same region, 2 elsewhere. */
export function distance(a: Location, b: Location): number {
  return a.rack === b.rack ? 0 : a.region === b.region ? 1 : distanceElsewhere;
}

function indexOfLeast<T>(items: readonly T[], cost: (item: T) => number): number {
  let least = 0;
  let leastCost = Number.POSITIVE_INFINITY;
  for (const [index, item] of items.entries()) {
    const itemCost = cost(item);
    if (itemCost < leastCost) {
      least = index;
      leastCost = itemCost;
    }
  }
  return least;
}

/**
 * Who takes the place of the member at `index`: from the same rack, else from a rack that none of the others has, else any; in each case rather from the same
 * region than from another; first of all those with whom the rule is kept as well as before. Undefined without candidates, or when the rule is enforced and every one of them would break it.
 */
export function chooseReplacement(
  sizes: QuorumSizes,
  rule: PlacementRule,
  place: { index: number; members: readonly Location[]; candidates: readonly Candidate[] },
): Candidate | undefined {
  const { index, members, candidates } = place;
  const failed = members[index] as Location;
  const otherRacks = new Set(members.filter((_, other) => other !== index).map(rackOf));
  const atMost = { racks: rule.minNumRacksPerWriteQuorum, regions: rule.minRegionsForDurability };
  const brokenBefore = brokenCount(sizes, members, atMost);
  const breaksRule = ({ location }: Candidate) =>
    brokenCount(
      sizes,
      members.map((member, other) => (other === index ? location : member)),
      atMost,
    ) > brokenBefore;
  const rank = (candidate: Candidate) => {
    const { rack, region } = candidate.location;
    const byRack = rack === failed.rack ? 0 : otherRacks.has(rack) ? 2 : 1;
    return (breaksRule(candidate) ? 10 : 0) + byRack + (region === failed.region ? 0 : 0.5);
  };
  const best = candidates[indexOfLeast(candidates, rank)];
  return best === undefined || (rule.enforceMinNumRacksPerWriteQuorum && breaksRule(best)) ? undefined : best;
}

/** Whoever is at `index` gives the place to another. */
export interface Move {
  readonly index: number;
  readonly to: BookieId;
}

/** Moves after which an ensemble keeps the rule as well as the racks and regions there are allow; each is for the better. None when it does, or nothing helps. */
export function improveEnsemble(
  sizes: QuorumSizes,
  rule: PlacementRule,
  from: { members: readonly Location[]; candidates: readonly Candidate[] },
): Move[] {
  const all = [...from.members, ...from.candidates.map(({ location }) => location)];
  const wanted = {
    racks: Math.min(rule.minNumRacksPerWriteQuorum, countOf(all, rackOf)),
    regions: Math.min(rule.minRegionsForDurability, countOf(all, regionOf)),
  };
  const moves: Move[] = [];
  const members = [...from.members];
  const candidates = [...from.candidates];
  for (let least = shortfall(sizes, members, wanted); least > 0; ) {
    let best: { index: number; place: number } | undefined;
    for (const [place, { location }] of candidates.entries()) {
      for (let index = 0; index < members.length; index++) {
        if (moves.some((move) => move.index === index)) continue;
        const left = shortfall(sizes, members.with(index, location), wanted);
        if (left < least) [least, best] = [left, { index, place }];
      }
    }
    if (best === undefined) break;
    const [chosen] = candidates.splice(best.place, 1);
    members[best.index] = (chosen as Candidate).location;
    moves.push({ index: best.index, to: (chosen as Candidate).bookieId });
  }
  return moves;
}
