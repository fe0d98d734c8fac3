import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Here and not deeper: as a part of the bundle this module lies one folder below the package too.

/** The command itself, to start other processes of it. */
export const daybookCommand: string = fileURLToPath(new URL('../bin/daybook.js', import.meta.url));

/** Where the simulator may be: beside this module in the bundle; else as it was built in the repository, or in the bundle all the same. */
export const simulatorPrograms: readonly string[] = ['./simulator.js', '../../../test/dist/sim/main.js', '../bundle/simulator.js'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** The version of the package that was built. */
export function version(): string {
  const { version: text } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return text;
}
