import type { LedgerId } from '@daybook/proto';
import t from 'tap';
import { TroubledLedgers } from './troubled-ledgers.js';

const id = 7 as LedgerId;

function troubled(): TroubledLedgers {
  return new TroubledLedgers({ backOffMsMax: 320_000, roundsMax: 8, givenUpRetryMs: 3_600_000, retryMsMin: 5_000 });
}

function failed(ledgers: TroubledLedgers, nowMs: number): number {
  return ledgers.failed(id, { reason: 'no spare', nowMs, targets: new Map() }).dueMs - nowMs;
}

t.test('troubled ledgers: it fails again and again → waits double up to the longest, then it is given up', async (t) => {
  const ledgers = troubled();
  t.equal(ledgers.isDue(id, 0), true);
  t.same(
    [1, 2, 3, 4, 5, 6, 7].map(() => failed(ledgers, 0)),
    [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 320_000],
  );
  t.equal(ledgers.givenUpCount, 0);
  t.equal(failed(ledgers, 0), 3_600_000);
  t.match(ledgers.get(id), { isGivenUp: true, rounds: 8, reason: 'no spare' });
  t.equal(ledgers.givenUpCount, 1);
});

t.test('troubled ledgers: it waits for its writer to close it → tried again at the longest wait, however often', async (t) => {
  const ledgers = troubled();
  const wait = () => ledgers.failed(id, { reason: 'still being written', nowMs: 0, targets: new Map(), isOpen: true }).dueMs;
  for (let i = 0; i < 20; i++) wait();
  t.equal(wait(), 320_000);
  t.equal(ledgers.givenUpCount, 0);
  t.equal(failed(ledgers, 0), 3_600_000, 'closed, and still not to be repaired: that was the last of its tries');
});

t.test('troubled ledgers: bookies come or go → due soon, but not at once after a try', async (t) => {
  const ledgers = troubled();
  failed(ledgers, 1_000);
  ledgers.bookiesChanged(2_000);
  t.equal(ledgers.isDue(id, 5_999), false);
  t.equal(ledgers.isDue(id, 6_000), true);
  t.equal(ledgers.nextDueMs(), 6_000);
  for (let i = 0; i < 8; i++) failed(ledgers, 10_000);
  ledgers.bookiesChanged(100_000);
  t.equal(ledgers.isDue(id, 100_000), true, 'also when it was given up');
});

t.test('troubled ledgers: repaired → forgotten, with its waits', async (t) => {
  const ledgers = troubled();
  failed(ledgers, 0);
  failed(ledgers, 0);
  ledgers.forget(id);
  t.equal(ledgers.nextDueMs(), undefined);
  t.equal(failed(ledgers, 0), 10_000);
});
