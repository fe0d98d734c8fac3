// npm test [-- OPTIONS] [FILE ...]: installs, builds, lints and runs every test; the last line is `N passed, N failed`, the exit code 1 when any failed.
//   FILE ...             only these test files (x.test.ts or the built x.test.js), without the lint
//   --without-zookeeper  leave out the tests that need a ZooKeeper server, instead of failing without one
//   --jobs N             how many files side by side (default 2); those that start whole clusters and watch the clock always run alone
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runTestFile } from './run-test-file.mjs';
import { build, install, requireNode20, root, run } from './steps.mjs';
import { ensureZooKeeper } from './zookeeper.mjs';

const alone = /^test\/dist\/(chaos|conformance|sim)\//;

function options() {
  try {
    return parseArgs({ allowPositionals: true, options: { 'without-zookeeper': { type: 'boolean' }, jobs: { type: 'string', default: '2' } } });
  } catch (error) {
    console.error(`${error.message}\nOptions: --without-zookeeper, --jobs N, FILE ...`);
    process.exit(2);
  }
}

/** Where a source file's built twin is. */
function built(path) {
  const file = relative(root, resolve(path));
  if (!file.endsWith('.ts')) return file;
  return file
    .replace(/^(packages\/[^/]+)\/src\//, '$1/dist/')
    .replace(/^test\/(?!dist\/)/, 'test/dist/')
    .replace(/\.ts$/, '.js');
}

/** Built test files whose source still exists. */
function testFiles(directory = root, found = []) {
  for (const name of readdirSync(directory)) {
    if (name === 'node_modules' || name.startsWith('.')) continue;
    const path = join(directory, name);
    if (statSync(path).isDirectory()) testFiles(path, found);
    else if (name.endsWith('.test.js') && path.includes('/dist/')) {
      const source = path.replace('/dist/', path.includes('/packages/') ? '/src/' : '/').replace(/\.js$/, '.ts');
      if (existsSync(source)) found.push(relative(root, path));
    }
  }
  return found;
}

const total = { passed: 0, failed: 0, skipped: 0 };

function end() {
  if (total.skipped > 0) console.log(`(${total.skipped} left out)`);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed === 0 ? 0 : 1);
}

async function step(name, task) {
  console.log(`${name} ...`);
  const isDone = await task();
  if (isDone) total.passed++;
  else {
    total.failed++;
    console.log(`FAILED ${name}`);
  }
  return isDone;
}

async function runAll(files, jobs, environment) {
  const waiting = [...files];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runTestFile(file, environment);
      for (const key of Object.keys(total)) total[key] += result[key];
      const skipped = result.skipped > 0 ? `, ${result.skipped} left out` : '';
      console.log(`${result.failed === 0 ? 'ok    ' : 'FAILED'} ${file} (${result.passed} passed${skipped}, ${(result.ms / 1000).toFixed(1)} s)`);
      if (result.details !== '') console.log(result.details);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

requireNode20();
const { values, positionals } = options();
const withoutZooKeeper = values['without-zookeeper'] === true;
const jobs = Math.max(1, Number(values.jobs) || 1);
if ((await install()) !== 0 || !(await step('build', async () => (await build()) === 0))) {
  total.failed ||= 1;
  end();
}
if (positionals.length === 0) {
  await step('format and lint', async () => (await run(join(root, 'node_modules', '.bin', 'biome'), ['check', '--error-on-warnings', '.'])) === 0);
}
if (withoutZooKeeper) console.log('Leaving out the tests that need a ZooKeeper server, as asked.');
else if (!(await ensureZooKeeper())) {
  total.failed++;
  end();
}

const files = positionals.length > 0 ? positionals.map(built) : testFiles();
console.log(`Running ${files.length} test files ...`);
const environment = withoutZooKeeper ? { DAYBOOK_WITHOUT_ZOOKEEPER: '1' } : {};
await runAll(
  files.filter((file) => !alone.test(file)),
  jobs,
  environment,
);
await runAll(
  files.filter((file) => alone.test(file)),
  1,
  environment,
);
end();
