import type { BookieId } from '@daybook/proto';
import t from 'tap';
import type { BookieMetadata } from './bookie-api.js';
import { endLimbo } from './repair-journals.js';
import { testKey } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

/** The cookies of a cluster; the rest of its metadata is not asked. */
function newMetadata(): BookieMetadata {
  const cookies = new Map<BookieId, { bytes: Buffer; version: number }>();
  return {
    instanceId: async () => 'cluster-1',
    cookies: {
      read: async (id) => cookies.get(id),
      write: async (id, bytes) => void cookies.set(id, { bytes, version: (cookies.get(id)?.version ?? -1) + 1 }),
    },
    register: async () => ({ setWritable: async () => undefined, close: async () => undefined }),
  };
}

async function wipe(sim: SimBookie): Promise<void> {
  sim.disk.crash({ keep: 'all' });
  const disk = sim.stoppedDisk();
  for (const directory of ['/data/journal', '/data/ledgers']) {
    for (const name of await sim.queue.complete(disk.list(directory)))
      if (name !== 'lock') await sim.queue.complete(disk.remove(`${directory}/${name}`));
  }
}

for (const dataIntegrityChecking of [false, true]) {
  t.test(`bookie: all disks lost, started ${dataIntegrityChecking ? 'with' : 'without'} approval`, async (t) => {
    const metadata = newMetadata();
    const sim = new SimBookie({ config: { bookieId: 'b1', dataIntegrityChecking }, metadata: () => metadata });
    await sim.start();
    const before = sim.bookie?.identity.incarnation;
    t.equal(await sim.append({ ledger: 1, first: 0, count: 3 }), 'OK');
    await sim.fence(2, testKey);
    await wipe(sim);
    if (!dataIntegrityChecking) {
      await t.rejects(sim.start(), { code: 'BOOKIE_COOKIE_REFUSED' });
      return;
    }
    await sim.start();
    t.not(sim.bookie?.identity.incarnation, before, 'other disks');
    for (const when of ['first start', 'after a restart']) {
      t.equal((await sim.read(1, [0])).code, 'UNKNOWN_LEDGER_STATE', `an entry it had: ${when}`);
      t.equal((await sim.read(9, [0])).code, 'UNKNOWN_LEDGER_STATE', `a ledger it never had: ${when}`);
      t.equal((await sim.readLac(1)).code, 'UNKNOWN_LEDGER_STATE');
      t.equal((await sim.list(9)).code, 'UNKNOWN_LEDGER_STATE');
      t.equal((await sim.fence(1, testKey)).code, 'UNKNOWN_LEDGER_STATE', 'fenced, but no proof of anything');
      t.equal(await sim.append({ ledger: 2, first: 0, count: 1 }), 'READ_ONLY', 'the writer that was fenced here does not come back');
      await sim.restart('all');
    }
    t.equal(await sim.append({ ledger: 1, first: 1, count: 1, isRecovery: true }), 'OK');
    const waiting = sim.service.awaitLac({ ledgerId: 9 as never, after: -1 as never, timeoutMs: 1_000, withEntry: false });
    t.equal((await sim.queue.complete(waiting)).code, 'UNKNOWN_LEDGER_STATE');
    t.equal((await sim.read(1, [1])).code, 'OK', 'what it has counts');
    t.equal((await sim.read(1, [0])).code, 'UNKNOWN_LEDGER_STATE');
    await sim.close();
    const stopped = { disk: sim.stoppedDisk(), journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] };
    await sim.queue.complete(endLimbo(stopped));
    await sim.start();
    t.equal((await sim.read(1, [0])).code, 'NO_ENTRY', 'copied again elsewhere, and out of limbo');
    await sim.close();
  });
}
