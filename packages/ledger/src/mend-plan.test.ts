import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { planMending } from './mend-plan.js';
import type { MemberState } from './writer-state.js';

function member(name: string, failedWith?: MemberState['failedWith']): MemberState {
  const identity = { bookieId: name as BookieId, incarnation: '1' };
  return {
    identity,
    isFailed: failedWith !== undefined,
    failedWith: failedWith ?? 'OK',
    failedAtMs: 0,
    admission: 0,
    admittedAtMs: 0,
    nextAnswer: 0,
  };
}

t.test('mend plan: spare first; without one the own bookie; other disks only through a change', async (t) => {
  const registered = (incarnation: string, isWritable = true) => ({
    bookieId: 'b' as BookieId,
    address: '',
    httpAddress: '',
    incarnation,
    isWritable,
  });
  const plan = (members: MemberState[], spares: string[], known: Record<string, ReturnType<typeof registered>>, nowMs = 0) =>
    planMending({
      members,
      nowMs,
      busyGraceMs: 5_000,
      registered: (id) => known[id],
      pickSpares: (failed) => new Map(failed.slice(0, spares.length).map((index, i) => [index, spares[i] as BookieId])),
    });
  const members = [member('a'), member('b', 'UNAVAILABLE'), member('c', 'UNAVAILABLE')];
  const up = { b: registered('1'), c: registered('1'), s: registered('7') };
  t.same(plan(members, ['s'], up), { replacements: [{ index: 1, from: 'b', to: 's', incarnation: '7' }], readmissions: [2] });
  t.same(plan(members, [], {}), { replacements: [], readmissions: [] });
  t.same(plan(members, [], { b: registered('2'), c: registered('1', false) }), {
    replacements: [{ index: 1, from: 'b', to: 'b', incarnation: '2' }],
    readmissions: [],
  });
  const busy = [member('a'), member('b', 'TOO_MANY_REQUESTS'), member('c')];
  t.same(plan(busy, ['s'], up, 4_999), { replacements: [], readmissions: [1] });
  t.same(plan(busy, ['s'], up, 5_000).replacements.length, 1);
});

t.test('mend plan: a member that may not lose its place now → waits for its own bookie, also for other disks', async (t) => {
  const up = (incarnation: string) => ({ bookieId: 'b' as BookieId, address: '', httpAddress: '', incarnation, isWritable: true });
  const plan = (incarnation: string, mayReplace: boolean) =>
    planMending({
      members: [member('a'), member('b', 'UNAVAILABLE'), member('c')],
      nowMs: 0,
      busyGraceMs: 5_000,
      registered: () => up(incarnation),
      pickSpares: (failed) => new Map(failed.map((index) => [index, 's' as BookieId])),
      mayReplace: () => mayReplace,
    });
  t.same(plan('1', false), { replacements: [], readmissions: [1] });
  t.same(plan('2', false), { replacements: [], readmissions: [] });
  t.equal(plan('2', true).replacements[0]?.to, 's');
});
