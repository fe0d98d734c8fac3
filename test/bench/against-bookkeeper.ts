import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { pause } from '../chaos/processes.js';
import { startBookKeeper } from './bookkeeper-side.js';
import { startDaybook } from './daybook-side.js';
import { writeOutDirtyPages } from './page-cache.js';
import type { Side } from './side.js';
import type { Answer, TurnWorker } from './turn-worker.js';

/**
 * Daybook's ledger client and bookies against Apache BookKeeper's, in turns on one machine, both with their defaults (fsync on):
 * `node test/dist/bench/against-bookkeeper.js --peer FOLDER [--turns 5] [--seconds 5] [--only append,latency,bookie,recovery,kill,read]`.
 * FOLDER has BookKeeper's `lib/`, `start.sh` and `stop.sh`; without it Daybook is measured alone. Prints each turn, and in the end a table with medians: the
 * figures of docs/benchmarks.md.
 */
const { values } = parseArgs({
  options: {
    peer: { type: 'string' },
    turns: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'append,latency,bookie,recovery,kill,read' },
  },
});
const turns = Number(values.turns);
const seconds = Number(values.seconds);
const parts = values.only.split(',');
const replicated = '3 3 2';
const single = '1 1 1';

class Comparison {
  readonly sides: readonly Side[];
  readonly figures = new Map<string, { unit: string; isLessBetter: boolean; bySide: Map<Side, number[]> }>();
  readonly workers = new Map<Side, TurnWorker>();
  readonly loads: number[] = [];

  constructor(sides: readonly Side[]) {
    this.sides = sides;
    for (const side of sides) this.workers.set(side, side.worker());
  }

  worker(side: Side): TurnWorker {
    return this.workers.get(side) as TurnWorker;
  }

  note(side: Side, what: string, unit: string, value: unknown, isLessBetter = false): void {
    let figure = this.figures.get(what);
    if (figure === undefined) {
      figure = { unit, isLessBetter, bySide: new Map(this.sides.map((each) => [each, []])) };
      this.figures.set(what, figure);
    }
    figure.bySide.get(side)?.push(Number(value));
  }

  async ask(side: Side, line: string): Promise<Answer> {
    const answer = await this.worker(side).ask(line);
    this.loads.push(loadavg()[0] as number);
    console.log(`${side.name}: ${line}: ${JSON.stringify(answer)} (load ${(loadavg()[0] as number).toFixed(1)})`);
    return answer;
  }

  /** Each in turn, so often. What one has left in the page cache is written out first, so that the other does not pay for it in its turn. */
  async inTurns(task: (side: Side) => Promise<void>): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      for (const side of this.sides) {
        await writeOutDirtyPages();
        await task(side);
      }
    }
  }

  median(side: Side, what: string): number {
    return middle(this.figures.get(what)?.bySide.get(side) ?? []);
  }

  print(): void {
    const [ours, theirs] = this.sides as [Side, Side | undefined];
    console.log(`\n| What | ${ours.name} | ${theirs?.name ?? 'nobody'} | ours / theirs |\n|---|---|---|---|`);
    for (const [what, { unit, bySide }] of this.figures) {
      const [own, other] = [bySide.get(ours) ?? [], theirs === undefined ? [] : (bySide.get(theirs) ?? [])];
      const ratio = own.length > 0 && other.length > 0 ? (middle(own) / middle(other)).toFixed(2) : '';
      console.log(`| ${what} | ${cell(own, unit)} | ${cell(other, unit)} | ${ratio} |`);
    }
    console.log(
      `\nmedians of ${turns} turns (in brackets the least and the most); load average ${Math.min(...this.loads).toFixed(1)} to ${Math.max(...this.loads).toFixed(1)}`,
    );
  }

  async end(): Promise<void> {
    for (const worker of this.workers.values()) await worker.kill9();
    await Promise.allSettled(this.sides.map((side) => side.end()));
  }
}

function middle(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

function cell(all: readonly number[], unit: string): string {
  if (all.length === 0) return 'not measured';
  const text = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2));
  return `${text(middle(all))} ${unit} (${text(Math.min(...all))} to ${text(Math.max(...all))})`;
}

async function appends(c: Comparison): Promise<void> {
  // Java compiles what is busy: the first turns would be too slow.
  for (const side of c.sides) for (const bytes of [1024, 100]) await c.ask(side, `pipelined ${bytes} 1000 6 ${replicated}`);
  for (const bytes of [1024, 100]) {
    await c.inTurns(async (side) => {
      const { perSecond, p99Ms } = await c.ask(side, `pipelined ${bytes} 1000 ${seconds} ${replicated}`);
      c.note(side, `appends of ${bytes} B, Qw 3 Qa 2, 1,000 in flight`, '/s', perSecond);
      c.note(side, `... of ${bytes} B: p99`, 'ms', p99Ms, true);
    });
  }
}

