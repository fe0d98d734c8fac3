import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cliErrors } from '../errors.js';
import { simulatorPrograms } from '../package-files.js';
import type { SimulatorOptions } from '../sim.js';

/** Runs the simulator as a program of its own (no package depends on it): its exit code becomes that of this process. */
export async function runSimulator(options: SimulatorOptions): Promise<void> {
  const program = simulatorPrograms.find((path) => existsSync(path));
  if (program === undefined) throw cliErrors.NO_SIMULATOR();
  const child = spawn(process.execPath, [program, ...simulatorArguments(options)], { stdio: 'inherit' });
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** The simulator's own command line (`npm run sim`). */
export function simulatorArguments({ world, seed, seeds, from, seconds, jobs, trace }: SimulatorOptions): string[] {
  if (seed !== undefined && (seeds !== undefined || from !== undefined || seconds !== undefined)) {
    throw cliErrors.USAGE('--seed names a single one: leave out --seeds, --from and --seconds, or take them instead');
  }
  if (trace === true && seed === undefined && world !== 'tiny') throw cliErrors.USAGE('--trace prints what happens in one seed: name it with --seed');
  const words = ['--called', 'daybook sim', '--world', world];
  if (seed !== undefined) words.push('--seeds', '1', '--from', String(seed));
  for (const [name, value] of Object.entries({ seeds, from, seconds, jobs })) if (value !== undefined) words.push(`--${name}`, String(value));
  if (trace === true) words.push('--trace');
  return words;
}
