// npm run sim:mutations -- [--seeds N] [--seconds S] [--only TEXT]: is each deliberate defect found, and after how many seeds?
import { parseArgs } from 'node:util';
import type { Mutation } from './mutation.js';
import { mutations } from './mutations.js';
import { runSeed, watchRejections } from './run-seed.js';
import { findDefect, type TinyDefect, tinyDefects } from './tiny/tiny-worlds.js';

/** Most are found within two seconds. */
const secondsKept = 5;

interface Search {
  name: string;
  /** The text of what was found, and after how many seeds; undefined when nothing was, in time. */
  find(limits: { seedsMax: number; isTimeOver: () => boolean }): Promise<{ seeds: number; text: string } | undefined>;
}

/** The first seed that fails with the defect and does not without. */
function inSeeds(mutation: Mutation): Search {
  const { name, world = 'ledger' } = mutation;
  const find: Search['find'] = async ({ seedsMax, isTimeOver }) => {
    for (let seed = 1; seed <= seedsMax && !isTimeOver(); seed++) {
      const { violation } = await runSeed({ world, seed, mutation });
      if (violation === undefined || (await runSeed({ world, seed })).violation !== undefined) continue;
      return { seeds: seed, text: `${violation.invariant}: ${violation.text.split('\n')[0]}` };
    }
    return undefined;
  };
  return { name: `${name} (world ${world})`, find };
}

function inTinyWorld(defect: TinyDefect): Search {
  return {
    name: `${defect.name} (world tiny)`,
    find: ({ isTimeOver }) => {
      const { violation, runs } = findDefect(defect, isTimeOver);
      return Promise.resolve(violation === undefined ? undefined : { seeds: runs, text: violation.text });
    },
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seeds: { type: 'string', default: '10000' }, seconds: { type: 'string', default: '600' }, only: { type: 'string', default: '' } },
  });
  watchRejections();
  const searches = [...mutations.map(inSeeds), ...tinyDefects.map(inTinyWorld)].filter(({ name }) => name.includes(values.only));
  const endMs = Date.now() + Number(values.seconds) * 1000;
  let [passed, failed] = [0, 0];
  for (const [place, search] of searches.entries()) {
    const startMs = Date.now();
    // A hard one may take all the time there is, but for some of the others.
    const ownEndMs = endMs - secondsKept * 1000 * (searches.length - place - 1);
    const found = await search.find({ seedsMax: Number(values.seeds), isTimeOver: () => Date.now() > ownEndMs });
    if (found === undefined) failed++;
    else passed++;
    const took = `${((Date.now() - startMs) / 1000).toFixed(0)} s`;
    console.log(`${search.name}: ${found === undefined ? `not caught in ${took}` : `caught after ${found.seeds} seeds, ${took} (${found.text})`}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
