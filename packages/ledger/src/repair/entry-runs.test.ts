import fc from 'fast-check';
import t from 'tap';
import { storesEntry } from '../distribution.js';
import { type EntryRun, OwnEntries, ownCount, ownCountOf, runsHave, runsWith, runsWithout } from './entry-runs.js';

const sizes = fc
  .tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 7 }))
  .map(([a, b]) => ({ ensembleSize: Math.max(a, b), writeQuorumSize: Math.min(a, b), ackQuorumSize: 1 }));

const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 })), { maxLength: 8 }).map((pairs) => {
  const out: EntryRun[] = [];
  let next = 0;
  for (const [gap, length] of pairs) {
    out.push({ first: next + gap, last: next + gap + length - 1 });
    next += gap + length + 1;
  }
  return out;
});

function idsOf(list: readonly EntryRun[]): number[] {
  return list.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
}

t.test('entry runs: what is without what → the same as with single entries', async () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(60), runs, (first, length, held) => {
      const whole = { first, last: first + length - 1 };
      const expected = idsOf([whole]).filter((id) => !idsOf(held).includes(id));
      const gaps = runsWithout(whole, held);
      return (
        JSON.stringify(idsOf(gaps)) === JSON.stringify(expected) && gaps.every((gap, i) => i === 0 || gap.first > (gaps[i - 1] as EntryRun).last + 1)
      );
    }),
  );
});

t.test('entry runs: entries of one member → counted and taken as the distribution says', async () => {
  fc.assert(
    fc.property(sizes, runs, fc.nat(6), fc.integer({ min: 1, max: 9 }), (quorum, list, place, step) => {
      const index = place % quorum.ensembleSize;
      const expected = idsOf(list).filter((id) => storesEntry(quorum, index, id));
      const own = new OwnEntries(quorum, index, list);
      const taken: number[] = [];
      for (let some = own.take(step); some.length > 0; some = own.take(step)) taken.push(...some);
      return JSON.stringify(taken) === JSON.stringify(expected) && ownCountOf(quorum, index, list) === expected.length;
    }),
  );
});

t.test('entry runs: an empty run → nothing', async (t) => {
  const quorum = { ensembleSize: 3, writeQuorumSize: 2, ackQuorumSize: 2 };
  t.equal(ownCount(quorum, 0, { first: 5, last: 4 }), 0);
  t.same(new OwnEntries(quorum, 0, [{ first: 5, last: 4 }]).take(10), []);
  t.same(runsWithout({ first: 5, last: 4 }, []), []);
});

t.test('entry runs: single entries added → still ascending and apart, nothing lost', async () => {
  fc.assert(
    fc.property(runs, fc.uniqueArray(fc.nat(60)), (list, entries) => {
      const joined = runsWith(list, entries);
      const expected = [...new Set([...idsOf(list), ...entries])].sort((a, b) => a - b);
      return (
        JSON.stringify(idsOf(joined)) === JSON.stringify(expected) &&
        Array.from({ length: 70 }, (_, id) => runsHave(joined, id) === expected.includes(id)).every(Boolean)
      );
    }),
  );
});
