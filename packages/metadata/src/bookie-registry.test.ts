import { bookieId } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { encodeBookieRecord, inProcessBookie } from './bookie-record.js';
import { registerBookie } from './bookie-registration.js';
import { createBookieRegistry, type RegisteredBookie } from './bookie-registry.js';
import { createCookieRecords } from './cluster.js';
import { MemoryTree } from './memory-store.js';
import { paths } from './paths.js';

const b = (n: number): RegisteredBookie => ({
  bookieId: bookieId(`b${n}`),
  address: `h:${n}`,
  httpAddress: '',
  incarnation: `i${n}`,
  isWritable: true,
});

function setup() {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const tree = new MemoryTree();
  const open = () => tree.openSession({ clock });
  const settle = () => queue.runFor(0);
  return { queue, clock, tree, open, settle };
}

t.test('bookie registry: bookies come, turn read-only, go -> the list and its listeners follow', async (tt) => {
  const { clock, open, settle } = setup();
  const registry = await createBookieRegistry(open(), { clock });
  const seen: string[] = [];
  registry.onChange(() =>
    seen.push(
      registry
        .list()
        .map((each) => `${each.bookieId}${each.isWritable ? '' : ' ro'}`)
        .join(),
    ),
  );
  const store = open();
  const first = await registerBookie(store, b(1), { clock });
  const second = await registerBookie(open(), b(2), { clock });
  await settle();
  tt.strictSame(registry.list(), [b(1), b(2)]);
  tt.strictSame(registry.get(bookieId('b2')), b(2));
  await first.setWritable(false);
  await settle();
  tt.strictSame(registry.get(bookieId('b1')), { ...b(1), isWritable: false });
  await first.setWritable(true);
  await settle();
  tt.equal(registry.get(bookieId('b1'))?.isWritable, true);
  await second.close();
  await settle();
  tt.strictSame(registry.list(), [b(1)]);
  tt.strictSame([seen[0], seen.at(-1)], ['b1', 'b1']);
  tt.notOk(
    seen.some((each) => !each.includes('b1')),
    'b1 was never away during its switches',
  );
  registry.close();
  await first.close();
  await settle();
  tt.strictSame(registry.list(), [b(1)], 'closed: no longer followed');
});

t.test('bookie registry: bookies with a cookie -> have joined, up or not; sent away -> not any more', async (tt) => {
  const { clock, open, settle } = setup();
  const store = open();
  const cookies = createCookieRecords(open());
  await cookies.write(bookieId('b1'), Buffer.from('5'), 'absent');
  const registry = await createBookieRegistry(store, { clock });
  tt.same(registry.joined?.(), ['b1']);
  await cookies.write(bookieId('b2'), Buffer.from('5'), 'absent');
  await settle();
  tt.same([...(registry.joined?.() ?? [])].sort(), ['b1', 'b2']);
  tt.same(registry.list(), []);
  await cookies.delete(bookieId('b1'), 0);
  await settle();
  tt.same(registry.joined?.(), ['b2']);
  registry.close();
});

t.test('bookie registry: in both lists -> one bookie, read-only', async (tt) => {
  const { clock, open } = setup();
  const store = open();
  await store.put(paths.availableBookie(bookieId('b1')), encodeBookieRecord(b(1)), 'absent', { ephemeral: true });
  await store.put(paths.readOnlyBookie(bookieId('b1')), encodeBookieRecord(b(1)), 'absent', { ephemeral: true });
  const registry = await createBookieRegistry(open(), { clock });
  tt.strictSame(registry.list(), [{ ...b(1), isWritable: false }]);
  registry.close();
});

t.test('bookie registry: the store is away -> the last list stays, and is brought up to date afterwards', async (tt) => {
  const { queue, clock, open, settle } = setup();
  const store = open();
  const registry = await createBookieRegistry(store, { clock });
  const bookie = await registerBookie(open(), b(1), { clock });
  await registerBookie(open(), b(2), { clock });
  await settle();
  store.suspend();
  await bookie.close();
  await queue.runFor(5_000);
  tt.strictSame(registry.list(), [b(1), b(2)]);
  store.resume();
  await settle();
  tt.strictSame(registry.list(), [b(2)]);
  registry.close();
});

t.test('bookie registry: failing reads -> the last list stays, read again until it works', async (tt) => {
  const { queue, clock, open, settle } = setup();
  const store = open();
  const warnings: unknown[] = [];
  const registry = await createBookieRegistry(store, { clock, logger: { warn: (...args: unknown[]) => void warnings.push(args) } });
  await registerBookie(open(), b(1), { clock });
  await settle();
  const children = store.children.bind(store);
  store.children = () => Promise.reject(new Error('broken'));
  await registerBookie(open(), b(2), { clock });
  await settle();
  tt.strictSame(registry.list(), [b(1)]);
  tt.ok(warnings.length > 0);
  store.children = children;
  await queue.runFor(1_000);
  tt.strictSame(registry.list(), [b(1), b(2)]);
  registry.close();
});

