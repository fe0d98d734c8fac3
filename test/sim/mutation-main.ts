// node test/dist/sim/mutation-main.js [--seeds N] [--only TEXT] [--rare]: is each deliberate defect found, and after how many seeds?
import { parseArgs } from 'node:util';
import type { Mutation } from './mutation.js';
import { mutations } from './mutations.js';
import { runSeed, watchRejections } from './run-seed.js';

interface Found {
  seed: number;
  text: string;
}

/** The first seed that fails with the defect and does not without. */
async function firstFailure(mutation: Mutation, seeds: number): Promise<Found | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { violation } = await runSeed({ world: 'ledger', seed, mutation });
    if (violation === undefined || (await runSeed({ world: 'ledger', seed })).violation !== undefined) continue;
    return { seed, text: `${violation.invariant}: ${violation.text.split('\n')[0]}` };
  }
  return undefined;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seeds: { type: 'string', default: '500' }, only: { type: 'string', default: '' }, rare: { type: 'boolean', default: false } },
  });
  watchRejections();
  let [passed, failed] = [0, 0];
  for (const mutation of mutations) {
    if (!mutation.name.includes(values.only) || (mutation.isRare && !values.rare)) continue;
    const found = await firstFailure(mutation, Number(values.seeds));
    if (found === undefined) failed++;
    else passed++;
    console.log(`${mutation.name}: ${found === undefined ? `not caught in ${values.seeds} seeds` : `caught by seed ${found.seed} (${found.text})`}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
