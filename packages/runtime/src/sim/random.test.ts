import t from 'tap';
import { SimRandom } from './random.js';

function drawn(random: SimRandom, count = 20): number[] {
  return Array.from({ length: count }, () => random.u32());
}

t.test('SimRandom: one seed → one sequence; other seeds, numbers or texts → others', async (t) => {
  t.same(drawn(new SimRandom(5)), drawn(new SimRandom(5)));
  const firsts = new Set([0, 1, 2, -1, 2 ** 31, 2 ** 40, 'a', 'b', ''].map((seed) => drawn(new SimRandom(seed)).join()));
  t.equal(firsts.size, 9);
});

t.test('SimRandom.fork: by name → the same stream whatever was drawn before; second fork of a name → another', async (t) => {
  const one = new SimRandom(5);
  const two = new SimRandom(5);
  drawn(two, 100);
  const fork = drawn(one.fork('disk'));
  t.same(drawn(two.fork('disk')), fork);
  t.notSame(drawn(two.fork('disk')), fork);
  t.notSame(drawn(two.fork('clock')), fork);
});

t.test('SimRandom: 100,000 draws → every bit set about half of the time, chance and between as asked', async (t) => {
  const random = new SimRandom('spread');
  const counts = new Array<number>(32).fill(0);
  for (const value of drawn(random, 100_000)) for (let bit = 0; bit < 32; bit++) counts[bit] = (counts[bit] as number) + ((value >>> bit) & 1);
  t.ok(counts.every((count) => Math.abs(count - 50_000) < 1000));
  let hits = 0;
  for (let i = 0; i < 10_000; i++) {
    if (random.chance(0.2)) hits++;
    const value = random.between(3, 4);
    if (value < 3 || value >= 4) t.fail(`${value}`);
  }
  t.ok(Math.abs(hits - 2000) < 200, `${hits} hits`);
  t.equal(random.bytes(7).length, 7);
});

t.test('SimRandom.chance: 0 → draws nothing', async (t) => {
  const one = new SimRandom(1);
  const two = new SimRandom(1);
  t.equal(one.chance(0), false);
  t.same(drawn(one), drawn(two));
});
