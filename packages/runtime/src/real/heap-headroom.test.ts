import { spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { bufferAccountingFlags, growingPercent, keepHeapHeadroom } from './heap-headroom.js';

const mib = 1024 * 1024;

t.test('heap headroom: share of what is live → the headroom, at least the double', (t) => {
  t.equal(growingPercent(10 * mib, 48 * mib), 480);
  t.equal(growingPercent(48 * mib, 48 * mib), 100);
  t.equal(growingPercent(400 * mib, 48 * mib), 100);
  t.equal(growingPercent(0, 1), 100);
  t.end();
});

t.test('heap headroom: what is live grows → a smaller share after the next marking', async (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const flags: string[] = [];
  keepHeapHeadroom(256 * mib, (each) => flags.push(each));
  const shareOf = (flag: string | undefined): number => Number(/^--heap-growing-percent=(\d+)$/.exec(flag ?? '')?.[1]);
  const first = shareOf(flags.at(-1));
  const live = Array.from({ length: 100_000 }, (_, i) => ({ i, more: new Array(60).fill(i) }));
  const before = flags.length;
  gc();
  while (flags.length === before) await setTimeout(1);
  t.ok(first > 200, `${first} % of a few megabytes`);
  t.ok(shareOf(flags.at(-1)) < first / 1.5, `${flags.at(-1)} with 50 MiB more`);
  t.equal(live.length, 100_000);
});

t.test('heap headroom: versions of Node → flags that each of them has', (t) => {
  t.same(bufferAccountingFlags(20), []);
  t.same(bufferAccountingFlags(22), []);
  t.equal(bufferAccountingFlags(24).length, 1);
  t.equal(bufferAccountingFlags(26).length, 2);
  t.same(bufferAccountingFlags(99), [], 'nothing is asked of a version that nobody has looked at');
  t.end();
});

/** Lets so many buffers of 64 KiB pass through a small heap, and prints how often all of it was marked meanwhile. */
const markingsProgram = `
  const [module, isKept] = process.argv.slice(1);
  if (isKept === 'true') (await import(module)).keepHeapHeadroom();
  const { PerformanceObserver, constants } = await import('node:perf_hooks');
  let markings = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) markings++;
  }).observe({ entryTypes: ['gc'] });
  const live = Array.from({ length: 100_000 }, (_, i) => ({ i, name: String(i) }));
  for (let round = 0; round < 4_000; round++) {
    for (let i = 0; i < 8; i++) Buffer.allocUnsafeSlow(65_536).fill(i);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(markings, live.length);
`;

t.test('heap headroom: buffers pass through a small heap → it is marked less often, and V8 knows every flag', (t) => {
  const module = fileURLToPath(new URL('./heap-headroom.js', import.meta.url));
  const markings = (isKept: boolean): number => {
    const words = ['--max-semi-space-size=8', '--input-type=module', '-e', markingsProgram, module, String(isKept)];
    const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } });
    t.equal(stderr, '');
    return Number.parseInt(stdout, 10);
  };
  const [plain, kept] = [markings(false), markings(true)];
  t.ok(plain > 4, `${plain} times without it`);
  t.ok(kept < plain, `${kept} times with it, ${plain} without`);
  t.end();
});
