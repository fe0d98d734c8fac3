import type { BookieMetadata } from '@daybook/bookie';
import { createCookieRecords, initialiseCluster, type MetadataStore, registerBookie } from '@daybook/metadata';
import type { NodeParts } from './node-parts.js';

export interface BookieMetadataOptions {
  sessionTimeoutMs?: number;
  onFailure(error: unknown): void;
}

/** What a bookie needs of the cluster's metadata, over a store; the first bookie of a new cluster makes its records. */
export function bookieMetadata(store: MetadataStore, { clock, random, logger }: NodeParts, options: BookieMetadataOptions): BookieMetadata {
  return {
    instanceId: () => initialiseCluster(store, random),
    cookies: createCookieRecords(store),
    register: (bookie) => registerBookie(store, bookie, { clock, logger, ...options }),
  };
}
