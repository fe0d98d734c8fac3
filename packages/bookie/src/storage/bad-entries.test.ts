import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { BadEntries, type BadEntry } from './bad-entries.js';

function make() {
  const told: BadEntry[] = [];
  const bad = new BadEntries(new SimClock(new EventQueue({ seed: 1 })), (entry) => told.push(entry));
  return { bad, told };
}

t.test('bad entries: found again → listed and told once', async (t) => {
  const { bad, told } = make();
  for (let i = 0; i < 3; i++) bad.note({ ledgerId: 1, entryId: 2, logId: 3, position: 64 });
  bad.note({ ledgerId: 1, entryId: 3, logId: 3, position: 164 });
  t.strictSame(bad.list, told);
  t.equal(bad.foundCount, 2);
  await bad.review(async ({ entryId }) => entryId === 3);
  t.strictSame(
    bad.list.map(({ entryId }) => entryId),
    [3],
  );
});

t.test('bad entries: very many → the list is bounded, all are counted and told', async (t) => {
  const { bad, told } = make();
  for (let entryId = 0; entryId < 5000; entryId++) bad.note({ ledgerId: 1, entryId, logId: 3, position: 64 });
  t.equal(bad.list.length, 1000);
  t.equal(bad.foundCount, 5000);
  t.equal(told.length, 5000);
});
