import { updateBookieRacks, withBookieRack } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import t from 'tap';
import { temporaryFolder } from '../testing/run-daybook.js';
import { startMemoryCluster } from './testing/memory-cluster.js';

t.test('cluster session: racks are set → its ledgers and repairs know of them', async (t) => {
  const cluster = await startMemoryCluster(temporaryFolder(t));
  t.teardown(() => cluster.close());
  const { session, store } = cluster;
  for (const [id, rack] of [
    ['b1', '/a'],
    ['b9', '/b'],
  ] as const) {
    await updateBookieRacks(store, (racks) => withBookieRack(racks, 'default', id as BookieId, { rack, hostname: '' }));
  }
  const sizes = { ensembleSize: 2, writeQuorumSize: 2, ackQuorumSize: 2 };
  const isKnown = async () => {
    const error = await session.ledgers.create({ ...sizes, password: Buffer.alloc(0) }).catch((failure: Error) => failure);
    return error instanceof Error && /b9 \(down\)/.test(error.message);
  };
  while (!(await isKnown())) await new Promise((resolve) => setTimeout(resolve, 10));
  const { placement } = await session.repair();
  const ensemble = ['b7', 'b8'] as BookieId[];
  t.same(placement.improvements({ sizes, ensemble, avoided: [] }), [{ index: 0, to: 'b1' }], 'a rack of its own is better');
});
