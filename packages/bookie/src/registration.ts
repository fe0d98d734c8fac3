import { createCookieRecords, createLedgerRecords, initialiseCluster, type MetadataStore, registerBookie } from '@daybook/metadata';
import type { Clock, Logger, Random } from '@daybook/runtime';
import type { BookieMetadata } from './bookie-api.js';
import { replicationGuard } from './replication-guard.js';

export interface BookieMetadataOptions {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Somebody else has taken the bookie's id: the process must stop. */
  onFailure(error: unknown): void;
}

/** What a bookie needs of the cluster's metadata, over a store; the first bookie of a new cluster makes its records. */
export function bookieMetadata(store: MetadataStore, options: BookieMetadataOptions): BookieMetadata {
  const { random, ...registration } = options;
  return {
    instanceId: () => initialiseCluster(store, random),
    cookies: createCookieRecords(store),
    ledgers: createLedgerRecords(store),
    guardReplication: replicationGuard({ store, clock: options.clock }),
    register: (bookie) => registerBookie(store, bookie, registration),
  };
}
