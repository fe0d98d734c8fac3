import { type MemoryStore, MemoryTree } from '@daybook/metadata';
import { parseTopicName } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { bundleOf, bundlesCountOf } from './bundles.js';
import { LiveBrokers } from './live-brokers.js';
import { chooseBroker, heartbeatBroker } from './lookup.js';
import { Ownership } from './ownership.js';

const name = parseTopicName('orders');

class World {
  readonly queue = new EventQueue({ seed: 1 });
  readonly clock = new SimClock(this.queue);
  readonly tree = new MemoryTree();
  live: string[] = [];

  broker(brokerId: string): { store: MemoryStore; ownership: Ownership } {
    const store = this.tree.openSession({ clock: this.clock });
    this.live.push(brokerId);
    const ownership = new Ownership({
      store,
      brokerId,
      logger: silentLogger,
      bundlesCountDefault: 4,
      policies: async () => undefined,
      liveBrokers: async () => this.live,
    });
    return { store, ownership };
  }
}

t.test('ownership: asked → the claim that exists, else the same choice on every broker; nothing is claimed by asking', async (t) => {
  const world = new World();
  const [a, b] = [world.broker('a:1'), world.broker('b:1')];
  const first = await a.ownership.owner(name);
  t.equal((await b.ownership.owner(name)).brokerId, first.brokerId);
  t.same(await a.store.children('/namespace/public/default'), []);
  // The other one claims it all the same: then that is the answer.
  const other = first.isSelf ? b : a;
  await other.ownership.claim(name);
  t.not((await a.ownership.owner(name)).brokerId, first.brokerId);
});

t.test('ownership: many claim one bundle at once → one wins, the others learn who', async (t) => {
  const world = new World();
  const brokers = ['a:1', 'b:1', 'c:1'].map((id) => world.broker(id));
  const results = await Promise.allSettled(brokers.map(({ ownership }) => ownership.claim(name)));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  const winner = ['a:1', 'b:1', 'c:1'][results.findIndex(({ status }) => status === 'fulfilled')];
  for (const result of results) {
    if (result.status === 'rejected') t.match(result.reason, { code: 'TOPIC_OWNED_ELSEWHERE', message: `is served by broker ${winner}` });
  }
});

t.test('ownership: claimed again and at once → one write; released → free', async (t) => {
  const world = new World();
  const { ownership, store } = world.broker('a:1');
  const [path] = await Promise.all([ownership.claim(name), ownership.claim(name)]);
  t.equal(path, `/namespace/public/default/${ownership.bundleOf(name)}`);
  t.equal((await store.get(path))?.version, 0);
  const releasing = ownership.release(path);
  const again = ownership.claim(name);
  await Promise.all([releasing, again]);
  t.ok((await store.get(path))?.ownEphemeral, 'a claim during a release waits for it and claims anew');
  await ownership.release(path);
  t.equal(await store.get(path), undefined);
  await ownership.release(path);
});

t.test('ownership: the session is lost at any moment of a claim → what counts as owned has its key under the new session', async (t) => {
  let refusedCount = 0;
  for (let turns = 0; turns < 12; turns++) {
    const world = new World();
    const { ownership, store } = world.broker('a:1');
    store.onSession((state) => {
      if (state === 'lost') ownership.forgetAll();
    });
    const claiming = ownership.claim(name).catch((error: { code: string }) => {
      t.equal(error.code, 'TOPIC_UNAVAILABLE');
      refusedCount++;
    });
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    store.expire();
    await claiming;
    const path = await ownership.claim(name);
    t.ok((await store.get(path))?.ownEphemeral, `after ${turns} turns`);
  }
  t.ok(refusedCount > 0);
});

t.test('ownership: no metadata → unavailable, said at once', async (t) => {
  const world = new World();
  const { ownership, store } = world.broker('a:1');
  store.suspend();
  await t.rejects(ownership.claim(name), { code: 'TOPIC_UNAVAILABLE', message: /the metadata session is suspended/ });
});

