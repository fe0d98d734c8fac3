import { cliErrors } from '../errors.js';
import { count, tellProgress } from './report.js';

export interface PhaseOptions {
  warmUpSeconds: number;
  seconds: number;
  /** How many operations are done by now. */
  done(): number;
  /** The warm-up is over: forget what was measured. */
  onMeasure(): void;
  unit: string;
  /** Rejects when the load cannot go on. */
  failed: Promise<never>;
}

/** Lets a load run: a warm-up, then the time that counts, with a line of progress each second. Resolves to the measured span. */
export async function runPhases(options: PhaseOptions): Promise<{ seconds: number; done: number }> {
  await phase(options, options.warmUpSeconds, 'warm-up');
  const before = options.done();
  options.onMeasure();
  const beganMs = performance.now();
  await phase(options, options.seconds, 'measuring');
  return { seconds: (performance.now() - beganMs) / 1000, done: options.done() - before };
}

async function phase({ done, unit, failed }: PhaseOptions, seconds: number, name: string): Promise<void> {
  const endMs = performance.now() + seconds * 1000;
  for (let second = 1; endMs - performance.now() > 5; second++) {
    const before = done();
    const beganMs = performance.now();
    await Promise.race([pause(Math.min(1000, endMs - beganMs)), failed]);
    const rate = (done() - before) / ((performance.now() - beganMs) / 1000);
    tellProgress(`${name} ${String(second).padStart(3)} s  ${count(rate).padStart(9)} ${unit}/s`);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A promise that a load rejects when it must be broken off. */
export function failure(): { promise: Promise<never>; fail(why: string): void } {
  let fail: (why: string) => void = () => undefined;
  const promise = new Promise<never>((_resolve, reject) => {
    fail = (why) => reject(cliErrors.BENCH_FAILED(why));
  });
  promise.catch(() => undefined); // Raced against each phase; a failure after the last one is of no interest.
  return { promise, fail: (why) => fail(why) };
}
