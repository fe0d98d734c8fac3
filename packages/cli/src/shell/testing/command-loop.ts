/**
 * Runs one command line after another in one process, as a start for each of them would take most of a test's time. Reads a JSON array of words per line;
 * after each command both outputs get a line that ends it, standard output's with the exit code.
 */
import { createInterface } from 'node:readline';
import { main } from '../../main.js';

const endOfCommand = '<end of command>';

for await (const line of createInterface({ input: process.stdin })) {
  process.exitCode = 0;
  await main(['node', 'daybook', ...(JSON.parse(line) as string[])]);
  process.stdout.write(`${endOfCommand}${process.exitCode}\n`);
  process.stderr.write(`${endOfCommand}\n`);
}
