import { parseArgs } from 'node:util';
import { ledgerChaos, type Replacement } from './ledger-chaos.js';

/** `node test/dist/chaos/ledger-chaos/main.js [--seconds 600] [--bookies 5] [--seed N] [--replace same|other|limbo]`; exit code 1 when anything is wrong. */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    bookies: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    replace: { type: 'string' },
  },
});
// Whatever ends it ends what it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const { problems, ...figures } = await ledgerChaos({
  seconds: Number(values.seconds),
  bookies: Number(values.bookies),
  seed: Number(values.seed),
  replace: values.replace as Replacement | undefined,
  log: (line) => console.log(line),
});
console.log(JSON.stringify(figures, undefined, 1));
for (const problem of problems) console.log(`WRONG: ${problem}`);
console.log(`${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
