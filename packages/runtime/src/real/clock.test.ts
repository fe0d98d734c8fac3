import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import t from 'tap';
import { RealClock } from './clock.js';
import { RealRandom } from './random.js';

const index = JSON.stringify(new URL('./index.js', import.meta.url).href);

t.test('RealClock: wall and monotonic time → those of the process', async (t) => {
  const clock = new RealClock();
  t.ok(Math.abs(clock.wallMs() - Date.now()) < 1000);
  const first = clock.monoMs();
  t.ok(clock.monoMs() >= first);
});

t.test('RealClock.sleep: stopped → ends at once, leaves no listener', async (t) => {
  const clock = new RealClock();
  const stop = new AbortController();
  const slept = clock.sleep(60_000, stop.signal);
  t.equal(getEventListeners(stop.signal, 'abort').length, 1);
  stop.abort();
  await slept;
  t.equal(getEventListeners(stop.signal, 'abort').length, 0);
  await clock.sleep(60_000, stop.signal);
  const other = new AbortController();
  await clock.sleep(1, other.signal);
  t.equal(getEventListeners(other.signal, 'abort').length, 0);
});

t.test('RealClock: after and endOfTurn → called; cancelled → not; beyond 2^31 ms → not at once', async (t) => {
  const clock = new RealClock();
  const seen: string[] = [];
  clock.after(0, () => seen.push('cancelled')).cancel();
  const far = clock.after(2 ** 40, () => seen.push('overflow'));
  const turn = new Promise<void>((resolve) => clock.endOfTurn(resolve));
  seen.push('same turn');
  await turn;
  clock.after(1, () => seen.push('after'));
  await clock.sleep(15);
  far.cancel();
  t.same(seen, ['same turn', 'after']);
});

t.test('RealClock: pending after → does not keep the process alive; pending sleep → does', async (t) => {
  const run = (code: string) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', `import { RealClock } from ${index}; ${code}`], { timeout: 20_000 }).toString();
  t.equal(run('new RealClock().after(60_000, () => {}); console.log("end")'), 'end\n');
  t.equal(run('new RealClock().sleep(20).then(() => console.log("slept"))'), 'slept\n');
});

t.test('RealRandom: many draws → in range and not the same; bytes → as many as asked', async (t) => {
  const random = new RealRandom();
  const values = Array.from({ length: 1000 }, () => random.u32());
  t.ok(values.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32));
  t.ok(new Set(values).size > 990);
  t.equal(random.bytes(33).length, 33);
});
