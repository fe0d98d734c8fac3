import fc from 'fast-check';
import t from 'tap';
import { ByteBudget } from './byte-budget.js';

t.test('ByteBudget: free bytes → taken at once; none → waits in order, a large one is not overtaken', async (t) => {
  const budget = new ByteBudget(100);
  const log: string[] = [];
  t.equal(budget.tryAcquire(90), true);
  void budget.acquire(50).then(() => log.push('50'));
  void budget.acquire(5).then(() => log.push('5'));
  t.equal(budget.tryAcquire(1), false, 'no way past the waiters');
  t.equal(budget.isFull, true);
  budget.release(30);
  await Promise.resolve();
  t.same([log, budget.available], [[], 40]);
  budget.release(20);
  await new Promise((resolve) => setImmediate(resolve));
  t.same([log, budget.available, budget.taken], [['50', '5'], 5, 95]);
  t.equal(budget.isFull, false);
});

t.test('ByteBudget.acquire: stopped while waiting → STOPPED, nothing taken, those behind are served', async (t) => {
  const budget = new ByteBudget(10);
  const stop = new AbortController();
  await budget.acquire(8, stop.signal);
  const waiting = budget.acquire(10, stop.signal);
  const behind = budget.acquire(2);
  stop.abort();
  await t.rejects(waiting, { code: 'BYTE_BUDGET_STOPPED' });
  await behind;
  t.equal(budget.available, 0);
  await t.rejects(budget.acquire(1, stop.signal), { code: 'BYTE_BUDGET_STOPPED' });
});

t.test('ByteBudget: more than there is in all → TOO_LARGE; release of what was not taken → broken invariant', async (t) => {
  const budget = new ByteBudget(10);
  await t.rejects(budget.acquire(11), { code: 'BYTE_BUDGET_TOO_LARGE' });
  t.throws(() => budget.tryAcquire(11), { code: 'BYTE_BUDGET_TOO_LARGE' });
  t.throws(() => budget.release(1), { name: 'BrokenInvariant' });
});

t.test('ByteBudget.take and onAvailable: over the limit → full until enough is released, then called once', async (t) => {
  const budget = new ByteBudget(10);
  let calls = 0;
  budget.take(8);
  budget.onAvailable(() => calls++);
  t.equal(calls, 1, 'not full: at once');
  budget.take(8);
  t.same([budget.available, budget.isFull], [-6, true]);
  budget.onAvailable(() => calls++);
  budget.onAvailable(() => calls++).cancel();
  budget.release(6);
  t.equal(calls, 1);
  budget.release(1);
  t.equal(calls, 2);
  budget.release(9);
  t.equal(calls, 2);
});

t.test('ByteBudget: a grant that releases or takes again at once → nobody is skipped', async (t) => {
  const budget = new ByteBudget(10);
  budget.tryAcquire(10);
  const log: number[] = [];
  const waitAgain = (bytes: number, times: number): void => {
    budget.acquireThen(bytes, () => {
      log.push(bytes);
      budget.release(bytes);
      if (times > 0) waitAgain(bytes, times - 1);
    });
  };
  for (const bytes of [10, 3, 10, 1]) waitAgain(bytes, 1);
  budget.release(10);
  t.same(log.toSorted(), [1, 1, 10, 10, 10, 10, 3, 3]);
  t.equal(budget.available, 10);
});

const action = fc.record({
  kind: fc.constantFrom('try' as const, 'wait' as const, 'release' as const, 'cancel' as const),
  bytes: fc.integer({ min: 1, max: 50 }),
});

t.test('ByteBudget: any calls → never over the limit, grants in order, nobody waits who could be served', async () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const budget = new ByteBudget(50);
      const taken: number[] = [];
      const waiting: { bytes: number; cancel: () => void }[] = [];
      for (const { kind, bytes } of actions) {
        if (kind === 'try') {
          if (budget.tryAcquire(bytes)) taken.push(bytes);
        } else if (kind === 'wait') {
          let granted = false;
          const entry = { bytes, cancel: (): void => undefined };
          const waiter = budget.acquireThen(bytes, () => {
            granted = true;
            taken.push(bytes);
            if (waiting.includes(entry) && waiting.shift() !== entry) throw new Error('overtaken');
          });
          if (!granted) {
            entry.cancel = () => waiter.cancel();
            waiting.push(entry);
          }
        } else if (kind === 'release') {
          const bytesTaken = taken.shift();
          if (bytesTaken !== undefined) budget.release(bytesTaken);
        } else {
          waiting.pop()?.cancel();
        }
        const sum = taken.reduce((a, b) => a + b, 0);
        if (budget.taken !== sum || sum > 50) throw new Error(`${budget.taken} taken, should be ${sum}`);
        const first = waiting[0];
        if (first !== undefined && first.bytes <= budget.available) throw new Error('waits for nothing');
      }
    }),
    { numRuns: 500 },
  );
});
