import type { LedgerId } from '@daybook/proto';
import t from 'tap';
import { RepairWorld } from './testing/repair-world.js';
import { waitForLock } from './wait-for-lock.js';

const ledger = 123 as LedgerId;

t.test('wait for a lock: somebody has it → told who, when the time is over; given back meanwhile → ours; stopped → REPAIR_STOPPED', async (t) => {
  const world = new RepairWorld();
  const one = await world.tools();
  const other = await world.tools();
  const lock = await world.run(one.locks.tryLock(ledger));
  t.match(await world.rejection(waitForLock(ledger, { ...other, waitMs: 2_000 })), { code: 'REPAIR_LEDGER_LOCKED', message: /node-2/ });
  const waiting = waitForLock(ledger, { ...other, waitMs: 10_000 });
  const stop = new AbortController();
  const stopped = t.rejects(waitForLock(ledger, { ...one, waitMs: 10_000, stop: stop.signal }), { code: 'REPAIR_STOPPED' });
  await world.runFor(700);
  stop.abort();
  await world.run(lock!.release());
  await world.run(waiting);
  await world.run(stopped);
  t.equal(await world.run(one.locks.holder(ledger)), 'node-3');
});
