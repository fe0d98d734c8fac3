import { BookiePool, createLedgerClient, type LedgerClient, type LedgerClientOptions } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { type BookieRegistry, createBookieRegistry, createBookieTopology, createLedgerRecords, type LedgerRecords } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { Lifecycle } from '@daybook/runtime';
import { cliErrors } from '../errors.js';
import { nodeParts } from '../node-parts.js';

/** A ledger client of this process, without a broker. */
export interface LedgerSession {
  ledgers: LedgerClient;
  records: LedgerRecords;
  registry: BookieRegistry;
}

export interface LedgerSessionOptions {
  metadata: string | undefined;
  client?: Partial<LedgerClientOptions>;
}

/** Connects to a cluster, runs `task`, and lets go of everything. */
export async function withLedgers<T>(options: LedgerSessionOptions, task: (session: LedgerSession) => Promise<T>): Promise<T> {
  const url = clusterUrl(options.metadata);
  const { clock, random, logger } = nodeParts({ logFormat: 'text', logLevel: 'error' });
  const lifecycle = new Lifecycle();
  try {
    const store = await openZooKeeperStore({ url, clock });
    lifecycle.onClose('metadata', () => store.close());
    const registry = await createBookieRegistry(store, { clock, logger });
    lifecycle.onClose('bookie registry', () => registry.close());
    const bookies = new BookiePool({ clock, registry, connect: (bookie) => connectGrpcBookie(bookie, { clock }), logger });
    lifecycle.onClose('bookie connections', () => bookies.close());
    const records = createLedgerRecords(store);
    const topology = await createBookieTopology(store, { logger });
    lifecycle.onClose('racks', () => topology.close());
    const ledgers = createLedgerClient({ clock, random, records, registry, bookies, topology, logger, options: options.client ?? {} });
    lifecycle.onClose('ledger client', () => ledgers.close());
    return await task({ ledgers, records, registry });
  } finally {
    await lifecycle.close();
  }
}

function clusterUrl(url: string | undefined): string {
  if (url === undefined)
    throw cliErrors.USAGE("say which cluster: --metadata zk://HOST:PORT/PATH ('daybook cluster' prints its own), or DAYBOOK_METADATA");
  if (url.startsWith('zk://')) return url;
  throw cliErrors.USAGE(
    `--metadata ${url}: ledger commands need a cluster, zk://HOST:PORT/PATH. The data of 'daybook standalone' belongs to its one process: use its topics instead`,
  );
}
