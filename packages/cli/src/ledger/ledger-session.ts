import type { LedgerClient, LedgerClientOptions } from '@daybook/ledger';
import type { BookieRegistry, LedgerRecords } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { Lifecycle } from '@daybook/runtime';
import { connectLedgers } from '../connect-ledgers.js';
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
  const parts = nodeParts({ logFormat: 'text', logLevel: 'error' });
  const lifecycle = new Lifecycle();
  try {
    const store = await openZooKeeperStore({ url, clock: parts.clock });
    lifecycle.onClose('metadata', () => store.close());
    const { ledgers, records, registry } = await connectLedgers(lifecycle, { parts, store, client: options.client ?? {} });
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
