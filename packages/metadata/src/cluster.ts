import type { BookieId } from '@daybook/proto';
import { type Random, uuid } from '@daybook/runtime';
import { clusterErrors, metadataErrors } from './errors.js';
import type { MetadataStore } from './metadata-store.js';
import { paths } from './paths.js';

/** BookKeeper's record of how ledgers are laid out: version of this record, factory and its version. */
const layout = '2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1';
const attemptsMax = 3;
const noBytes = Buffer.alloc(0);

/**
 * Makes what a cluster needs before anything else, once; any number of processes may do it at the same time, and again later. Resolves to the cluster's id, the
 * same for all. Rejects with `CLUSTER_UNKNOWN_LAYOUT` when another kind of cluster is there.
 */
export async function initialiseCluster(store: MetadataStore, random: Random): Promise<string> {
  const found = await ensure(store, paths.layout, Buffer.from(layout));
  checkLayout(found);
  await ensure(store, paths.readOnlyBookies, noBytes);
  await ensure(store, paths.cookies, noBytes);
  // Last: whoever finds it finds the rest.
  return (await ensure(store, paths.instanceId, Buffer.from(uuid(random)))).toString();
}

/** The cluster's id; rejects with `CLUSTER_NOT_INITIALISED` when there is no cluster yet, `CLUSTER_UNKNOWN_LAYOUT` when it is another kind. */
export async function readInstanceId(store: MetadataStore): Promise<string> {
  const id = await store.get(paths.instanceId);
  const found = await store.get(paths.layout);
  if (id === undefined || found === undefined) throw clusterErrors.NOT_INITIALISED();
  checkLayout(found.value);
  return id.value.toString();
}

/** Proofs of identity, one per bookie. */
export interface CookieRecords {
  read(bookieId: BookieId): Promise<{ bytes: Buffer; version: number } | undefined>;
  /** Rejects with `METADATA_EXISTS` or `METADATA_BAD_VERSION` when it changed meanwhile. */
  write(bookieId: BookieId, bytes: Buffer, expected: number | 'absent'): Promise<void>;
  delete(bookieId: BookieId, expected: number | 'any'): Promise<void>;
  /** Ids of all bookies that ever joined and were not removed. */
  list(): Promise<string[]>;
}

export function createCookieRecords(store: MetadataStore): CookieRecords {
  return {
    async read(bookieId) {
      const found = await store.get(paths.cookie(bookieId));
      return found && { bytes: found.value, version: found.version };
    },
    async write(bookieId, bytes, expected) {
      try {
        await store.put(paths.cookie(bookieId), bytes, expected);
      } catch (error) {
        if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
        const found = await store.get(paths.cookie(bookieId));
        const version = expected === 'absent' ? 0 : expected + 1;
        // A cookie names its bookie and its directories: the same bytes are the same claim.
        if (found?.version !== version || !found.value.equals(bytes)) throw error;
      }
    },
    delete: (bookieId, expected) => store.delete(paths.cookie(bookieId), expected),
    list: () => store.children(paths.cookies),
  };
}

/** What is at `path`, put there if there is nothing. */
async function ensure(store: MetadataStore, path: string, value: Buffer): Promise<Buffer> {
  for (let attempt = 1; ; attempt++) {
    const found = await store.get(path);
    if (found !== undefined) return found.value;
    try {
      await store.put(path, value, 'absent');
      return value;
    } catch (error) {
      // Somebody was faster, or the answer was lost: look again.
      if (!metadataErrors.EXISTS.is(error) && !metadataErrors.UNAVAILABLE.is(error)) throw error;
      if (attempt >= attemptsMax) throw error;
    }
  }
}

function checkLayout(found: Buffer): void {
  if (found.toString() !== layout) throw clusterErrors.UNKNOWN_LAYOUT(found.toString().replaceAll('\n', ' ').slice(0, 200));
}
