import { type MemoryFaults, MemoryTree, type MetadataStore, paths } from '@daybook/metadata';
import { type LedgerId, ledgerId } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { guardReplication } from './replication-guard.js';

const ledger = ledgerId(7);

function world() {
  const queue = new EventQueue({ seed: 1 });
  const tree = new MemoryTree();
  const clock = new SimClock(queue);
  const open = (faults: Partial<MemoryFaults> = {}) => tree.openSession({ clock, faults, random: new SimRandom('faults') });
  const complete = <T>(task: Promise<T>): Promise<T> => queue.complete(task);
  const guard = (store: MetadataStore, id: LedgerId, owner: string) => complete(guardReplication(id, { store, clock, owner }));
  return { open, complete, guard };
}

t.test('replication guard: held → nobody else gets the lock; released → gone', async (t) => {
  const { open, complete, guard } = world();
  const [mine, other] = [open(), open()];
  const held = await guard(mine, ledger, 'b1');
  t.match((await complete(other.get(paths.replicationLock(ledger))))?.value.toString(), /^bookieId: "garbage collection of b1"\n$/);
  t.equal(await guard(other, ledger, 'b2'), undefined);
  await complete(held!.release());
  t.equal(await complete(other.get(paths.replicationLock(ledger))), undefined);
  t.ok(await guard(other, ledger, 'b2'));
});

t.test('replication guard: ledger in repair, or waiting for it → none', async (t) => {
  const { open, complete, guard } = world();
  const [mine, worker] = [open(), open()];
  await complete(worker.put(paths.replicationLock(ledger), Buffer.from('bookieId: "worker"\n'), 'absent', { ephemeral: true }));
  t.equal(await guard(mine, ledger, 'b1'), undefined);
  const waiting = ledgerId(8);
  await complete(worker.put(paths.underreplicatedLedger(waiting), Buffer.from('ctime: 1\n'), 'absent'));
  t.equal(await guard(mine, waiting, 'b1'), undefined);
});

t.test(
  'replication guard: its own key of an earlier round, never removed → taken over; one in the same session that is not its own → none',
  async (t) => {
    const { open, guard } = world();
    const mine = open();
    await guard(mine, ledger, 'b1');
    t.ok(await guard(mine, ledger, 'b1'));
    t.equal(await guard(mine, ledger, 'another part of this process'), undefined);
  },
);

t.test('replication guard: released twice → fine', async (t) => {
  const { open, complete, guard } = world();
  const mine = open();
  const held = await guard(mine, ledger, 'b1');
  await complete(held!.release());
  await complete(held!.release());
  t.pass();
});

t.test('replication guard: the store cannot be reached for a while → released all the same', async (t) => {
  const { open, complete, guard } = world();
  const mine = open();
  const held = await guard(mine, ledger, 'b1');
  mine.setFaults({ lostRequests: 0.5, lostReplies: 0.3 });
  await complete(held!.release());
  t.equal(await complete(open().get(paths.replicationLock(ledger))), undefined);
});
