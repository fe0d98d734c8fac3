import type { EntryId } from '@daybook/proto';
import t from 'tap';
import { AppendWaiters } from './append-waiters.js';

t.test('append waiters: confirmed up to an id → those and no others, in order; failed → the rest', async (t) => {
  const waiters = new AppendWaiters();
  const outcomes: string[] = [];
  const all = Array.from({ length: 600 }, (_, id) =>
    waiters.add(id as EntryId).then(
      (done) => outcomes.push(`${done}`),
      (error: Error) => outcomes.push(`${id} ${error.message}`),
    ),
  );
  waiters.confirmed(399 as EntryId);
  waiters.confirmed(399 as EntryId);
  await Promise.all(all.slice(0, 400));
  t.same(
    outcomes,
    Array.from({ length: 400 }, (_, id) => `${id}`),
  );
  waiters.failed(new Error('no'));
  await Promise.all(all);
  t.same(
    outcomes.slice(400),
    Array.from({ length: 200 }, (_, i) => `${400 + i} no`),
  );
});
