import { ledgerId } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { MemoryTree } from './memory-store.js';
import { paths } from './paths.js';
import { RepairLocks } from './repair-locks.js';

const ledger = ledgerId(123);
const allLost = { lostReplies: 1_000 };
const noneLost = { lostReplies: 0 };

function world() {
  const queue = new EventQueue({ seed: 1 });
  const tree = new MemoryTree();
  const taker = (owner: string) => {
    const clock = new SimClock(queue, { name: owner });
    const store = tree.openSession({ clock, random: new SimRandom(owner) });
    return { store, locks: new RepairLocks({ store, clock, owner }) };
  };
  const run = <T>(task: Promise<T>): Promise<T> => queue.complete(task);
  return { queue, mine: taker('me'), other: taker('somebody'), run };
}

t.test('repair locks: taken → the text of BookKeeper, ephemeral, nobody else gets it; released → the next one does', async (t) => {
  const { mine, other, run } = world();
  const lock = await run(mine.locks.tryLock(ledger));
  const found = await run(mine.store.get('/ledgers/underreplication/locks/urL0000000123'));
  t.equal(found?.value.toString(), 'bookieId: "me"\n');
  t.equal(found?.ownEphemeral, true);
  t.equal(await run(mine.locks.tryLock(ledger)), undefined, 'not twice in one process');
  t.equal(await run(other.locks.tryLock(ledger)), undefined);
  t.strictSame(await run(other.locks.lockedLedgers()), new Set([123n]));
  await run(lock!.release());
  const next = await run(other.locks.tryLock(ledger));
  await run(lock!.release());
  t.equal(await run(mine.locks.holder(ledger)), 'somebody', 'releasing twice takes nothing from the next holder');
  await run(next!.release());
  t.equal(await run(mine.locks.holder(ledger)), undefined);
});

t.test('repair locks: another part of the process has the key in the same session → none', async (t) => {
  const { mine, run } = world();
  await run(mine.store.put(paths.replicationLock(ledger), Buffer.from('bookieId: "another part"\n'), 'absent', { ephemeral: true }));
  t.equal(await run(mine.locks.tryLock(ledger)), undefined);
});

t.test('repair locks: the session is lost → its locks tell, and are free', async (t) => {
  const { mine, other, run } = world();
  const lock = await run(mine.locks.tryLock(ledger));
  t.equal(lock?.lost.aborted, false);
  mine.store.expire();
  t.equal(lock?.lost.aborted, true);
  t.ok(await run(other.locks.tryLock(ledger)));
  await run(lock!.release());
  t.equal(await run(mine.locks.holder(ledger)), 'somebody', 'the lock of the new holder stays');
});

t.test('repair locks: the answer to a lock is lost → nobody has it twice, and it is found again', async (t) => {
  const { mine, other, run } = world();
  mine.store.setFaults(allLost);
  t.equal(await run(mine.locks.tryLock(ledger)), undefined);
  mine.store.setFaults(noneLost);
  t.equal(await run(other.locks.tryLock(ledger)), undefined, 'it is held by that session');
  t.strictSame(await run(mine.locks.lockedLedgers()), new Set(), 'it can be locked anew');
  const lock = await run(mine.locks.tryLock(ledger));
  t.ok(lock, 'its own');
  mine.store.setFaults(allLost);
  await run(lock!.release());
  mine.store.setFaults(noneLost);
  t.ok(await run(mine.locks.tryLock(ledger)));
});

t.test('repair locks: the answer to a lock or to its release is lost, and nobody asks for it again → the key goes all the same', async (t) => {
  const { queue, mine, other, run } = world();
  mine.store.setFaults(allLost);
  t.equal(await run(mine.locks.tryLock(ledger)), undefined);
  await queue.runFor(20_000);
  mine.store.setFaults(noneLost);
  await queue.runFor(20_000);
  t.equal(await run(other.locks.holder(ledger)), undefined, 'after the lock');
  const lock = await run(mine.locks.tryLock(ledger));
  mine.store.setFaults({ lostRequests: 1_000 });
  await run(lock!.release());
  t.equal(await run(other.locks.holder(ledger)), 'me');
  mine.store.setFaults({ lostRequests: 0 });
  await queue.runFor(20_000);
  t.equal(await run(other.locks.holder(ledger)), undefined, 'after the release');
});

t.test('repair locks: the store is closed while a key is left behind → nothing goes on', async (t) => {
  const { queue, mine, run } = world();
  mine.store.setFaults(allLost);
  await run(mine.locks.tryLock(ledger));
  await mine.store.close();
  mine.store.get = () => t.fail('asked a closed store') as never;
  await queue.runFor(60_000);
  t.pass();
});
