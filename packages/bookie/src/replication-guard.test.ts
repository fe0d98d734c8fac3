import { MemoryTree, type MetadataStore, paths, RepairLocks } from '@daybook/metadata';
import { bookieId, ledgerId } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { replicationGuard } from './replication-guard.js';

const ledger = ledgerId(7);
const b1 = bookieId('b1');

function world() {
  const queue = new EventQueue({ seed: 1 });
  const tree = new MemoryTree();
  const clock = new SimClock(queue);
  const open = () => tree.openSession({ clock, random: new SimRandom('faults') });
  const complete = <T>(task: Promise<T>): Promise<T> => queue.complete(task);
  const guardOf = (store: MetadataStore, id = b1) => {
    const guard = replicationGuard({ store, clock });
    return (which = ledger) => complete(guard(which, id));
  };
  const worker = (store: MetadataStore) => new RepairLocks({ store, clock, owner: 'worker' });
  return { queue, open, complete, guardOf, worker };
}

t.test('replication guard: held → nobody else gets the lock; released, also twice → gone', async (t) => {
  const { open, complete, guardOf } = world();
  const [mine, other] = [open(), open()];
  const held = await guardOf(mine)();
  t.match((await complete(other.get(paths.replicationLock(ledger))))?.value.toString(), /^bookieId: "garbage collection of b1"\n$/);
  const guardOther = guardOf(other, bookieId('b2'));
  t.equal(await guardOther(), undefined);
  await complete(held!.release());
  await complete(held!.release());
  t.equal(await complete(other.get(paths.replicationLock(ledger))), undefined);
  t.ok(await guardOther());
});

t.test('replication guard: ledger in repair, by whatever process, or waiting for it → none', async (t) => {
  const { open, complete, guardOf, worker } = world();
  const mine = open();
  const guard = guardOf(mine);
  const lock = await complete(worker(mine).tryLock(ledger));
  t.equal(await guard(), undefined, 'by a worker of the bookie itself');
  await complete(lock!.release());
  await complete(worker(open()).tryLock(ledger));
  t.equal(await guard(), undefined);
  const waiting = ledgerId(8);
  await complete(open().put(paths.underreplicatedLedger(waiting), Buffer.from('ctime: 1\n'), 'absent'));
  t.equal(await guard(waiting), undefined);
});

t.test('replication guard: the store cannot be reached for a while → released all the same', async (t) => {
  const { queue, open, complete, guardOf } = world();
  const mine = open();
  const held = await guardOf(mine)();
  mine.setFaults({ lostRequests: 1_000 });
  await complete(held!.release());
  await queue.runFor(20_000);
  mine.setFaults({ lostRequests: 0 });
  await queue.runFor(20_000);
  t.equal(await complete(open().get(paths.replicationLock(ledger))), undefined);
});

t.test('replication guard: the answer to it is lost, and the ledger is no candidate of later rounds → repair can have it', async (t) => {
  const { queue, open, complete, guardOf, worker } = world();
  const mine = open();
  const guard = guardOf(mine);
  const put = mine.put.bind(mine);
  mine.put = async (...args) => {
    mine.setFaults({ lostReplies: 1_000 });
    return put(...args);
  };
  t.equal(await guard(), undefined);
  mine.setFaults({ lostReplies: 0 });
  t.ok(await complete(open().get(paths.replicationLock(ledger))), 'the key is there');
  await queue.runFor(20_000);
  t.ok(await complete(worker(open()).tryLock(ledger)));
});
