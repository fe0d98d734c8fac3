import { parseArgs } from 'node:util';
import { runSeed, watchRejections } from './run-seed.js';

const { values } = parseArgs({ options: { seeds: { type: 'string' }, from: { type: 'string' }, world: { type: 'string' }, trace: { type: 'boolean' } } });
watchRejections();
const from = Number(values.from ?? 1);
const seeds = Number(values.seeds ?? 1);
let failed = 0;
const t0 = Date.now();
let events = 0;
let virtual = 0;
const print = values.trace ? { print: (line: string) => console.log(line) } : {};
for (let seed = from; seed < from + seeds; seed++) {
  const result = await runSeed({ world: values.world ?? 'ledger', seed, ...print });
  events += result.eventsCount;
  virtual += result.virtualMs;
  if (result.violation) {
    failed++;
    console.log(`seed ${seed}: ${result.violation.invariant}: ${result.violation.text}`);
    if (failed <= 3) console.log(result.traceLines.slice(-40).map((line) => `    ${line}`).join('\n'));
  }
}
console.log(`${events} events, ${virtual / 1000} virtual s, ${Date.now() - t0} ms`);
console.log(`${seeds} seeds, ${failed} failed`);
