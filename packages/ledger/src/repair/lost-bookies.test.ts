import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { LostBookies, type LostVerdict } from './lost-bookies.js';

/** Bookies by name, with the number of their disks: `b1` or `b1/2`. */
function observing(known: readonly string[] = []) {
  const lost = new LostBookies();
  return {
    lost,
    see: (nowMs: number, names: string, { delayMs = 1_000, isForced = false } = {}): LostVerdict => {
      const up = new Map(
        names
          .split(' ')
          .filter((name) => name !== '')
          .map((name) => [name.split('/')[0] as BookieId, { incarnation: name.split('/')[1] ?? '1' }]),
      );
      return lost.observe({ up, known: known as BookieId[], nowMs, delayMs, isForced });
    },
  };
}

t.test('lost bookies: one vanishes → it is waited for, then due once', async (t) => {
  const { lost, see } = observing();
  t.match(see(0, 'b1 b2 b3'), { due: [], pending: [], waitMs: undefined });
  t.match(see(100, 'b1 b2'), { due: [], pending: ['b3'], waitMs: 1_000 });
  t.match(see(1_099, 'b1 b2'), { due: [], waitMs: 1 });
  t.match(see(1_100, 'b1 b2'), { due: ['b3'], pending: [] });
  t.match(see(1_200, 'b1 b2'), { due: ['b3'] }, 'an audit that failed is due again');
  lost.audited(['b3' as BookieId]);
  t.match(see(1_300, 'b1 b2'), { due: [], pending: [] });
});

t.test('lost bookies: it comes back in time → nothing is due, and what it has is looked at', async (t) => {
  const { see } = observing();
  see(0, 'b1 b2 b3');
  see(100, 'b1 b2');
  t.match(see(900, 'b1 b2 b3'), { due: [], pending: [], returned: ['b3'], cancelledCount: 1 });
  t.match(see(5_000, 'b1 b2 b3'), { due: [], returned: [] });
});

t.test('lost bookies: a second one vanishes → both at once', async (t) => {
  const { see } = observing();
  see(0, 'b1 b2 b3 b4');
  see(100, 'b1 b2 b3');
  t.match(see(200, 'b1 b2'), { due: ['b4', 'b3'], pending: [], waitMs: undefined });
});

t.test('lost bookies: one more, long after another was audited → it is waited for again', async (t) => {
  const { lost, see } = observing();
  see(0, 'b1 b2 b3 b4');
  see(0, 'b1 b2 b3', { delayMs: 0 });
  lost.audited(['b4' as BookieId]);
  t.match(see(9_000, 'b1 b2'), { due: [], pending: ['b3'], waitMs: 1_000 });
});

t.test('lost bookies: dead before the auditor came → known by its cookie', async (t) => {
  const { see } = observing(['b1', 'b2', 'b3']);
  t.match(see(0, 'b1 b2', { delayMs: 0 }), { due: ['b3'] });
});

t.test('lost bookies: the delay is changed while it runs → the new one counts', async (t) => {
  const { see } = observing();
  see(0, 'b1 b2 b3');
  t.match(see(100, 'b1 b2', { delayMs: 60_000 }), { waitMs: 60_000 });
  t.match(see(200, 'b1 b2', { delayMs: 50 }), { due: ['b3'] });
});

t.test('lost bookies: an audit is asked for → all that are lost, the audited ones too', async (t) => {
  const { lost, see } = observing();
  see(0, 'b1 b2 b3 b4');
  see(0, 'b1 b2 b3', { delayMs: 0 });
  lost.audited(['b4' as BookieId]);
  t.match(see(100, 'b1 b2', { isForced: true }), { due: ['b4', 'b3'], pending: [] });
});

t.test('lost bookies: up with other disks → looked at, though it was never seen away', async (t) => {
  const { see } = observing();
  see(0, 'b1 b2 b3');
  t.match(see(100, 'b1 b2 b3/2'), { due: [], returned: ['b3'], cancelledCount: 0 });
});
