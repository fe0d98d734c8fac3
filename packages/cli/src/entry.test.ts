import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { daybookCommand } from './package-files.js';

/** A repository with the real entry file, a bundle and built files that say which they are, and the times at which they were made. */
function run(t: Test, { bundleMadeAt, builtAt }: { bundleMadeAt: number | undefined; builtAt: number }): string {
  const packages = join(t.testdir(), 'packages');
  const write = (path: string, text: string, seconds: number) => {
    const file = join(packages, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    utimesSync(file, seconds, seconds);
  };
  const says = (text: string) => `export const main = () => console.log('${text}');`;
  write('cli/package.json', '{ "type": "module" }', 1);
  write('cli/dist/index.js', says('built'), 1);
  write('cli/dist/.tsbuildinfo', '', 1);
  write('bookie/dist/.tsbuildinfo', '', builtAt);
  write('notes/README', 'not a package', 1);
  if (bundleMadeAt !== undefined) write('cli/bundle/index.js', says('bundle'), bundleMadeAt);
  mkdirSync(join(packages, 'cli/bin'));
  copyFileSync(daybookCommand, join(packages, 'cli/bin/daybook.js'));
  return execFileSync(process.execPath, [join(packages, 'cli/bin/daybook.js')], { encoding: 'utf8' }).trim();
}

t.test('daybook: a bundle as new as the build → it is used', async (t) => {
  t.equal(run(t, { bundleMadeAt: 100, builtAt: 100 }), 'bundle');
});

t.test('daybook: a package built after the bundle, or no bundle → the built files', async (t) => {
  t.equal(run(t, { bundleMadeAt: 100, builtAt: 101 }), 'built');
  t.equal(run(t, { bundleMadeAt: undefined, builtAt: 1 }), 'built');
});
