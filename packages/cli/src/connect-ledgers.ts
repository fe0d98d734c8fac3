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
import type { NodeParts } from './node-parts.js';

export type SessionParts = Pick<NodeParts, 'clock' | 'random' | 'logger'>;

export interface ConnectedLedgers {
  readonly registry: BookieRegistry;
  readonly bookies: BookiePool;
  readonly records: LedgerRecords;
  readonly topology: BookieTopology;
  readonly ledgers: LedgerClient;
}

interface ConnectOptions {
  parts: SessionParts;
  store: MetadataStore;
  /** Of the caller, who closes it. Default: an own one. */
  registry?: BookieRegistry;
  /** Default: over gRPC. */
  connect?: ConnectBookie;
  client?: Partial<LedgerClientOptions>;
}

/** A ledger client of this process, and what it is made of; all of it ends with `lifecycle`. */
export async function connectLedgers(lifecycle: Lifecycle, { parts, store, client = {}, ...given }: ConnectOptions): Promise<ConnectedLedgers> {
  const { clock, random, logger } = parts;
  const registry = given.registry ?? (await ownRegistry(lifecycle, parts, store));
  const connect = given.connect ?? ((bookie) => connectGrpcBookie(bookie, { clock }));
  const bookies = new BookiePool({ clock, registry, connect, logger });
  lifecycle.onClose('bookie connections', () => bookies.close());
  const records = createLedgerRecords(store);
  const topology = await createBookieTopology(store, { logger });
  lifecycle.onClose('racks', () => topology.close());
  const ledgers = createLedgerClient({ clock, random, records, registry, bookies, topology, logger, options: client });
  lifecycle.onClose('ledger client', () => ledgers.close());
  return { registry, bookies, records, topology, ledgers };
}

async function ownRegistry(lifecycle: Lifecycle, { clock, logger }: SessionParts, store: MetadataStore): Promise<BookieRegistry> {
  const registry = await createBookieRegistry(store, { clock, logger });
  lifecycle.onClose('bookie registry', () => registry.close());
  return registry;
}
