// npm run sim:mutations: is each deliberate defect found, and after how many seeds?
import { parseArgs } from 'node:util';
import { mutations } from './mutations.js';
import { runSeed, watchRejections } from './run-seed.js';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '500' }, only: { type: 'string' } } });
watchRejections();
let passed = 0;
let failed = 0;
for (const mutation of mutations) {
  if (values.only !== undefined && !mutation.name.includes(values.only)) continue;
  const found = await firstFailure(Number(values.seeds));
  if (found === undefined) failed++;
  else passed++;
  console.log(`${mutation.name}: ${found === undefined ? `not caught in ${values.seeds} seeds` : `caught by seed ${found.seed} (${found.invariant})`}`);

  async function firstFailure(seeds: number): Promise<{ seed: number; invariant: string } | undefined> {
    for (let seed = 1; seed <= seeds; seed++) {
      const { violation } = await runSeed({ world: 'ledger', seed, mutation });
      if (violation !== undefined) return { seed, invariant: `${violation.invariant}: ${violation.text.split('\n')[0]}` };
    }
    return undefined;
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
