import { createDigest, decodeExplicitLac, type EntryId, encodeExplicitLac, entryEntryId, type LedgerId } from '@daybook/proto';
import t from 'tap';
import { otherKey, testKey } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

const digest = createDigest('CRC32C', Buffer.from('secret'));
const ledgerId = 1 as LedgerId;

function awaitLac(sim: SimBookie, after: number, options: { timeoutMs?: number; withEntry?: boolean; stop?: AbortSignal } = {}) {
  const { timeoutMs = 5_000, withEntry = false, stop } = options;
  return sim.service.awaitLac({ ledgerId, after: after as EntryId, timeoutMs, withEntry }, stop);
}

function writeLac(sim: SimBookie, lac: number, masterKey: Uint8Array = testKey) {
  return sim.queue.complete(sim.service.writeLac({ ledgerId, masterKey, explicitLac: encodeExplicitLac(ledgerId, lac as EntryId, digest) }));
}

t.test('bookie: explicit LAC → durable, told with the last entry, never goes back, there after a power cut', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  t.same(await writeLac(sim, 5), { code: 'NO_LEDGER' }, 'nothing is made for it');
  await sim.append({ ledger: 1, first: 0, count: 3 });
  t.same(await writeLac(sim, 2, otherKey), { code: 'UNAUTHORIZED' });
  t.same(await writeLac(sim, 2), { code: 'OK' });
  t.same(await writeLac(sim, 1), { code: 'OK' });
  const wrongLedger = { ledgerId, masterKey: testKey, explicitLac: encodeExplicitLac(2 as LedgerId, 7 as EntryId, digest) };
  t.same(await sim.queue.complete(sim.service.writeLac(wrongLedger)), { code: 'BAD_REQUEST' });
  for (const when of ['before', 'after']) {
    const { code, lastEntry, explicitLac } = await sim.readLac(1);
    t.equal(code, 'OK');
    t.equal(entryEntryId(lastEntry as Buffer), 2);
    t.equal(decodeExplicitLac(explicitLac as Buffer, digest, ledgerId), 2, when);
    await sim.restart('none');
  }
  await sim.fence(1, testKey);
  t.same(await writeLac(sim, 2), { code: 'OK' }, 'also on a fenced ledger');
  await sim.close();
});

t.test('bookie: explicit LAC, and the journal that had it is gone after a checkpoint → there after a restart', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 3 });
  await sim.flush();
  await writeLac(sim, 2);
  for (const round of [1, 2]) {
    // The mark moves behind it; the second time nothing but the mark has changed.
    await sim.append({ ledger: 2, first: round, count: 1 });
    await sim.flush();
    await sim.restart('none');
    const { explicitLac } = await sim.readLac(1);
    t.equal(explicitLac && decodeExplicitLac(explicitLac, digest, ledgerId), 2, `round ${round}`);
  }
  await writeLac(sim, 1);
  t.equal(decodeExplicitLac((await sim.readLac(1)).explicitLac as Buffer, digest, ledgerId), 2, 'never goes back');
  await sim.close();
});

t.test('bookie: await LAC → answered at once, when an entry moves it, when an explicit one does, or at the time-out', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  const first = awaitLac(sim, -1, { withEntry: true });
  await sim.append({ ledger: 1, first: 0, count: 1 });
  await sim.append({ ledger: 1, first: 1, count: 1 }); // Carries LAC 0.
  const reply = await sim.queue.complete(first);
  t.equal(reply.code, 'OK');
  t.equal(entryEntryId(reply.entry as Buffer), 0);
  t.equal((await sim.queue.complete(awaitLac(sim, -1))).entry, undefined, 'known already; the entry only for those who ask');
  const startMs = sim.queue.nowMs;
  t.equal((await sim.queue.complete(awaitLac(sim, 0, { timeoutMs: 700, withEntry: true }))).entry, undefined);
  t.ok(sim.queue.nowMs - startMs >= 700 && sim.queue.nowMs - startMs < 800, 'the time-out');
  const explicit = awaitLac(sim, 0, { withEntry: true });
  await writeLac(sim, 1);
  t.equal(entryEntryId((await sim.queue.complete(explicit)).entry as Buffer), 1);
  await sim.close();
});

t.test('bookie: await LAC, nobody waits any more or the bookie ends → the waiter is gone', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  const stop = new AbortController();
  const cancelled = awaitLac(sim, 7, { timeoutMs: 60_000, stop: stop.signal });
  const waiting = awaitLac(sim, 7, { timeoutMs: 60_000 });
  await sim.queue.runFor(10);
  stop.abort();
  const startMs = sim.queue.nowMs;
  t.same(await sim.queue.complete(cancelled), { code: 'UNAVAILABLE' });
  const [, reply] = await sim.queue.complete(Promise.all([sim.bookie?.close(), waiting]));
  t.same(reply, { code: 'UNAVAILABLE' });
  t.ok(sim.queue.nowMs - startMs < 1_000);
});