t.test('ownership: a claim left by an earlier life of this broker → replaced; by another one → respected', async (t) => {
  const world = new World();
  const before = world.broker('a:1');
  await before.ownership.claim(name);
  const after = world.broker('a:1');
  t.ok(await after.ownership.claim(name));
  await t.rejects(world.broker('b:1').ownership.claim(name), { code: 'TOPIC_OWNED_ELSEWHERE' });
  await before.store.close();
  t.ok(await after.store.get(await after.ownership.claim(name)), 'the end of the old session does not touch it');
});

t.test('ownership: heartbeat topics → always of the broker they are named after', async (t) => {
  const world = new World();
  const { ownership } = world.broker('a:1');
  const own = parseTopicName('persistent://pulsar/a:1/healthcheck');
  const others = parseTopicName('persistent://pulsar/b:1/healthcheck');
  t.equal(heartbeatBroker(name), undefined);
  t.same(await ownership.owner(own), { brokerId: 'a:1', isSelf: true });
  t.same(await ownership.owner(others), { brokerId: 'b:1', isSelf: false });
  t.equal(await ownership.claim(own), '');
  await t.rejects(ownership.claim(others), { code: 'TOPIC_OWNED_ELSEWHERE' });
  t.equal(ownership.bundleOf(own), '0x00000000_0xffffffff');
});

t.test('lookup: brokers come and go → only the bundles of those change hands', async (t) => {
  const bundles = Array.from({ length: 1000 }, (_, i) => `/namespace/t/n${i}/0x00000000_0x40000000`);
  const three = ['host-1:8080', 'host-2:8080', 'host-3:8080'];
  const before = bundles.map((bundle) => chooseBroker(three, bundle));
  for (const id of three) {
    const share = before.filter((one) => one === id).length;
    t.ok(share > 250 && share < 420, `${id}: ${share}`);
  }
  const after = bundles.map((bundle) => chooseBroker(three.slice(0, 2), bundle));
  t.ok(after.every((one, i) => before[i] === 'host-3:8080' || one === before[i]));
  t.equal(chooseBroker([...three].reverse(), bundles[0]!), before[0], 'whatever the order');
  t.equal(chooseBroker([], 'x'), undefined);
});

t.test('bundles: any topic → the range its hash lies in', async (t) => {
  for (let i = 0; i < 200; i++) {
    for (const count of [1, 2, 3, 4, 7]) {
      const [low, high] = bundleOf(parseTopicName(`t${i}`), count)
        .split('_')
        .map(Number) as [number, number];
      t.ok(low < high);
    }
  }
  t.match(bundleOf(name, 4), /^0x[048c]0000000_0x(40000000|80000000|c0000000|ffffffff)$/);
  t.equal(bundleOf(name, 1), '0x00000000_0xffffffff');
  t.equal(bundlesCountOf({ bundles: { numBundles: 7 } }, 4), 7);
  t.equal(bundlesCountOf({ bundles: {} }, 4), 4);
  t.equal(bundlesCountOf(undefined, 4), 4);
});

t.test('live brokers: registered → listed and watched, over an earlier life too; left → gone', async (t) => {
  const world = new World();
  const store = world.tree.openSession({ clock: world.clock });
  const stale = world.tree.openSession({ clock: world.clock });
  await new LiveBrokers(stale, 'a:1').register({});
  const live = new LiveBrokers(store, 'a:1');
  let calls = 0;
  live.watch(() => calls++);
  await live.register({ webServiceUrl: 'http://a:1' });
  await live.register({ webServiceUrl: 'http://a:1' });
  t.same(await live.list(), ['a:1']);
  await stale.close();
  t.same(await live.list(), ['a:1']);
  await live.leave();
  await live.leave();
  t.same(await live.list(), []);
  t.ok(calls > 0);
});
