import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { outlastEarlierSession } from './earlier-session.js';
import { MemoryTree } from './memory-store.js';

const sessionTimeoutMs = 4_000;
const path = '/live';

function world() {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const tree = new MemoryTree();
  const [store, holder] = [tree.openSession({ clock, sessionTimeoutMs }), tree.openSession({ clock, sessionTimeoutMs })];
  const stop = new AbortController();
  const hold = (session = holder) => queue.complete(session.put(path, Buffer.from('x'), 'absent', { ephemeral: true }));
  const wait = () => queue.complete(outlastEarlierSession(store, path, { clock, stop: stop.signal }));
  const at = (ms: number, task: () => void) => queue.schedule(ms, task, 'test');
  return { clock, store, holder, stop, hold, wait, at };
}

interface Case {
  what: string;
  /** From when on nobody renews the session that holds the key: it ended before, but what runs on while the store is away is its time-out. */
  deadFromMs?: number;
  /** The store is away. */
  away?: [fromMs: number, toMs: number][];
  expected: { isFree: boolean; atMs: number };
}

const cases: Case[] = [
  { what: 'its process is dead → free after the time-out', deadFromMs: 0, expected: { isFree: true, atMs: 4_000 } },
  {
    what: 'dead, and the store was away → free after the time-out since then',
    deadFromMs: 4_500,
    away: [[2_000, 4_500]],
    expected: { isFree: true, atMs: 8_500 },
  },
  {
    what: 'dead, the store away again and again → free after the time-out since it was last away',
    deadFromMs: 10_000,
    away: [
      [2_000, 4_500],
      [8_000, 10_000],
    ],
    expected: { isFree: true, atMs: 14_000 },
  },
  { what: 'its process lives → never free, said soon after the time-out', expected: { isFree: false, atMs: 6_000 } },
  { what: 'it lives, and the store was away → never free', away: [[2_000, 4_500]], expected: { isFree: false, atMs: 10_500 } },
  { what: 'it lives, and our own session ended meanwhile → never free', away: [[1_000, 5_500]], expected: { isFree: false, atMs: 11_500 } },
];

for (const { what, deadFromMs, away = [], expected } of cases) {
  t.test(`earlier session: its key is there, ${what}`, async (t) => {
    const { clock, store, holder, hold, wait, at } = world();
    await hold();
    if (deadFromMs !== undefined) at(deadFromMs, () => holder.suspend());
    for (const [fromMs, toMs] of away) {
      at(fromMs, () => store.suspend());
      at(toMs, () => store.resume());
    }
    t.strictSame({ isFree: await wait(), atMs: clock.monoMs() }, expected);
  });
}

t.test('earlier session: no key, or our own → free at once', async (t) => {
  const { clock, store, hold, wait } = world();
  t.equal(await wait(), true);
  await hold(store);
  t.equal(await wait(), true);
  t.equal(clock.monoMs(), 0);
});

t.test('earlier session: the store stays away → METADATA_UNAVAILABLE, not that somebody holds the key', async (t) => {
  const { store, hold, wait, at } = world();
  await hold();
  at(1_000, () => store.suspend());
  await t.rejects(wait(), { code: 'METADATA_UNAVAILABLE' });
});

t.test('earlier session: stopped, or the store closed → waits no longer', async (t) => {
  const stopped = world();
  await stopped.hold();
  stopped.at(1_000, () => stopped.stop.abort());
  t.equal(await stopped.wait(), true);
  t.equal(stopped.clock.monoMs(), 1_000);
  const closed = world();
  await closed.hold();
  closed.at(1_000, () => void closed.store.close());
  await t.rejects(closed.wait(), { code: 'METADATA_CLOSED' });
  t.equal(closed.clock.monoMs(), 1_000);
});