t.test('bookie registry: listing suddenly empty -> kept until it has been empty for a while', async (tt) => {
  const { queue, clock, open, settle } = setup();
  const registry = await createBookieRegistry(open(), { clock });
  const [one, two] = [open(), open()];
  await registerBookie(one, b(1), { clock });
  await registerBookie(two, b(2), { clock });
  await settle();
  await one.close();
  await two.close();
  await queue.runFor(900);
  tt.equal(registry.list().length, 2);
  await queue.runFor(200);
  tt.strictSame(registry.list(), []);
  registry.close();
});

t.test("bookie registry: a record that cannot be read, or BookKeeper's own -> left out, the others stay", async (tt) => {
  const { clock, open } = setup();
  const store = open();
  const warnings: unknown[] = [];
  await store.put(`${paths.availableBookies}/broken`, Buffer.from('ff', 'hex'), 'absent');
  await store.put(`${paths.availableBookies}/bad name`, Buffer.from(''), 'absent');
  await store.put(`${paths.availableBookies}/theirs:3181`, Buffer.from(''), 'absent');
  await registerBookie(store, b(1), { clock });
  const registry = await createBookieRegistry(open(), { clock, logger: { warn: (...args: unknown[]) => void warnings.push(args) } });
  tt.strictSame(registry.list(), [b(1)]);
  tt.equal(warnings.length, 2);
  registry.close();
});

t.test('bookie registration: session lost -> registered again, with its current mode', async (tt) => {
  const { queue, clock, open, settle } = setup();
  const store = open();
  const registry = await createBookieRegistry(open(), { clock });
  const registration = await registerBookie(store, b(1), { clock });
  await registration.setWritable(false);
  store.expire();
  await queue.runFor(1_000);
  tt.equal(registration.isRegistered, true);
  await settle();
  tt.strictSame(registry.list(), [{ ...b(1), isWritable: false }]);
  await registration.close();
  registry.close();
});

t.test('bookie registration: lost replies -> ends up registered once, in one list', async (tt) => {
  const { queue, clock, tree, open } = setup();
  const store = tree.openSession({ clock, random: queue.random.fork('faults') });
  const registration = await registerBookie(store, b(1), { clock });
  store.setFaults({ lostReplies: 400, lostRequests: 200 });
  await queue.complete(registration.setWritable(false));
  store.expire();
  await queue.runFor(60_000);
  store.setFaults({ lostReplies: 0, lostRequests: 0 });
  await queue.runFor(2_000);
  const other = open();
  tt.strictSame(await other.children(paths.availableBookies), ['readonly']);
  tt.strictSame(await other.children(paths.readOnlyBookies), ['b1']);
  await registration.close();
  tt.strictSame(await other.children(paths.readOnlyBookies), []);
});

t.test("bookie registration: an old session's key -> waited for, then registered", async (tt) => {
  const { queue, clock, open } = setup();
  const old = open();
  await registerBookie(old, b(1), { clock });
  old.suspend();
  const store = open();
  const registration = await queue.complete(registerBookie(store, b(1), { clock }));
  tt.equal(clock.monoMs(), 10_000, 'as soon as it was gone');
  tt.equal((await store.get(paths.availableBookie(bookieId('b1'))))?.ownEphemeral, true);
  await registration.close();
});

t.test(
  'bookie registration: another process runs under that id -> CLUSTER_BOOKIE_ID_TAKEN after the session time-out; after a lost session onFailure',
  async (tt) => {
    const { queue, clock, open } = setup();
    const store = open();
    const failures: Error[] = [];
    const registration = await registerBookie(store, b(1), { clock, onFailure: (error) => failures.push(error) });
    await tt.rejects(queue.complete(registerBookie(open(), b(1), { clock })), {
      code: 'CLUSTER_BOOKIE_ID_TAKEN',
      retry: 'later',
      message: /still holds it after 12000 ms: end it first/,
    });
    tt.equal(registration.isRegistered, true, 'the first one stays');
    const other = open();
    store.onSession((state) => {
      if (state === 'lost')
        void other.put(paths.availableBookie(bookieId('b1')), encodeBookieRecord(inProcessBookie(bookieId('b1'), 'x')), 'absent', {
          ephemeral: true,
        });
    });
    store.expire();
    await queue.runFor(20_000);
    tt.strictSame(
      failures.map((each) => errorCode(each)),
      ['CLUSTER_BOOKIE_ID_TAKEN'],
    );
    await registration.close();
  },
);
