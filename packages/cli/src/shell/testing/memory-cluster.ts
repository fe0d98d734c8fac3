import { bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { MemoryTree, type MetadataStore } from '@daybook/metadata';
import { silentLogger } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { type ClusterSession, openClusterSession } from '../cluster-session.js';

export interface MemoryCluster {
  store: MetadataStore;
  session: ClusterSession;
  close(): Promise<void>;
}

/** A cluster of one bookie, all of it in this process, its metadata in memory. */
export async function startMemoryCluster(folder: string): Promise<MemoryCluster> {
  const clock = new RealClock();
  const random = new RealRandom();
  const logger = silentLogger;
  const store = new MemoryTree().openSession({ clock });
  const fail = (error: unknown): void => {
    throw error;
  };
  const bookie = await openBookie({
    config: bookieConfigSchema.parse({ bookieId: 'b1', journalDirectories: [`${folder}/journal`], ledgerDirectories: [`${folder}/ledgers`] }),
    clock,
    random,
    disk: new RealDisk(),
    logger,
    metadata: bookieMetadata(store, { clock, random, logger, onFailure: fail }),
    dataDirectory: folder,
    onFatal: fail,
  });
  await bookie.register({ address: 'b1:3181', httpAddress: '' });
  const connect = () => ({ service: bookie.service, close: () => undefined });
  const session = await openClusterSession({ parts: { clock, random, logger }, store, connect });
  const close = async (): Promise<void> => {
    await session.close();
    await bookie.close();
    await store.close();
  };
  return { store, session, close };
}
