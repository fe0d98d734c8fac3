import { BookiePool, type ConnectBookie, createLedgerClient, type LedgerClient, type LedgerClientOptions } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import {
  type BookieRegistry,
  type BookieTopology,
  createBookieRegistry,
  createBookieTopology,
  createLedgerRecords,
  type LedgerRecords,
  type MetadataStore,
} from '@daybook/metadata';
import type { Lifecycle } from '@daybook/runtime';
import type { NodeParts } from '../node-parts.js';

export type SessionParts = Pick<NodeParts, 'clock' | 'random' | 'logger'>;

export interface ConnectedLedgers {
  readonly registry: BookieRegistry;
  readonly bookies: BookiePool;
  readonly records: LedgerRecords;
  readonly topology: BookieTopology;
  readonly ledgers: LedgerClient;
}

/** A ledger client of this process, without a broker, and what it is made of; all of it ends with `lifecycle`. */
export async function connectLedgers(
  lifecycle: Lifecycle,
  {
    parts,
    store,
    connect,
    client = {},
  }: { parts: SessionParts; store: MetadataStore; connect?: ConnectBookie; client?: Partial<LedgerClientOptions> },
): Promise<ConnectedLedgers> {
  const { clock, random, logger } = parts;
  const registry = await createBookieRegistry(store, { clock, logger });
  lifecycle.onClose('bookie registry', () => registry.close());
  const bookies = new BookiePool({ clock, registry, connect: connect ?? ((bookie) => connectGrpcBookie(bookie, { clock })), logger });
  lifecycle.onClose('bookie connections', () => bookies.close());
  const records = createLedgerRecords(store);
  const topology = await createBookieTopology(store, { logger });
  lifecycle.onClose('racks', () => topology.close());
  const ledgers = createLedgerClient({ clock, random, records, registry, bookies, topology, logger, options: client });
  lifecycle.onClose('ledger client', () => ledgers.close());
  return { registry, bookies, records, topology, ledgers };
}
