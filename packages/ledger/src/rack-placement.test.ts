import type { BookieId } from '@daybook/proto';
import { shuffled } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import fc from 'fast-check';
import t from 'tap';
import {
  type Adherence,
  type Candidate,
  chooseEnsemble,
  chooseReplacement,
  gradeEnsemble,
  improveEnsemble,
  type PlacementRule,
  parseLocation,
  regionRuleProblem,
} from './rack-placement.js';
import { allQuorumSizes } from './testing/quorum-sizes.js';

const twoRacks: PlacementRule = { minNumRacksPerWriteQuorum: 2, enforceMinNumRacksPerWriteQuorum: false, minRegionsForDurability: 0 };
const enforced = { ...twoRacks, enforceMinNumRacksPerWriteQuorum: true };

function candidates(...racks: string[]): Candidate[] {
  return racks.map((rack, i) => ({ bookieId: `b${i}` as BookieId, location: parseLocation(rack) }));
}

function choose(sizes: readonly [number, number, number], from: Candidate[], rule = twoRacks, seed = 1, local?: string) {
  const [ensembleSize, writeQuorumSize, ackQuorumSize] = sizes;
  const random = new SimRandom(seed);
  return chooseEnsemble({ ensembleSize, writeQuorumSize, ackQuorumSize }, rule, {
    candidates: shuffled(random, from),
    local: local === undefined ? undefined : parseLocation(local),
    reshuffle: (items) => shuffled(random, items),
  });
}

t.test('rack placement: a location as people write it → region and rack', async (t) => {
  t.same(parseLocation(undefined), { region: 'default-region', rack: '/default-region/default-rack' });
  t.same(parseLocation('/r1'), { region: 'default-region', rack: '/default-region/r1' });
  t.same(parseLocation('r1'), { region: 'default-region', rack: '/default-region/r1' });
  t.same(parseLocation('/eu/r1'), { region: 'eu', rack: '/eu/r1' });
  t.not(parseLocation('/eu/r1').rack, parseLocation('/us/r1').rack);
});

t.test('rack placement: two racks, any seed → every write quorum spans both, also around the end of the ensemble', async (t) => {
  for (const sizes of [
    [3, 3, 2],
    [3, 2, 2],
    [4, 2, 2],
    [5, 3, 2],
  ] as const) {
    for (let seed = 0; seed < 40; seed++) {
      const chosen = choose(
        sizes,
        candidates('/a', '/a', '/a', '/b', '/b', '/b'),
        sizes[0] === 3 && sizes[1] === 2 ? { ...twoRacks } : twoRacks,
        seed,
      );
      const racks = chosen?.members.map(({ location }) => location.rack) ?? [];
      const spansBoth = racks.every((_, start) => new Set(Array.from({ length: sizes[1] }, (__, i) => racks[(start + i) % sizes[0]])).size >= 2);
      // Three places around a circle cannot alternate between two racks.
      if (sizes[0] === 3 && sizes[1] === 2) t.equal(chosen?.adherence, 'fail');
      else t.ok(spansBoth && chosen?.adherence === 'strict', `${sizes} seed ${seed}: ${racks}`);
    }
  }
});

t.test('rack placement: one rack only → soft, at random; enforced → nobody', async (t) => {
  const firsts = new Set<string>();
  for (let seed = 0; seed < 30; seed++) {
    const chosen = choose([3, 3, 2], candidates('/a', '/a', '/a', '/a'), twoRacks, seed);
    t.equal(chosen?.adherence, 'soft');
    firsts.add(chosen?.members[0]?.bookieId as string);
  }
  t.equal(firsts.size, 4);
  t.equal(choose([3, 3, 2], candidates('/a', '/a', '/a', '/a'), enforced), undefined);
  t.equal(choose([3, 3, 2], candidates('/a', '/a', '/b'), enforced)?.adherence, 'strict');
  t.equal(choose([1, 1, 1], candidates('/a'), enforced)?.adherence, 'strict', 'a write quorum of one spans one rack');
});

