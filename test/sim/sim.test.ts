import t from 'tap';
import type { Mutation } from './mutation.js';
import { mutations } from './mutations.js';
import { runSeed, watchRejections } from './run-seed.js';
import { seedReport } from './seed-report.js';
import { explore } from './tiny/explore.js';
import { findDefect, tinyCases, tinyDefects } from './tiny/tiny-worlds.js';

// Ten times as long as it takes: others may use the machine.
t.setTimeout(600_000);
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

t.test('simulator: some seeds of the world of clusters, and of a bookie alone → nothing is violated', async (t) => {
  for (const world of ['cluster', 'bookie']) {
    for (let seed = 1; seed <= 3; seed++) {
      const { violation } = await runSeed({ world, seed });
      t.equal(violation, undefined, `world ${world}, seed ${seed}: ${violation?.invariant}: ${violation?.text}`);
    }
  }
});

t.test('tiny worlds: the smallest one → all orders of events are tried, and keep all promises', async (t) => {
  const [smallest] = tinyCases;
  const { isExhausted, violation, states } = explore((smallest as (typeof tinyCases)[number]).make(), { runsMax: 200_000 });
  t.equal(violation, undefined);
  t.ok(isExhausted);
  t.ok(states > 5_000);
});

for (const defect of tinyDefects.filter(({ name }) => /Qa|list/.test(name))) {
  t.test(`tiny worlds: ${defect.name} → found`, async (t) => {
    let asked = 0;
    t.match(findDefect(defect, () => asked++ > 200).violation?.text, /^I[36]: entry|^I6: closed|^I20/);
  });
}

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
