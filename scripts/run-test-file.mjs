// One test file as a process of its own: counts its tests, keeps what is to be read about failures.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { root } from './steps.mjs';

/** A file that says nothing for so long hangs; one that works may take longer. */
const silentMsMax = 600_000;
/** What one test may take unless it says otherwise. */
const testSeconds = 600;
const detailsLinesMax = 200;
const errorLinesMax = 40;

/** Variables of whoever runs the tests that the tests know. */
const passedOn = ['DAYBOOK_JAVA', 'DAYBOOK_KILL_ROUNDS', 'DAYBOOK_ZOOKEEPER_CLASSPATH', 'DAYBOOK_WITHOUT_ZOOKEEPER'];

function environmentOf(own) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('DAYBOOK_') || passedOn.includes(name));
  return { ...Object.fromEntries(others), TAP_TIMEOUT: String(testSeconds), FORCE_COLOR: '0', ...own };
}

/** A test is a subtest at the top level of the file's TAP; what is in it is part of it, and told when it fails. A file without any is one test. */
export async function runTestFile(file, environment) {
  const startMs = performance.now();
  const result = { passed: 0, failed: 0, skipped: 0, details: '', ms: 0 };
  const details = [];
  const errors = [];
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentOf(environment),
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  let hangs = false;
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      hangs = true;
      kill();
    }, silentMsMax);
  };
  alive();
  createInterface({ input: child.stderr }).on('line', (line) => {
    alive();
    errors.push(line);
    if (errors.length > errorLinesMax) errors.shift();
  });
  let failureIndent = -1;
  let bareAssertions = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    alive();
    const test = /^( *)(not )?ok\b(.*)$/.exec(line);
    if (test !== null) {
      const [, { length: indent }, not, rest] = test;
      const isForgiven = /# *(SKIP|TODO)\b/i.test(rest);
      const isFailure = not !== undefined && !isForgiven;
      if (indent === 0) {
        if (isForgiven) result.skipped++;
        else if (isFailure) result.failed++;
        else if (/ # time=/.test(rest)) result.passed++;
        else bareAssertions++;
      }
      failureIndent = isFailure ? indent : -1;
      if (isFailure) details.push(line);
      return;
    }
    if (/^ *# Subtest|^ *Bail out!/.test(line)) failureIndent = -1;
    if (/^Bail out!/.test(line)) details.push(line);
    else if (failureIndent >= 0 && line.startsWith(' '.repeat(failureIndent + 1))) details.push(line);
  });
  const { code, signal } = await new Promise((done) => {
    child.once('close', (exitCode, exitSignal) => done({ code: exitCode, signal: exitSignal }));
    child.once('error', (error) => {
      errors.push(String(error));
      done({ code: 1, signal: null });
    });
  });
  clearTimeout(timer);
  process.off('exit', kill);
  result.ms = performance.now() - startMs;
  if (hangs) details.push(`not ok - it was silent for ${silentMsMax / 1000} s and was ended`);
  else if (code !== 0 && result.failed === 0) details.push(`not ok - it ended with ${signal ?? `exit code ${code}`}`);
  if (result.passed + result.failed + result.skipped === 0 && bareAssertions > 0) result.passed = 1;
  if (result.passed + result.failed + result.skipped === 0 && code === 0) details.push('not ok - it holds no tests');
  if (details.length > 0 && result.failed === 0) result.failed = 1;
  if (result.failed > 0) {
    const shown =
      details.length > detailsLinesMax ? [...details.slice(0, detailsLinesMax), `... ${details.length - detailsLinesMax} more lines`] : details;
    result.details = [...shown, ...(errors.length > 0 ? ['standard error ended with:', ...errors] : [])].map((line) => `    ${line}`).join('\n');
  }
  return result;
}
