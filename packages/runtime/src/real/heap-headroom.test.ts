import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { growingPercent, keepHeapHeadroom } from './heap-headroom.js';

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
  const first = shareOf(flags[0]);
  const live = Array.from({ length: 100_000 }, (_, i) => ({ i, more: new Array(60).fill(i) }));
  const before = flags.length;
  gc();
  while (flags.length === before) await setTimeout(1);
  t.ok(first > 200, `${first} % of a few megabytes`);
  t.ok(shareOf(flags.at(-1)) < first / 1.5, `${flags.at(-1)} with 50 MiB more`);
  t.equal(live.length, 100_000);
});