async function latency(c: Comparison): Promise<void> {
  for (const side of c.sides) await c.ask(side, `pipelined 1024 1 1 ${replicated}`);
  for (const bytes of [1024, 100]) {
    await c.inTurns(async (side) => {
      const { p50Ms, p99Ms } = await c.ask(side, `pipelined ${bytes} 1 ${seconds} ${replicated}`);
      c.note(side, `one append of ${bytes} B in flight, Qw 3 Qa 2: p50`, 'ms', p50Ms, true);
      c.note(side, `one append of ${bytes} B in flight, Qw 3 Qa 2: p99`, 'ms', p99Ms, true);
    });
  }
}

async function oneBookie(c: Comparison): Promise<void> {
  const what = 'one bookie (Qw 1), appends of 1 KiB, 1,000 in flight';
  const [ours] = c.sides as [Side];
  // Java compiles what is busy: a short warm-up left its first turns at a third of its rate.
  for (let i = 0; i < 3; i++) for (const side of c.sides) await c.ask(side, `pipelined 1024 1000 6 ${single}`);
  await c.inTurns(async (side) => {
    const { perSecond } = await c.ask(side, `pipelined 1024 1000 ${seconds} ${single}`);
    c.note(side, what, '/s', perSecond);
    if (side !== ours) return;
    const bare = await c.ask(side, `service 1024 1000 ${seconds}`);
    c.note(side, '... straight to its service, batches of 250', '/s', bare.perSecond);
  });
  const rate = Math.round(c.median(c.sides.at(-1) as Side, what) / 2);
  await c.inTurns(async (side) => {
    const { p50Ms, p99Ms } = await c.ask(side, `paced 1024 ${rate} ${seconds} ${single}`);
    c.note(side, `... at a steady ${rate}/s, half of BookKeeper's rate: p50`, 'ms', p50Ms, true);
    c.note(side, `... at a steady ${rate}/s, half of BookKeeper's rate: p99`, 'ms', p99Ms, true);
  });
}

async function recovery(c: Comparison): Promise<void> {
  await c.inTurns(async (side) => {
    const writer = side.worker();
    const { ledger } = await writer.ask(`fill 1024 1000 ${replicated}`);
    await writer.kill9();
    const { ms } = await c.ask(side, `recover ${ledger}`);
    c.note(side, 'recovery-open of a ledger whose writer died with 1,000 of 1 KiB in flight', 'ms', ms, true);
  });
}

async function kill(c: Comparison): Promise<void> {
  await c.inTurns(async (side) => {
    const { ensemble } = await c.ask(side, `gap 1024 1000 10 ${replicated}`);
    await pause(3_000);
    await side.killBookie((ensemble as string[])[1] as string);
    const answer = await c.worker(side).answer();
    console.log(`${side.name}: a bookie was killed: ${JSON.stringify(answer)}`);
    c.note(side, "longest pause of appends around a bookie's kill -9 (1 KiB, 1,000 in flight)", 'ms', answer.longestMs, true);
    await side.startBookies();
    await pause(2_000);
  });
}

async function reads(c: Comparison): Promise<void> {
  const ledgers = new Map<Side, unknown>();
  for (const side of c.sides) ledgers.set(side, (await c.ask(side, `pipelined 1024 1000 ${Math.max(seconds, 5)} ${single}`)).ledger);
  // Until all of it is in entry logs.
  await pause(15_000);
  const line = (side: Side): string => `read ${String(ledgers.get(side))} 1000`;
  for (const side of c.sides) await c.ask(side, line(side));
  await c.inTurns(async (side) => {
    const { megabytesPerSecond } = await c.ask(side, line(side));
    c.note(side, 'sequential read of 1 KiB entries through the client, one bookie, warm', 'MB/s', megabytesPerSecond);
  });
  await c.inTurns(async (side) => {
    await c.worker(side).kill9();
    await side.coolDown();
    c.workers.set(side, side.worker());
    // The client warms up with a small ledger.
    const { ledger } = await c.ask(side, `pipelined 1024 1000 1 ${single}`);
    await c.ask(side, `read ${String(ledger)} 1000`);
    const { megabytesPerSecond } = await c.ask(side, line(side));
    c.note(side, '... cold: bookie started anew, its files dropped from the page cache', 'MB/s', megabytesPerSecond);
  });
}

const steps: Readonly<Record<string, (c: Comparison) => Promise<void>>> = {
  append: appends,
  latency,
  bookie: oneBookie,
  recovery,
  kill,
  read: reads,
};
const bookiesCount = parts.includes('kill') ? 4 : 3;
const comparison = new Comparison([
  await startDaybook(bookiesCount),
  ...(values.peer === undefined ? [] : [await startBookKeeper(values.peer, bookiesCount)]),
]);
// Whatever ends it ends what it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void comparison.end().finally(() => process.exit(1)));
try {
  for (const part of parts) await steps[part]?.(comparison);
} finally {
  comparison.print();
  await comparison.end();
}
process.exit(0);
