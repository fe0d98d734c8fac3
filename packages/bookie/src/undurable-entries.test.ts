import { ledgerId } from '@daybook/proto';
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