t.test('rack placement: too few bookies → undefined', async (t) => {
  t.equal(choose([3, 3, 2], candidates('/a', '/b')), undefined);
});

t.test('region placement: regions first, then racks inside them; the local one begins', async (t) => {
  for (let seed = 0; seed < 40; seed++) {
    const from = candidates('/eu/1', '/eu/1', '/eu/2', '/us/1', '/us/1', '/us/2', '/ap/1', '/ap/2');
    const chosen = choose([6, 3, 2], from, { ...twoRacks, minRegionsForDurability: 2 }, seed, '/us/2');
    const racks = chosen?.members.map(({ location }) => location.rack) ?? [];
    t.equal(chosen?.adherence, 'strict');
    t.equal(racks[0], '/us/2');
    for (const region of ['eu', 'us', 'ap']) t.equal(racks.filter((rack) => rack.startsWith(`/${region}/`)).length, 2, `${racks}`);
    t.equal(new Set(racks).size, 6, `${racks}`);
  }
});

t.test('region placement: sizes that cannot promise it → said so', async (t) => {
  t.equal(regionRuleProblem({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 }, 0), undefined);
  t.match(regionRuleProblem({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 1 }, 2), /cannot span 2 regions/);
  t.match(regionRuleProblem({ ensembleSize: 6, writeQuorumSize: 6, ackQuorumSize: 3 }, 2), /must be above 3/);
  t.equal(regionRuleProblem({ ensembleSize: 6, writeQuorumSize: 6, ackQuorumSize: 4 }, 2), undefined);
});

t.test('rack placement, any racks and sizes → members are different, the grade says the truth', async () => {
  const racks = fc.array(fc.constantFrom('/a', '/b', '/c', '/x/a', '/x/b'), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(racks, fc.constantFrom(...allQuorumSizes), fc.nat(), (names, sizes, seed) => {
      const from = candidates(...names);
      const chosen = choose([sizes.ensembleSize, sizes.writeQuorumSize, sizes.ackQuorumSize], from, twoRacks, seed);
      if (from.length < sizes.ensembleSize) return chosen === undefined;
      const places = chosen?.members ?? [];
      const isDifferent = new Set(places.map((one) => one.bookieId)).size === sizes.ensembleSize;
      const wanted = Math.min(2, sizes.writeQuorumSize);
      const isKept = places.every((_, start) => {
        const window = Array.from({ length: sizes.writeQuorumSize }, (__, i) => places[(start + i) % sizes.ensembleSize]?.location.rack);
        return new Set(window).size >= wanted;
      });
      return isDifferent && isKept === (chosen?.adherence === 'strict');
    }),
  );
});

t.test('rack replacement: same rack first, then a rack nobody has, then any; enforced → only one that keeps the rule', async (t) => {
  const sizes = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 };
  const members = ['/a', '/a', '/b'].map(parseLocation);
  const pick = (index: number, racks: string[], rule = twoRacks) =>
    chooseReplacement(sizes, rule, { index, members, candidates: candidates(...racks) })?.location.rack.slice('/default-region'.length);
  t.equal(pick(2, ['/a', '/c', '/b']), '/b');
  t.equal(pick(2, ['/a', '/c']), '/c');
  t.equal(pick(2, ['/a']), '/a', 'rather one rack than no bookie');
  t.equal(pick(2, ['/a'], enforced), undefined);
  t.equal(pick(0, ['/b', '/a']), '/a');
  t.equal(pick(0, ['/b'], enforced), '/b');
  t.equal(pick(0, []), undefined);
  const broken = ['/a', '/a', '/a'].map(parseLocation);
  t.equal(
    chooseReplacement(sizes, enforced, { index: 0, members: broken, candidates: candidates('/a') })?.bookieId,
    'b0',
    'what was broken before may stay so: a missing replica is worse',
  );
});

t.test('rack placement: grades', async (t) => {
  const sizes = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 };
  const grade = (members: string[], available: string[]): Adherence =>
    gradeEnsemble(sizes, members.map(parseLocation), twoRacks, available.map(parseLocation));
  t.equal(grade(['/a', '/a', '/b'], ['/a', '/b']), 'strict');
  t.equal(grade(['/a', '/a', '/a'], ['/a']), 'soft');
  t.equal(grade(['/a', '/a', '/a'], ['/a', '/b']), 'fail');
});

