import fc from 'fast-check';
import t from 'tap';
import { RangeChains } from './range-chains.js';

interface Range {
  first: number;
  last: number;
}

/** The answer by looking at every range, newest first. */
function newestWith(ranges: readonly Range[], entryId: number, before = ranges.length): number {
  for (let i = before - 1; i >= 0; i--) if (ranges[i]!.first <= entryId && entryId <= ranges[i]!.last) return i;
  return -1;
}

const anyRange = fc.tuple(fc.nat(60), fc.nat(9)).map(([first, length]) => ({ first, last: first + length }));
const ascending = fc.array(fc.tuple(fc.nat(3), fc.nat(9)), { maxLength: 200 }).map((steps) => {
  let next = 0;
  return steps.map(([gap, length]) => {
    const first = next + gap;
    next = first + length + 1;
    return { first, last: first + length };
  });
});
const mixed = fc.tuple(ascending, fc.array(anyRange, { maxLength: 20 }), ascending).map((parts) => parts.flat());

t.test('range chains: find, walk on, last id → as looking at every range would say', async () => {
  fc.assert(
    fc.property(fc.oneof(ascending, mixed), fc.array(anyRange), (ranges, others) => {
      const chains = new RangeChains();
      let head = -1;
      let otherHead = -1;
      const nodes: number[] = [];
      for (const [i, { first, last }] of ranges.entries()) {
        head = chains.push(head, first, last);
        nodes.push(head);
        const other = others[i];
        if (other !== undefined) otherHead = chains.push(otherHead, other.first, other.last);
      }
      if (chains.lastId(head) !== Math.max(-1, ...ranges.map(({ last }) => last))) return false;
      for (let id = 0; id < 80; id++) {
        let expected = newestWith(ranges, id);
        let node = chains.find(head, id);
        while (expected >= 0 || node >= 0) {
          if (node !== (nodes[expected] ?? -1)) return false;
          expected = newestWith(ranges, id, expected);
          node = chains.find(chains.previous(node), id);
        }
      }
      return chains.oldestFirst(head).every((node, i) => node === nodes[i]);
    }),
    { numRuns: 300 },
  );
});

t.test('range chains: a long ascending chain → found without walking through it', async (t) => {
  const chains = new RangeChains();
  let head = -1;
  for (let i = 0; i < 200_000; i++) head = chains.push(head, i * 2, i * 2);
  // A walk would take 40 billion steps: the test would not end.
  let found = 0;
  for (let i = 0; i < 200_000; i++) {
    if (chains.first(chains.find(head, i * 2)) === i * 2) found++;
    if (chains.find(head, i * 2 + 1) !== -1) t.fail('a hole');
  }
  t.equal(found, 200_000);
});

t.test('range chains: freed chain → its nodes are used again, others stay', async (t) => {
  const chains = new RangeChains();
  let a = -1;
  let b = -1;
  for (let i = 0; i < 10; i++) {
    a = chains.push(a, i, i);
    b = chains.push(b, i * 10, i * 10 + 5);
  }
  chains.free(a);
  const before = chains.nodesMax;
  let c = -1;
  for (let i = 0; i < 10; i++) c = chains.push(c, i + 100, i + 100);
  t.equal(chains.nodesMax, before);
  t.equal(chains.first(chains.find(b, 33)), 30);
  t.equal(chains.lastId(c), 109);
  t.equal(chains.find(c, 5), -1);
});
