import { comparePositions, type EntryId, type LedgerId, type Position } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { missingOf, Redelivery } from './redelivery.js';

const at = (entryId: number, ledgerId = 1): Position => ({ ledgerId: ledgerId as LedgerId, entryId: entryId as EntryId });

/** Takes everything that is ready, in the order in which it would go out. */
function drain(redelivery: Redelivery<string>): string[] {
  const out: string[] = [];
  for (let run = redelivery.firstRun(3); run !== undefined; run = redelivery.firstRun(3)) {
    for (let i = 0; i < run.count; i++) {
      const position = at(run.first.entryId + i, run.first.ledgerId);
      redelivery.take(position);
      out.push(`${position.ledgerId}:${position.entryId}`);
    }
  }
  return out;
}

t.test('redelivery: given back in any order → goes out in position order, in runs without gaps', async (t) => {
  const redelivery = new Redelivery<string>(20);
  for (const entry of [7, 3, 4, 9, 5]) redelivery.returnNow(at(entry));
  redelivery.returnNow(at(0, 2));
  t.same(redelivery.firstRun(10), { first: at(3), count: 3 });
  t.same(redelivery.firstRun(2), { first: at(3), count: 2 });
  t.same(drain(redelivery), ['1:3', '1:4', '1:5', '1:7', '1:9', '2:0']);
  t.equal(redelivery.firstRun(1), undefined);
});

t.test('redelivery: counts → one more each time it is given back, until it is acknowledged', async (t) => {
  const redelivery = new Redelivery<string>(20);
  t.equal(redelivery.countOf(at(1)), 0);
  redelivery.returnNow(at(1));
  redelivery.take(at(1));
  redelivery.returnAt(at(1), 100, 'a');
  t.equal(redelivery.countOf(at(1)), 2);
  t.equal(redelivery.isTracking, true);
  redelivery.forget(at(1));
  t.equal(redelivery.countOf(at(1)), 0);
  t.equal(redelivery.isTracking, false);
});

t.test('redelivery: a delay → due never before it, at most a tick after', async () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.nat(1000).map((halves) => halves / 2),
        { minLength: 1, maxLength: 30 },
      ),
      (dues) => {
        const redelivery = new Redelivery<string>(20);
        for (const [i, dueMs] of dues.entries()) redelivery.returnAt(at(i), dueMs, 'a');
        const out: string[] = [];
        for (let nextMs = redelivery.nextDueMs; nextMs !== undefined; nextMs = redelivery.nextDueMs) {
          redelivery.release(nextMs, () => {});
          for (const text of drain(redelivery)) {
            const dueMs = dues[Number(text.slice(2))]!;
            if (nextMs < dueMs || nextMs >= dueMs + 20) return false;
            out.push(text);
          }
        }
        return out.length === dues.length && redelivery.waitingCount === 0;
      },
    ),
  );
});

t.test('redelivery: acknowledged while it waits → the owner is returned, and nothing stays due for it', async (t) => {
  const redelivery = new Redelivery<string>(20);
  redelivery.returnAt(at(1), 100, 'a');
  redelivery.returnAt(at(2), 101, 'b');
  redelivery.returnAt(at(3), 200, 'b');
  t.equal(redelivery.forget(at(1)), 'a');
  t.equal(redelivery.nextDueMs, 120);
  t.equal(redelivery.forget(at(2)), 'b');
  t.equal(redelivery.nextDueMs, 200);
  redelivery.disown('b');
  const released: string[] = [];
  redelivery.release(200, (owner) => released.push(owner));
  t.same(released, [], 'its owner is gone');
  t.same(drain(redelivery), ['1:3']);
  t.equal(redelivery.forget(at(99)), undefined);
});

t.test('redelivery: acknowledged while it is ready → it does not go out', async (t) => {
  const redelivery = new Redelivery<string>(20);
  for (const entry of [1, 2, 3]) redelivery.returnNow(at(entry));
  redelivery.forget(at(1));
  redelivery.forget(at(2));
  t.equal(redelivery.readyCount, 1);
  t.same(drain(redelivery), ['1:3']);
  redelivery.returnNow(at(3));
  t.same(drain(redelivery), ['1:3']);
});

t.test('redelivery: random given back, taken, forgotten → always the lowest ready one first', async () => {
  const call = fc.record({ what: fc.constantFrom('now', 'now', 'take', 'forget'), entry: fc.nat(15) });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 80 }), (calls) => {
      const redelivery = new Redelivery<string>(20);
      const ready = new Map<number, Position>();
      for (const { what, entry } of calls) {
        if (what === 'now' && !ready.has(entry)) {
          redelivery.returnNow(at(entry));
          ready.set(entry, at(entry));
        } else if (what === 'take') {
          const run = redelivery.firstRun(1);
          const lowest = [...ready.values()].sort(comparePositions)[0];
          if (run?.first.entryId !== lowest?.entryId) return false;
          if (run !== undefined) {
            redelivery.take(run.first);
            ready.delete(run.first.entryId);
          }
        } else if (what === 'forget') {
          redelivery.forget(at(entry));
          ready.delete(entry);
        }
        if (redelivery.readyCount !== ready.size) return false;
      }
      return true;
    }),
  );
});

t.test('redelivery: what a read passed over → is missing; what it did not reach is not', async (t) => {
  const run = { first: at(3), count: 4 };
  const entries = (...ids: number[]) => ids.map((id) => ({ position: at(id) }));
  t.same(missingOf(run, entries(3, 4, 5, 6)), []);
  t.same(missingOf(run, entries(3, 4)), [], 'cut by bytes');
  t.same(missingOf(run, entries(3, 5, 6)), [at(4)]);
  t.same(missingOf(run, entries(6)), [at(3), at(4), at(5)]);
  t.same(missingOf(run, []), [at(3)]);
  t.same(missingOf(run, [{ position: at(0, 2) }]), [at(3), at(4), at(5), at(6)]);
});