t.test(
  'rack placement: an ensemble that could lie better → moves that make it so, each place once, nobody twice; one that lies well → none',
  async (t) => {
    const racks = ['/a', '/b', '/c', '/d'];
    const rackOf = fc.constantFrom(...racks);
    fc.assert(
      fc.property(
        fc.constantFrom(...allQuorumSizes),
        fc.array(rackOf, { minLength: 6, maxLength: 12 }),
        fc.integer({ min: 0, max: 4 }),
        (sizes, all, minRacks) => {
          const everybody = candidates(...all);
          const members = everybody.slice(0, sizes.ensembleSize);
          const spares = everybody.slice(sizes.ensembleSize);
          const rule = { ...twoRacks, minNumRacksPerWriteQuorum: minRacks };
          const locations = members.map(({ location }) => location);
          const moves = improveEnsemble(sizes, rule, { members: locations, candidates: spares });
          if (new Set(moves.map(({ index }) => index)).size < moves.length || new Set(moves.map(({ to }) => to)).size < moves.length) return false;
          const after = [...locations];
          for (const { index, to } of moves) after[index] = spares.find(({ bookieId }) => bookieId === to)?.location as (typeof after)[0];
          const grade = (where: typeof after) =>
            gradeEnsemble(
              sizes,
              where,
              rule,
              spares.map(({ location }) => location),
            );
          // Where every write quorum is the whole ensemble, it is always as good as it gets.
          if (sizes.ensembleSize === sizes.writeQuorumSize && grade(after) === 'fail') return false;
          return grade(locations) === 'fail' ? true : moves.length === 0;
        },
      ),
    );
    const moves = improveEnsemble(
      { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 },
      { ...twoRacks, minNumRacksPerWriteQuorum: 3 },
      { members: candidates('/a', '/a', '/a').map(({ location }) => location), candidates: candidates('/b', '/b', '/c') },
    );
    t.equal(moves.length, 2);
  },
);

t.test('rack placement: two regions → evenly, the own one has the odd member and the first place; racks differ inside', async (t) => {
  const bookies = candidates('/eu/1', '/eu/1', '/eu/2', '/eu/3', '/us/1', '/us/2', '/us/3', '/us/3');
  for (const [size, local, remote] of [
    [3, 2, 1],
    [4, 2, 2],
    [5, 3, 2],
  ] as const) {
    for (let seed = 0; seed < 30; seed++) {
      for (const region of ['eu', 'us']) {
        const locations = (choose([size, size, 2], bookies, twoRacks, seed, `/${region}/2`)?.members ?? []).map((member) => member.location);
        t.equal(locations[0]?.rack, `/${region}/2`);
        t.equal(locations.filter((location) => location.region === region).length, local, `${size} bookies, seed ${seed}`);
        t.equal(locations.filter((location) => location.region !== region).length, remote);
        t.equal(new Set(locations.map(({ rack }) => rack)).size, size, 'no rack twice');
      }
    }
  }
});

t.test('rack placement: a member is replaced, nobody in its rack → from its region, so that regions stay even', async (t) => {
  const sizes = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 };
  const members = candidates('/eu/1', '/us/1', '/eu/2').map(({ location }) => location);
  for (const order of [candidates('/us/9', '/eu/9', '/us/8'), candidates('/eu/9', '/us/9'), candidates('/us/9', '/us/8', '/eu/9')]) {
    t.equal(chooseReplacement(sizes, twoRacks, { index: 0, members, candidates: order })?.location.region, 'eu');
    t.equal(chooseReplacement(sizes, twoRacks, { index: 1, members, candidates: order })?.location.region, 'us');
  }
  t.equal(chooseReplacement(sizes, twoRacks, { index: 0, members, candidates: candidates('/us/9') })?.location.region, 'us', 'better than none');
});
