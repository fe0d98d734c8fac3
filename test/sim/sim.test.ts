import t from 'tap';
import type { Mutation } from './mutation.js';
import { mutations } from './mutations.js';
import { runSeed, watchRejections } from './run-seed.js';
import { seedReport } from './seed-report.js';

t.setTimeout(100_000);
watchRejections();

t.test('simulator: some seeds of the world of ledgers → nothing is violated', async (t) => {
  for (let seed = 1; seed <= 8; seed++) {
    const { violation } = await runSeed({ world: 'ledger', seed });
    t.equal(violation, undefined, `seed ${seed}: ${violation?.invariant}: ${violation?.text}`);
  }
});

t.test('simulator: the same seed twice → the same trace; other seeds → others', async (t) => {
  const hashes = new Set<string>();
  for (const seed of [5, 6]) {
    const [first, second] = [await runSeed({ world: 'ledger', seed }), await runSeed({ world: 'ledger', seed })];
    t.equal(seedReport(first, second).violation, undefined);
    hashes.add(first.hash);
  }
  t.equal(hashes.size, 2);
});

t.test('simulator: two runs that differ → reported', async (t) => {
  const result = await runSeed({ world: 'ledger', seed: 8 });
  t.equal(seedReport(result, { ...result, hash: '0' }).violation?.invariant, 'not deterministic');
});

/** Those that the first seeds find; npm run sim:mutations looks for all of them. */
for (const name of ['writer acknowledges at Qa - 1', 'bookie ignores fences', 'recovery does not fence', 'journal is not synced']) {
  t.test(`simulator: ${name} → found`, async (t) => {
    const mutation = mutations.find((candidate) => candidate.name === name) as Mutation;
    for (let seed = 1; seed <= 20; seed++) {
      const { violation } = await runSeed({ world: 'ledger', seed, mutation });
      if (violation === undefined) continue;
      t.pass(`seed ${seed}: ${violation.invariant}`);
      return;
    }
    t.fail('not found in 20 seeds');
  });
}
