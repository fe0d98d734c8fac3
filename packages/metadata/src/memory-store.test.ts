import { RealClock } from '@daybook/runtime/real';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { testMetadataStore } from './conformance.js';
import { type MemoryStore, MemoryTree } from './memory-store.js';

await testMetadataStore(t, 'memory store', async () => {
  const tree = new MemoryTree();
  const clock = new RealClock();
  const first = tree.openSession({ clock });
  const second = tree.openSession({ clock });
  return {
    first,
    second,
    endFirst: async () => {
      first.expire();
      return first;
    },
    close: async () => {
      await first.close();
      await second.close();
    },
  };
});

t.test('memory store: lost reply -> the write happened, the caller cannot tell', async (tt) => {
  const { store, other } = simulated();
  store.setFaults({ lostReplies: 1000 });
  await tt.rejects(store.put('/a', Buffer.from('x'), 'absent'), { code: 'METADATA_UNAVAILABLE', retry: 'later' });
  tt.strictSame((await other.get('/a'))?.value, Buffer.from('x'));
});

t.test('memory store: lost request -> nothing happened, the caller cannot tell', async (tt) => {
  const { store, other } = simulated();
  store.setFaults({ lostRequests: 1000 });
  await tt.rejects(store.put('/a', Buffer.from('x'), 'absent'), { code: 'METADATA_UNAVAILABLE' });
  tt.equal(await other.get('/a'), undefined);
});

t.test('memory store: expiry -> ephemeral values vanish, lost, connected, watchers wake, the new session can write', async (tt) => {
  const { store, other } = simulated();
  const states: string[] = [];
  store.onSession((state) => states.push(state));
  await store.put('/live', Buffer.from('x'), 'absent', { ephemeral: true });
  let calls = 0;
  store.watch('/elsewhere', () => calls++);
  store.expire();
  tt.strictSame(states, ['lost', 'connected']);
  tt.equal(await other.get('/live'), undefined);
  tt.ok(calls > 0);
  await store.put('/live', Buffer.from('y'), 'absent', { ephemeral: true });
  tt.equal((await store.get('/live'))?.ownEphemeral, true);
});

t.test(
  'memory store: cut shorter than the session time-out -> the session goes on; longer -> its values go at the time-out, before it knows',
  async (tt) => {
    const { queue, store, other } = simulated();
    const states: string[] = [];
    store.onSession((state) => states.push(state));
    await store.put('/live', Buffer.from('x'), 'absent', { ephemeral: true });
    store.suspend();
    await tt.rejects(store.get('/live'), { code: 'METADATA_UNAVAILABLE' });
    await queue.runFor(9_999);
    store.resume();
    tt.equal((await store.get('/live'))?.ownEphemeral, true);
    store.suspend();
    await queue.runFor(10_001);
    tt.equal(await other.get('/live'), undefined);
    tt.equal(store.session, 'suspended');
    store.resume();
    tt.strictSame(states, ['suspended', 'connected', 'suspended', 'lost', 'connected']);
  },
);

t.test('memory store: the store itself is away -> nobody is answered, no session ends; back -> each has its whole time-out again', async (tt) => {
  const { queue, tree, store, other } = simulated();
  const states: string[] = [];
  other.onSession((state) => states.push(state));
  const closed = tree.openSession({ clock: new SimClock(queue) });
  const hold = (session: MemoryStore, path: string) => session.put(path, Buffer.from('x'), 'absent', { ephemeral: true });
  await hold(store, '/dead');
  await hold(other, '/alive');
  await hold(closed, '/closed');
  store.suspend();
  await queue.runFor(9_000);
  tree.goAway();
  await closed.close();
  const late = tree.openSession({ clock: new SimClock(queue) });
  tt.equal(late.session, 'suspended');
  await queue.runFor(60_000);
  await tt.rejects(other.get('/dead'), { code: 'METADATA_UNAVAILABLE' });
  await tt.rejects(hold(late, '/late'), { code: 'METADATA_UNAVAILABLE' });
  tree.comeBack();
  tt.strictSame(states, ['suspended', 'connected']);
  await queue.runFor(9_999);
  await hold(late, '/late');
  tt.strictSame(await other.children('/'), ['alive', 'closed', 'dead', 'late']);
  await queue.runFor(2);
  tt.strictSame(await other.children('/'), ['alive', 'late']);
  store.resume();
  tt.equal(store.session, 'connected', 'a new session');
  tt.equal(await store.get('/dead'), undefined);
});

t.test('memory store: its connection comes back while the store is away -> the session goes on when that is back', async (tt) => {
  const { queue, tree, store } = simulated();
  await store.put('/live', Buffer.from('x'), 'absent', { ephemeral: true });
  store.suspend();
  tree.goAway();
  store.resume();
  tt.equal(store.session, 'suspended');
  await queue.runFor(60_000);
  tree.comeBack();
  tt.equal((await store.get('/live'))?.ownEphemeral, true);
});

t.test('memory store: a change during a cut -> the watcher is called after it', async (tt) => {
  const { store, other } = simulated();
  let calls = 0;
  store.watch('/a', () => calls++);
  store.suspend();
  await other.put('/a', Buffer.from('x'), 'absent');
  tt.equal(calls, 0);
  store.resume();
  await Promise.resolve();
  tt.ok(calls > 0);
});

t.test('memory store: slow requests -> one session stays in order, and one seed gives one history', async (tt) => {
  const history = async (seed: number) => {
    const { queue, store, other } = simulated(seed);
    const faults = { delayMsMax: 50, lostReplies: 100, lostRequests: 100, watchDelayMsMax: 30 };
    store.setFaults(faults);
    other.setFaults(faults);
    const log: string[] = [];
    store.watch('/n', () => log.push(`watch ${queue.nowMs}`));
    const writes = Array.from({ length: 40 }, async (_, i) => {
      const result = await (i % 3 === 0 ? other : store).put('/n', Buffer.from(`${i}`), 'any').catch((error: { code: string }) => error.code);
      log.push(`${i} ${JSON.stringify(result)} ${queue.nowMs}`);
    });
    await queue.complete(Promise.all(writes));
    return log;
  };
  const once = await history(7);
  tt.strictSame(await history(7), once);
  tt.notSame(await history(8), once);
  const { queue, store } = simulated();
  store.setFaults({ delayMsMax: 100 });
  const versions: number[] = [];
  await queue.complete(
    Promise.all(Array.from({ length: 30 }, async (_, i) => versions.push((await store.put('/o', Buffer.from(`${i}`), 'any')).version))),
  );
  tt.equal((await queue.complete(store.get('/o')))?.value.toString(), '29');
});

function simulated(seed = 1) {
  const queue = new EventQueue({ seed });
  const clock = new SimClock(queue);
  const tree = new MemoryTree();
  const session = (name: string) => tree.openSession({ clock, random: new SimRandom(`${seed} ${name}`) });
  return { queue, tree, store: session('first'), other: session('second') };
}
