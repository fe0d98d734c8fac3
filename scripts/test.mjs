// npm test [-- --without-zookeeper] [-- FILE ...]: installs, builds, lints and runs every test; the last line is `N passed, N failed`.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { build, install, requireNode20, root, run } from './steps.mjs';
import { ensureZooKeeper } from './zookeeper.mjs';

requireNode20();
const options = process.argv.slice(2);
const withoutZooKeeper = options.includes('--without-zookeeper');
const onlyFiles = options.filter((text) => !text.startsWith('--'));

function end(passed, failed) {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

if ((await install()) !== 0) end(0, 1);
if ((await build()) !== 0) end(0, 1);
let passed = 1;
let failed = 0;
console.log('Checking format and house rules ...');
if ((await run(join(root, 'node_modules', '.bin', 'biome'), ['check', '--error-on-warnings', '.'])) === 0) passed++;
else failed++;
if (withoutZooKeeper) console.log('Leaving out the tests that need a ZooKeeper server, as asked.');
else if (!(await ensureZooKeeper())) end(passed, failed + 1);

/** Compiled test files whose source still exists. */
function testFiles(directory = root, found = []) {
  for (const name of readdirSync(directory)) {
    if (name === 'node_modules' || name.startsWith('.')) continue;
    const path = join(directory, name);
    if (statSync(path).isDirectory()) testFiles(path, found);
    else if (name.endsWith('.test.js') && path.includes('/dist/')) {
      const source = path.replace('/dist/', path.includes('/packages/') ? '/src/' : '/').replace(/\.js$/, '.ts');
      if (statSync(source, { throwIfNoEntry: false })) found.push(relative(root, path));
    }
  }
  return found;
}

const files = onlyFiles.length > 0 ? onlyFiles : testFiles();
console.log(`Running ${files.length} test files ...`);
const tap = spawn(join(root, 'node_modules', '.bin', 'tap'), ['run', '--reporter=tap', ...files], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, ...(withoutZooKeeper ? { DAYBOOK_WITHOUT_ZOOKEEPER: '1' } : {}) },
});

// A test is a line one level below its file; failures are printed with all that TAP says about them.
let isInFailure = false;
for await (const line of createInterface({ input: tap.stdout })) {
  const test = /^( *)(not )?ok \d+(?: - (.*))?$/.exec(line);
  if (!test) {
    if (isInFailure || /^\s*#.*(SKIP|TODO)/.test(line)) console.log(line);
    continue;
  }
  const [, indent, not, name = ''] = test;
  isInFailure = not !== undefined;
  if (isInFailure) console.log(line);
  if (indent.length === 4 && !/# SKIP/.test(name)) not ? failed++ : passed++;
  if (indent.length === 0) console.log(`${not ? 'FAILED' : 'ok'} ${name}`);
}
const code = await new Promise((resolve) => tap.on('close', resolve));
if (code !== 0 && failed === 0) failed++;
end(passed, failed);
