// npm run sim -- --seeds N [--from N] [--world NAME] [--seconds S --seeds-min N] [--jobs N] [--trace]; also what `daybook sim` runs.
import { execFileSync, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bufferAccountingFlags } from '@daybook/runtime/real';
import { runSeed, watchRejections, worldNames } from './run-seed.js';
import { type SeedReport, seedReport } from './seed-report.js';
import { runTinyCases } from './tiny/tiny-worlds.js';

const help = `Runs the simulator: each seed is a small cluster on virtual time in which things go wrong.

  npm run sim -- [options]

  --seeds N        how many seeds (default 100)
  --from N         the first one (default 1)
  --world NAME     ${worldNames.join(', ')}, tiny (default ledger)
  --seconds S      go on for this long instead, at least --seeds-min N seeds
  --jobs N         processes (default 1)
  --trace          print what happens, for one seed

The world tiny tries all orders of events in very small clusters: --seeds is the number of runs at most, --seconds (default 60) the time for all of them.
`;

interface Options {
  world: string;
  from: number;
  seeds: number;
  seconds: number | undefined;
  jobs: number;
  trace: boolean;
  /** How people call it. */
  called: string;
}

function options(): Options | undefined {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string', default: '1' },
      world: { type: 'string', default: 'ledger' },
      seconds: { type: 'string' },
      'seeds-min': { type: 'string', default: '0' },
      jobs: { type: 'string', default: '1' },
      trace: { type: 'boolean', default: false },
      called: { type: 'string', default: 'npm run sim --' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || (!worldNames.includes(values.world) && values.world !== 'tiny')) return undefined;
  const number = (text: string): number => {
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`not a whole number: ${text}`);
    return value;
  };
  const seconds = values.seconds === undefined ? undefined : number(values.seconds);
  const isTiny = values.world === 'tiny';
  const seeds = number(values.seeds ?? (isTiny ? String(Number.MAX_SAFE_INTEGER) : seconds === undefined ? '100' : values['seeds-min']));
  const { world, trace, called } = values;
  return { world, from: number(values.from), seeds, seconds, jobs: Math.max(1, number(values.jobs)), trace, called };
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

/** Each 25th seed runs twice: the same seed must give the same trace. */
const everyNthTwice = 25;
const stackLinesMax = 20;
/** Each process has a core of its own: a tenth faster than with helpers that take turns on them. */
const nodeOptions = [
  '--single-threaded',
  '--max-semi-space-size=64',
  '--min-semi-space-size=64',
  // Simulated disks and messages are buffers that come and go.
  '--heap-growing-percent=300',
  ...bufferAccountingFlags(),
];

async function reportOf(world: string, seed: number, print?: (line: string) => void): Promise<SeedReport> {
  const run = () => runSeed({ world, seed, ...(print && { print }) });
  // Stacks of errors take a twentieth of the time, and most seeds have nothing to tell: one that failed runs again with them.
  Error.stackTraceLimit = print === undefined ? 0 : stackLinesMax;
  const first = await run();
  if (print !== undefined || (first.violation === undefined && seed % everyNthTwice !== 0)) return seedReport(first);
  Error.stackTraceLimit = stackLinesMax;
  const second = await run();
  return seedReport(second, first);
}

/** A process that runs the seeds it is told. */
function serve(): void {
  process.on('message', (asked: { world: string; seed: number }) => {
    void reportOf(asked.world, asked.seed).then((report) => process.send?.(report));
  });
}

/** Prints reports in the order of their seeds, whichever process was faster. */
class Summary {
  done = 0;
  failed = 0;
  events = 0;
  virtualMs = 0;
  readonly #options: Options;
  readonly #startMs = Date.now();
  readonly #waiting = new Map<number, SeedReport>();
  #next: number;
  #printedMs = Date.now();

  constructor(options: Options) {
    this.#options = options;
    this.#next = options.from;
  }

