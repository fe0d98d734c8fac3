import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { type ElectionState, LeaderElection } from './leader-election.js';
import { type MemoryStore, MemoryTree } from './memory-store.js';
import { paths } from './paths.js';

const path = paths.brokerElection;

function setup(seed = 1) {
  const queue = new EventQueue({ seed });
  const clock = new SimClock(queue);
  const tree = new MemoryTree();
  const candidate = (name: string) => {
    const store = tree.openSession({ clock, random: queue.random.fork(name) });
    const states: ElectionState[] = [];
    const election = new LeaderElection({ store, clock, path, candidate: Buffer.from(name), onChange: (state) => states.push(state) });
    return { name, store, election, states };
  };
  return { queue, clock, tree, candidate };
}

t.test('leader election: one candidate -> leads; a second one -> follows and knows whom', async (tt) => {
  const { queue, candidate } = setup();
  const a = candidate('a');
  await queue.runFor(0);
  const b = candidate('b');
  await queue.runFor(0);
  tt.strictSame(a.election.state, { at: 'leading', term: 0 });
  tt.strictSame(b.election.state, { at: 'following', leader: Buffer.from('a') });
});

t.test('leader election: leader closes, or loses its session -> the other one leads in a higher term', async (tt) => {
  const { queue, candidate } = setup();
  const a = candidate('a');
  await queue.runFor(0);
  const b = candidate('b');
  await queue.runFor(0);
  a.store.suspend();
  tt.strictSame(a.election.state, { at: 'unsure' }, 'steps back before anybody else can lead');
  await queue.runFor(10_000);
  tt.strictSame(b.election.state, { at: 'leading', term: 1 });
  a.store.resume();
  await queue.runFor(0);
  tt.strictSame(a.election.state, { at: 'following', leader: Buffer.from('b') });
  await b.election.close();
  await queue.runFor(0);
  tt.strictSame(a.election.state, { at: 'leading', term: 2 });
  tt.strictSame(b.election.state, { at: 'closed' });
});

t.test('leader election: short cut -> unsure, then leading again', async (tt) => {
  const { queue, candidate } = setup();
  const a = candidate('a');
  await queue.runFor(0);
  a.store.suspend();
  await queue.runFor(1_000);
  a.store.resume();
  await queue.runFor(0);
  tt.strictSame(
    a.states.map((state) => state.at),
    ['leading', 'unsure', 'leading'],
  );
});

t.test(
  'leader election: random cuts, expiries and lost replies -> terms rise, never two connected leaders of one term, somebody leads in the end',
  async (tt) => {
    for (let seed = 1; seed <= 30; seed++) {
      const { queue, candidate, tree } = setup(seed);
      const all = ['a', 'b', 'c'].map(candidate);
      const random = queue.random.fork('nemesis');
      const terms = new Map<number, string>();
      for (let step = 0; step < 60; step++) {
        disturb(all[random.u32() % 3]?.store as MemoryStore, random.u32() % 5);
        await queue.runFor(random.u32() % 4_000);
        const holder = tree.tree.get(path.leader);
        for (const { name, election } of all) {
          if (election.state.at !== 'leading') continue;
          tt.equal(holder?.value.toString(), name, `seed ${seed}: who thinks that it leads has the key`);
          const before = terms.get(election.state.term);
          tt.ok(before === undefined || before === name, `seed ${seed}: term ${election.state.term} of ${before} and ${name}`);
          terms.set(election.state.term, name);
        }
      }
      for (const { store } of all) {
        store.setFaults({ lostReplies: 0, lostRequests: 0 });
        store.resume();
      }
      await queue.runFor(15_000);
      tt.equal(all.filter(({ election }) => election.state.at === 'leading').length, 1, `seed ${seed}`);
      for (const { election } of all) await queue.complete(election.close());
    }
  },
);

function disturb(store: MemoryStore, what: number): void {
  if (what === 0) store.suspend();
  else if (what === 1) store.resume();
  else if (what === 2) store.expire();
  else store.setFaults({ lostReplies: what === 3 ? 300 : 0, lostRequests: what === 3 ? 200 : 0 });
}
