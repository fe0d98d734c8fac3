import t from 'tap';
import { bookieId, comparePositions, entryId, ledgerId } from './ids.js';

t.test('ids: within 2^53 -> the number; anything else -> RangeError', async (t) => {
  t.same([ledgerId(0), ledgerId(2n ** 53n - 1n), entryId(-1), entryId(5n)], [0, 2 ** 53 - 1, -1, 5]);
  for (const bad of [-1, 1.5, 2 ** 53, 2n ** 53n, -1n, Number.NaN, Number.POSITIVE_INFINITY]) t.throws(() => ledgerId(bad), RangeError);
  for (const bad of [-2, 0.5, 2n ** 63n]) t.throws(() => entryId(bad), RangeError);
});

t.test('bookie id: letters, digits and . _ : - -> taken; anything that is no part of a path -> RangeError', async (t) => {
  for (const good of ['127.0.0.1:3181', 'bk-0_a.b']) t.equal(bookieId(good), good);
  for (const bad of ['', 'readonly', 'ReadOnly', '.', '..', 'a/b', 'a b', 'ä']) t.throws(() => bookieId(bad), RangeError);
});

t.test('positions: by ledger, then by entry -> the order of a chain', async (t) => {
  const at = (ledger: number, entry: number) => ({ ledgerId: ledgerId(ledger), entryId: entryId(entry) });
  const sorted = [at(1, -1), at(1, 0), at(1, 7), at(2, -1), at(10, 0)];
  t.same([...sorted].reverse().sort(comparePositions), sorted);
  t.equal(comparePositions(at(3, 3), at(3, 3)), 0);
});
