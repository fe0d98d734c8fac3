import { AppendBatchBuilder, createDigest, type EntryId, type LedgerId } from '@daybook/proto';
import t from 'tap';
import { DeferredSyncs } from './deferred-syncs.js';
import { testKey } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

const digest = createDigest('CRC32C', Buffer.from('secret'));
const ledgerId = 1 as LedgerId;

/** A writer of one ledger with deferred sync. */
class DeferredWriter {
  readonly #builder = new AppendBatchBuilder({ ledgerId, masterKey: testKey, isRecovery: false, isDeferredSync: true, digest });

  append(sim: SimBookie, first: number, count: number) {
    for (let id = first; id < first + count; id++) this.#builder.add(id as EntryId, -1 as EntryId, id + 1, Buffer.from('x'));
    const batch = this.#builder.finish();
    return new Promise<string>((resolve) => sim.service.append(batch, resolve));
  }
}

function force(sim: SimBookie, lastEntryId: number) {
  return sim.service.force({ ledgerId, lastEntryId: lastEntryId as EntryId });
}

t.test('bookie: deferred sync → answered before the journal is written, force waits for it', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 2, first: 0, count: 1 }); // The journal has its file.
  const writer = new DeferredWriter();
  const startMs = sim.queue.nowMs;
  t.equal(await sim.queue.complete(writer.append(sim, 0, 3)), 'OK');
  t.equal(sim.queue.nowMs, startMs, 'no disk was waited for');
  t.same(await sim.queue.complete(force(sim, 2)), { code: 'OK' });
  t.ok(sim.queue.nowMs > startMs, 'now it was');
  t.same(await sim.queue.complete(force(sim, 3)), { code: 'IO_ERROR' }, 'an entry it was never sent');
  await sim.restart('none');
  t.same((await sim.list(1)).runs, [{ first: 0, last: 2 }], 'what was forced is there after a power cut');
  await sim.close();
});

t.test('bookie: deferred entries lost in a power cut → neither a force nor the next append hides it', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  const writer = new DeferredWriter();
  await sim.queue.complete(writer.append(sim, 0, 3));
  await sim.queue.complete(force(sim, 2));
  t.equal(await sim.queue.complete(writer.append(sim, 3, 3)), 'OK');
  await sim.restart('none');
  t.same((await sim.list(1)).runs, [{ first: 0, last: 2 }]);
  t.same(await sim.queue.complete(force(sim, 5)), { code: 'IO_ERROR' });
  t.equal(await sim.queue.complete(writer.append(sim, 6, 1)), 'IO_ERROR', 'the entries before it are not there');
  await sim.close();
});

t.test('deferred syncs: asked while batches are on their way → told when all of those are settled; one not written → never OK again', async (t) => {
  const syncs = new DeferredSyncs();
  const told: string[] = [];
  t.equal(await syncs.force(1), 'OK', 'nothing written');
  syncs.handed(1);
  syncs.handed(1);
  const first = syncs.force(1).then((code) => told.push(`first ${code}`));
  syncs.handed(1);
  syncs.settled(1, true);
  await Promise.resolve();
  t.same(told, []);
  syncs.settled(1, true);
  await first;
  t.same(told, ['first OK']);
  const second = syncs.force(1);
  syncs.settled(1, false);
  t.equal(await second, 'IO_ERROR');
  t.equal(await syncs.force(1), 'IO_ERROR');
});
