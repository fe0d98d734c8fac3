import t from 'tap';
import { runGarbageLife } from './testing/garbage-life.js';

t.test('garbage collection: random lives with everything that can go wrong → nothing lost, what is gone gives its space back', async (t) => {
  const seeds = Number(process.env.BOOKIE_SEEDS ?? 40);
  for (let seed = 1; seed <= seeds; seed++) await runGarbageLife(seed);
  t.pass(`${seeds} seeds`);
});

t.test('garbage collection: the same seed → the same life', async (t) => {
  t.strictSame(await runGarbageLife(7), await runGarbageLife(7));
});
