import t from 'tap';
import { SimClock } from './clock.js';
import { EventQueue } from './event-queue.js';

function node() {
  const queue = new EventQueue({ seed: 1 });
  return { queue, clock: new SimClock(queue, { name: 'n', wallStartMs: 1000 }) };
}

t.test('SimClock.after: due → called once; cancelled → never', async (t) => {
  const { queue, clock } = node();
  const seen: string[] = [];
  clock.after(5, () => seen.push(`five at ${clock.monoMs()}`));
  clock.after(3, () => seen.push('cancelled')).cancel();
  clock.endOfTurn(() => seen.push('turn'));
  await queue.run();
  t.same(seen, ['turn', 'five at 5']);
});

t.test('SimClock.sleep: aborted → ends at once and leaves no timer behind', async (t) => {
  const { queue, clock } = node();
  const stop = new AbortController();
  const slept = clock.sleep(1_000_000, stop.signal).then(() => clock.monoMs());
  clock.after(2, () => stop.abort());
  t.equal(await queue.complete(slept), 2);
  t.equal(queue.pendingCount, 0);
  await clock.sleep(1000, stop.signal);
  t.equal(clock.monoMs(), 2);
});

t.test('SimClock.stop: kill -9 → pending timers, sleeps and deliveries never happen; another node lives on', async (t) => {
  const { queue, clock } = node();
  const other = new SimClock(queue, { name: 'other' });
  const seen: string[] = [];
  clock.after(5, () => seen.push('dead timer'));
  const stop = new AbortController();
  void clock.sleep(5, stop.signal).then(() => seen.push('dead sleep'));
  other.after(10, () => seen.push('other'));
  clock.after(1, () => clock.stop());
  await queue.run();
  stop.abort();
  clock.deliver(() => seen.push('dead delivery'));
  clock.after(1, () => seen.push('set when dead'));
  await queue.run();
  t.same(seen, ['other']);
});

t.test('SimClock.pause: SIGSTOP → what is due waits and happens in order at resume; what is cancelled meanwhile does not', async (t) => {
  const { queue, clock } = node();
  const seen: string[] = [];
  clock.after(5, () => seen.push(`a at ${clock.monoMs()}`));
  const cancelled = clock.after(6, () => seen.push('cancelled'));
  clock.after(7, () => seen.push(`b at ${clock.monoMs()}`));
  clock.after(50, () => seen.push(`c at ${clock.monoMs()}`));
  clock.pause();
  await queue.run({ untilMs: 20 });
  t.same(seen, []);
  cancelled.cancel();
  clock.resume();
  await queue.run();
  t.same(seen, ['a at 20', 'b at 20', 'c at 50']);
});

t.test('SimClock.deliver: right after resume → nothing overtakes what was held back', async (t) => {
  const { queue, clock } = node();
  const seen: string[] = [];
  clock.pause();
  clock.deliver(() => seen.push('held'));
  clock.resume();
  clock.deliver(() => seen.push('new'));
  await queue.run();
  t.same(seen, ['held', 'new']);
});

t.test('SimClock.jumpWall: clock set back → wall time jumps, monotonic time and timers do not', async (t) => {
  const { queue, clock } = node();
  await queue.runFor(100);
  t.same([clock.wallMs(), clock.monoMs()], [1100, 100]);
  clock.jumpWall(-5000);
  await queue.runFor(100);
  t.same([clock.wallMs(), clock.monoMs()], [-3800, 200]);
});
