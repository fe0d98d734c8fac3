import { ledgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { makeBatch } from './testing/batches.js';
import { UndurableEntries } from './undurable-entries.js';

const ledger = ledgerId(5);
const batch = (first: number, count: number) => makeBatch({ ledger: 5, first, count });
const all = [{ first: 0, last: 99 }];

t.test('undurable entries: on their way → not told; durable → told', async (t) => {
  const entries = new UndurableEntries();
  const ids = entries.handed(batch(10, 5));
  t.strictSame(entries.without(ledger, all), [
    { first: 0, last: 9 },
    { first: 15, last: 99 },
  ]);
  t.strictSame(entries.without(ledgerId(6), all), all, 'another ledger');
  entries.settled(ledger, ids, true);
  t.strictSame(entries.without(ledger, all), all);
});

t.test('undurable entries: refused → not told until the same come again and get through', async (t) => {
  const entries = new UndurableEntries();
  const refused = entries.handed(batch(90, 10));
  entries.settled(ledger, refused, false);
  const others = entries.handed(batch(0, 10));
  entries.settled(ledger, others, true);
  t.strictSame(entries.without(ledger, all), [{ first: 0, last: 89 }]);
  entries.settled(ledger, entries.handed(batch(90, 10)), true);
  t.strictSame(entries.without(ledger, all), all);
});

t.test('undurable entries: more than a run, at its edges → cut out of each', async (t) => {
  const entries = new UndurableEntries();
  entries.handed(batch(5, 20));
  t.strictSame(
    entries.without(ledger, [
      { first: 0, last: 5 },
      { first: 7, last: 9 },
      { first: 24, last: 30 },
    ]),
    [
      { first: 0, last: 4 },
      { first: 25, last: 30 },
    ],
  );
});

/** What is held back, batch by batch: the plain way to say it. */
class Model {
  #batches: { token: number; first: number; last: number }[] = [];

  handed(token: number, first: number, count: number): void {
    this.#batches.push({ token, first, last: first + count - 1 });
  }

  settled(token: number, isDurable: boolean): void {
    const ids = this.#batches.find((one) => one.token === token);
    if (ids !== undefined && isDurable) this.#batches = this.#batches.filter((one) => one !== ids && (one.first < ids.first || one.last > ids.last));
  }

  has(id: number): boolean {
    return this.#batches.some(({ first, last }) => first <= id && id <= last);
  }
}

t.test('undurable entries: any order of batches and answers → the same as a plain list of them says', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('next' as const), count: fc.integer({ min: 1, max: 4 }) }) },
    fc.record({ kind: fc.constant('again' as const), first: fc.integer({ min: 0, max: 60 }), count: fc.integer({ min: 1, max: 9 }) }),
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('answer' as const), which: fc.nat(3), isDurable: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer first' as const) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const entries = new UndurableEntries();
      const model = new Model();
      const open: number[] = [];
      let next = 0;
      for (const one of steps) {
        if (one.kind === 'next' || one.kind === 'again') {
          const first = one.kind === 'next' ? next : one.first;
          const token = entries.handed(batch(first, one.count));
          model.handed(token, first, one.count);
          open.push(token);
          next = Math.max(next, first + one.count);
        } else {
          const [token] = open.splice(one.kind === 'answer' ? one.which : 0, 1);
          if (token === undefined) continue;
          const isDurable = one.kind === 'answer first' || one.isDurable;
          entries.settled(ledger, token, isDurable);
          model.settled(token, isDurable);
        }
      }
      const told = entries.without(ledger, [{ first: 0, last: next + 20 }]);
      for (let id = 0; id <= next + 20; id++) {
        if (told.some(({ first, last }) => first <= id && id <= last) === model.has(id)) return false;
      }
      return true;
    }),
    { numRuns: 300 },
  );
});
