import { runBookieLife, runGarbageLife } from '@daybook/bookie/testing';
import { type EventQueue, SimulationFailure } from '@daybook/runtime/sim';
import { runClusterWorld } from './cluster-world.js';
import type { Violation } from './history.js';
import { runLedgerWorld } from './ledger-world.js';
import type { Mutation } from './mutation.js';
import type { World, WorldOptions } from './world.js';

/** A world of several machines is a file with one such function. */
const clusters: Readonly<Record<string, (options: WorldOptions) => Promise<World>>> = {
  ledger: runLedgerWorld,
  cluster: runClusterWorld,
};

/** `bookie`: two lives of a single bookie, against a model (`@daybook/bookie/testing`). */
export const worldNames: readonly string[] = [...Object.keys(clusters), 'bookie'];

export interface SeedResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly eventsCount: number;
  readonly virtualMs: number;
  readonly traceLines: readonly string[];
}

export interface SeedOptions {
  world: string;
  seed: number;
  mutation?: Mutation;
  print?: (line: string) => void;
}

let current: World | undefined;

/** A rejection that nobody handles is a bug of the core, in the world that runs now. */
export function watchRejections(): void {
  process.on('unhandledRejection', (error) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (current === undefined) throw error;
    current.history.violate('crash', `an unhandled rejection: ${text}`);
  });
}

export async function runSeed({ world: name, seed, mutation, print }: SeedOptions): Promise<SeedResult> {
  if (name === 'bookie') return runBookie(seed, print);
  const run = clusters[name];
  if (run === undefined) throw new Error(`there is no world ${name}: use one of ${worldNames.join(', ')}`);
  let thrown: Violation | undefined;
  const options: WorldOptions = { seed, onMade: (world) => (current = world) };
  try {
    await run({ ...options, ...(mutation && { mutation }), ...(print && { print }) });
  } catch (error) {
    thrown = { invariant: 'crash', text: textOf(error) };
  }
  const world = current as World;
  const { queue, history } = world;
  return {
    seed,
    violation: history.violation ?? thrown,
    hash: queue.trace.hash,
    eventsCount: queue.eventsCount,
    virtualMs: queue.nowMs,
    traceLines: queue.trace.lastLines(),
  };
}

/** One life among many ledgers and disks, one among other bookies; what the second one does depends on nothing in the first one. */
async function runBookie(seed: number, print: SeedOptions['print']): Promise<SeedResult> {
  const queues: EventQueue[] = [];
  const onMade = (queue: EventQueue) => void queues.push(queue);
  let violation: Violation | undefined;
  try {
    await runBookieLife(seed, { onMade });
    await runGarbageLife(seed, { onMade });
  } catch (error) {
    violation = { invariant: queues.length === 1 ? 'bookie life' : 'garbage life', text: textOf(error) };
  }
  for (const queue of print === undefined ? [] : queues) for (const line of queue.trace.lastLines()) print?.(line);
  return {
    seed,
    violation,
    hash: queues.map((queue) => queue.trace.hash).join('-'),
    eventsCount: queues.reduce((sum, queue) => sum + queue.eventsCount, 0),
    virtualMs: queues.reduce((sum, queue) => sum + queue.nowMs, 0),
    traceLines: queues.at(-1)?.trace.lastLines() ?? [],
  };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error instanceof SimulationFailure ? (error.message.split('\n')[0] as string) : (error.stack ?? error.message);
  return error.cause === undefined ? text : `${text}\n  because of ${textOf(error.cause)}`;
}