  get seconds(): number {
    return (Date.now() - this.#startMs) / 1000;
  }

  take(report: SeedReport): void {
    this.#waiting.set(report.seed, report);
    for (let next = this.#waiting.get(this.#next); next !== undefined; next = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next++);
      this.#count(next);
    }
    if (Date.now() - this.#printedMs < 5000) return;
    this.#printedMs = Date.now();
    console.log(`${this.done} seeds in ${this.seconds.toFixed(0)} s (${this.#speed()}), ${this.failed} failed`);
  }

  end(): void {
    console.log(`${this.#speed()}, ${(this.virtualMs / 3_600_000).toFixed(2)} virtual hours, ${this.events} events, commit ${commit()}`);
    console.log(`${this.done} seeds, ${this.failed} failed`);
  }

  #speed(): string {
    return `${(this.done / this.seconds).toFixed(1)} seeds/s`;
  }

  #count(report: SeedReport): void {
    this.done++;
    this.events += report.eventsCount;
    this.virtualMs += report.virtualMs;
    if (report.violation === undefined) return;
    this.failed++;
    const { world, called } = this.#options;
    console.log(`\nFAILED seed ${report.seed} of world ${world}, commit ${commit()}`);
    for (const line of report.traceLines) console.log(`  ${line}`);
    console.log(`${report.violation.invariant}: ${report.violation.text}`);
    const which = called === 'daybook sim' ? `--seed ${report.seed}` : `--seeds 1 --from ${report.seed}`;
    console.log(`Replay: ${called} --world ${world} ${which} --trace\n`);
  }
}

/** The seeds to run, one after another, until there are enough. */
function* seedsOf({ from, seeds, seconds }: Options, summary: Summary): Generator<number> {
  for (let seed = from; seed < from + seeds || (seconds !== undefined && summary.seconds < seconds); seed++) yield seed;
}

async function runHere(given: Options, summary: Summary): Promise<void> {
  const print = given.trace ? (line: string) => console.log(line) : undefined;
  for (const seed of seedsOf(given, summary)) summary.take(await reportOf(given.world, seed, print));
}

async function runInProcesses(given: Options, summary: Summary): Promise<void> {
  const seeds = seedsOf(given, summary);
  await Promise.all(
    Array.from({ length: given.jobs }, async () => {
      const child = fork(fileURLToPath(import.meta.url), ['--serve'], { execArgv: nodeOptions });
      try {
        for (const seed of seeds) {
          summary.take(
            await new Promise<SeedReport>((resolve, reject) => {
              const died = (code: number | null) => reject(new Error(`the process that ran seed ${seed} ended with ${code}`));
              child.once('exit', died);
              child.once('message', (report: SeedReport) => {
                child.off('exit', died);
                resolve(report);
              });
              child.send({ world: given.world, seed });
            }),
          );
        }
      } finally {
        child.disconnect();
      }
    }),
  );
}

/** Every order of events, as far as time allows. */
function runTiny({ seeds, seconds = 60, called }: Options): void {
  let [runs, failed] = [0, 0];
  for (const { name, exploration, seconds: took } of runTinyCases({ runsMax: seeds, seconds, nowMs: () => Date.now() })) {
    const { states, isExhausted, violation, depthMax } = exploration;
    runs += exploration.runs;
    const extent = isExhausted ? 'all of it' : 'not all of it: the limit was reached';
    console.log(`${name}: ${states} states, ${exploration.runs} runs of up to ${depthMax} steps in ${took.toFixed(0)} s, ${extent}`);
    if (violation === undefined) continue;
    failed++;
    for (const step of violation.steps) console.log(`  ${step}`);
    console.log(`FAILED ${violation.text}\nReplay: ${called} --world tiny`);
  }
  console.log(`commit ${commit()}`);
  console.log(`${runs} seeds, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function main(): Promise<void> {
  watchRejections();
  if (process.argv[2] === '--serve') return serve();
  const given = options();
  if (given === undefined) {
    console.log(help);
    return;
  }
  if (given.world === 'tiny') return runTiny(given);
  const summary = new Summary(given);
  await (given.jobs === 1 || given.trace ? runHere(given, summary) : runInProcesses(given, summary));
  summary.end();
  process.exitCode = summary.failed === 0 ? 0 : 1;
}

await main();
