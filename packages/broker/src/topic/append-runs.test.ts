import fc from 'fast-check';
import t from 'tap';
import { AppendRuns } from './append-runs.js';

t.test('append runs: consecutive appends of one producer → one run; answers by count, with the offset', async (t) => {
  const runs = new AppendRuns<string>();
  for (const owner of ['a', 'a', 'b', 'a', 'a', 'a']) runs.push(owner);
  const seen: unknown[] = [];
  runs.shift(4, (owner, count, offset) => seen.push([owner, count, offset]));
  t.same(seen, [
    ['a', 2, 0],
    ['b', 1, 2],
    ['a', 1, 3],
  ]);
  t.equal(runs.count, 2);
  t.throws(() => runs.shift(3, () => {}), /appended/);
});

t.test('append runs: any appends and answers → every append is answered once, in order, to its owner', async () => {
  const call = fc.oneof(
    fc.record({ push: fc.constantFrom('a', 'b', 'c'), times: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ shift: fc.integer({ min: 0, max: 60 }) }),
  );
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
      const runs = new AppendRuns<string>();
      const model: string[] = [];
      for (const one of calls) {
        if ('push' in one) {
          for (let i = 0; i < one.times; i++) {
            runs.push(one.push);
            model.push(one.push);
          }
        } else {
          const count = Math.min(one.shift, model.length);
          const answered: string[] = [];
          runs.shift(count, (owner, n, offset) => {
            if (offset !== answered.length) throw new Error('wrong offset');
            for (let i = 0; i < n; i++) answered.push(owner);
          });
          if (answered.join('') !== model.splice(0, count).join('')) return false;
        }
        if (runs.count !== model.length) return false;
      }
      return true;
    }),
  );
});
