import type { Violation } from './history.js';
import type { SeedResult } from './run-seed.js';

/** What is said of a seed; small enough to go from process to process. */
export interface SeedReport {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly eventsCount: number;
  readonly virtualMs: number;
  readonly traceLines: readonly string[];
}

const linesShown = 40;

/** With a second run of the same seed: that it went the same way. */
export function seedReport(first: SeedResult, second?: SeedResult): SeedReport {
  const { seed, eventsCount, virtualMs } = first;
  const differs = second !== undefined && second.hash !== first.hash;
  const text = `two runs gave the traces ${first.hash} (${eventsCount} events) and ${second?.hash} (${second?.eventsCount} events)`;
  const violation = first.violation ?? second?.violation ?? (differs ? { invariant: 'not deterministic', text } : undefined);
  return { seed, violation, eventsCount, virtualMs, traceLines: violation === undefined ? [] : first.traceLines.slice(-linesShown) };
}
