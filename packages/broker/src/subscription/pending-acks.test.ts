import type { EntryId, LedgerId, Position } from '@daybook/proto';
import t from 'tap';
import { PendingAcks } from './pending-acks.js';
import { PositionMap } from './position-map.js';

const at = (entryId: number, ledgerId = 1): Position => ({ ledgerId: ledgerId as LedgerId, entryId: entryId as EntryId });

function give(pending: PendingAcks<string>, holder: string, deadlineMs: number | undefined, ...entries: number[]): void {
  const handout = pending.open(holder, deadlineMs);
  for (const entry of entries) pending.add(at(entry), handout);
}

function due(pending: PendingAcks<string>, nowMs: number): string[] {
  const found: string[] = [];
  pending.removeDue(nowMs, (position, holder) => found.push(`${holder}${position.entryId}`));
  return found;
}

t.test('pending acks: removed → who held it, once; unknown → nobody', async (t) => {
  const pending = new PendingAcks<string>();
  give(pending, 'a', undefined, 1, 2);
  give(pending, 'b', undefined, 3);
  t.equal(pending.count, 3);
  t.equal(pending.remove(at(3)), 'b');
  t.equal(pending.remove(at(3)), undefined);
  t.equal(pending.remove(at(1, 2)), undefined);
  t.equal(pending.has(at(1)), true);
  t.equal(pending.nextDeadlineMs, undefined);
});

t.test('pending acks: all of a holder → in position order, the others stay', async (t) => {
  const pending = new PendingAcks<string>();
  give(pending, 'a', 10, 5, 1);
  give(pending, 'b', 10, 2);
  give(pending, 'a', 20, 3);
  t.same(
    pending.removeAllOf('a').map(({ entryId }) => entryId),
    [1, 3, 5],
  );
  t.equal(pending.count, 1);
  t.same(due(pending, 100), ['b2']);
});

t.test('pending acks: deadline passes → only what is still out since then', async (t) => {
  const pending = new PendingAcks<string>();
  give(pending, 'a', 100, 1, 2, 3);
  give(pending, 'a', 150, 4);
  give(pending, 'b', 50, 9);
  t.equal(pending.nextDeadlineMs, 50);
  pending.remove(at(9));
  t.equal(pending.nextDeadlineMs, 100);
  pending.remove(at(1));
  pending.remove(at(2));
  // 2 was given back and went out again: its later deadline counts.
  give(pending, 'a', 200, 2);
  t.same(due(pending, 99), []);
  t.same(due(pending, 100), ['a3']);
  t.equal(pending.nextDeadlineMs, 150);
  t.same(due(pending, 1000), ['a4', 'a2']);
  t.equal(pending.nextDeadlineMs, undefined);
  t.equal(pending.count, 0);
});

t.test('pending acks: one message stuck, many others acknowledged → the next deadline is found, memory is not kept for the others', async (t) => {
  const pending = new PendingAcks<string>();
  give(pending, 'a', 1000, 0);
  for (let i = 1; i <= 10_000; i++) {
    give(pending, 'a', 1000 + i, i);
    pending.remove(at(i));
  }
  t.equal(pending.count, 1);
  t.equal(pending.nextDeadlineMs, 1000);
  t.same(due(pending, 1000), ['a0']);
  t.equal(pending.nextDeadlineMs, undefined);
});

t.test('position map: set, overwritten, deleted, over several ledgers → as a map would', async (t) => {
  const map = new PositionMap<string>();
  map.set(at(1, 1), 'a');
  map.set(at(1, 2), 'b');
  map.set(at(1, 1), 'c');
  t.equal(map.size, 2);
  t.equal(map.get(at(1, 1)), 'c');
  t.equal(map.get(at(2, 1)), undefined);
  t.equal(map.delete(at(1, 1)), 'c');
  t.equal(map.delete(at(1, 1)), undefined);
  map.set(at(1, 1), 'd');
  t.same([map.size, map.has(at(1, 1)), map.has(at(1, 3))], [2, true, false]);
  map.forEach((position) => {
    map.delete(position);
  });
  t.equal(map.size, 0);
  map.set(at(4, 4), 'e');
  map.clear();
  t.same([map.size, map.get(at(4, 4))], [0, undefined]);
});
