import t from 'tap';
import { below, shuffled, uuid } from './random.js';
import { SimRandom } from './sim/random.js';

t.test('below: many draws → each value about equally often, never the limit', async (t) => {
  const random = new SimRandom(1);
  const counts = new Array<number>(7).fill(0);
  for (let i = 0; i < 7000; i++) counts[below(random, 7)]!++;
  t.equal(counts.length, 7);
  t.ok(
    counts.every((count) => count > 850 && count < 1150),
    counts.join(),
  );
  const largest = { u32: () => 0xffff_ffff, bytes: () => new Uint8Array() };
  t.equal(below(largest, 2 ** 32), 2 ** 32 - 1);
});

t.test('shuffled: items → the same items in another order, the original untouched', async (t) => {
  const items = Array.from({ length: 20 }, (_, i) => i);
  const out = shuffled(new SimRandom(1), items);
  t.notSame(out, items);
  t.same(
    out.toSorted((a, b) => a - b),
    items,
  );
});

t.test('uuid → version 4, different each time', async (t) => {
  const random = new SimRandom(1);
  const id = uuid(random);
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.not(uuid(random), id);
});
