import type { Clock, Disk } from '@daybook/runtime';
import { openEmbeddedStore } from './embedded-store.js';
import { clusterErrors } from './errors.js';
import { MemoryTree } from './memory-store.js';
import type { MetadataStore } from './metadata-store.js';

export interface OpenStoreOptions {
  clock: Clock;
  disk: Disk;
  metadataSessionTimeoutMs?: number;
  /** The embedded store's disk failed: the process must stop. Default: an uncaught error. */
  onFailure?: (error: Error) => void;
}

/**
 * Opens the store that a URL names: `zk://host:port[,host:port]/path`, `file:DIRECTORY` (one process, durable) or `memory:` (gone with the process). Rejects with
 * `CLUSTER_BAD_METADATA_URL`, or as the store itself does.
 */
export async function openMetadataStore(url: string, options: OpenStoreOptions): Promise<MetadataStore> {
  const { clock, disk, metadataSessionTimeoutMs, onFailure } = options;
  if (url.startsWith('zk://')) {
    // Only who uses ZooKeeper loads its library.
    const { openZooKeeperStore } = await import('./zookeeper-store.js');
    return openZooKeeperStore({ url, clock, ...(metadataSessionTimeoutMs !== undefined && { metadataSessionTimeoutMs }) });
  }
  if (url.startsWith('file:')) {
    const directory = url.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
    if (directory === '') throw clusterErrors.BAD_METADATA_URL(url, 'the directory is missing');
    return openEmbeddedStore({ disk, directory, ...(onFailure !== undefined && { onFailure }) });
  }
  if (url === 'memory:') return new MemoryTree().openSession({ clock });
  throw clusterErrors.BAD_METADATA_URL(url, 'it begins with none of zk://, file: and memory:');
}
