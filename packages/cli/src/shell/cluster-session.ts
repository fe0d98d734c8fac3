import { hostname } from 'node:os';
import type { ConnectBookie } from '@daybook/ledger';
import { openRepairTools, type RateOptions, type RepairTools } from '@daybook/ledger/repair';
import type { MetadataStore } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { Lifecycle } from '@daybook/runtime';
import { type ConnectedLedgers, connectLedgers, type SessionParts } from '../connect-ledgers.js';
import { cliErrors } from '../errors.js';
import { nodeParts } from '../node-parts.js';

/** A cluster as an operator's tool sees it. */
export interface ClusterSession extends ConnectedLedgers {
  readonly parts: SessionParts;
  readonly store: MetadataStore;
  /** Made at the first call, with its rate. */
  repair(rate?: RateOptions): Promise<RepairTools>;
  close(): Promise<void>;
}

export interface ClusterSessionOptions {
  parts: SessionParts;
  /** Stays open. */
  store: MetadataStore;
  /** Default: by gRPC. */
  connect?: ConnectBookie;
}

export async function openClusterSession({ parts, store, connect }: ClusterSessionOptions): Promise<ClusterSession> {
  const { clock, random, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const connected = await connectLedgers(lifecycle, { parts, store, ...(connect && { connect }) });
    let tools: Promise<RepairTools> | undefined;
    const repair = (rate: RateOptions = {}): Promise<RepairTools> => {
      tools ??= openRepairTools({ clock, random, logger, store, ...connected, name: `shell-${hostname()}-${process.pid}` }, rate);
      return tools;
    };
    lifecycle.onClose('repair tools', async () => await (await tools?.catch(() => undefined))?.close());
    return { parts, store, ...connected, repair, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

export interface ClusterOptions {
  metadata?: string;
}

/** Connects to a cluster, runs `task`, and lets go of everything. */
export async function inCluster<T>(options: ClusterOptions, task: (session: ClusterSession) => Promise<T>): Promise<T> {
  const url = clusterUrl(options);
  const parts = nodeParts({ logFormat: 'text', logLevel: 'error' });
  const lifecycle = new Lifecycle();
  try {
    const store = await openZooKeeperStore({ url, clock: parts.clock });
    lifecycle.onClose('metadata', () => store.close());
    const session = await openClusterSession({ parts, store });
    lifecycle.onClose('session', () => session.close());
    return await task(session);
  } finally {
    await lifecycle.close();
  }
}

function clusterUrl({ metadata }: ClusterOptions): string {
  if (metadata === undefined) {
    throw cliErrors.USAGE("say which cluster: --metadata zk://HOST:PORT/PATH ('daybook cluster' prints its own), or DAYBOOK_METADATA");
  }
  if (metadata.startsWith('zk://')) return metadata;
  throw cliErrors.USAGE(`--metadata ${metadata}: this needs a cluster, zk://HOST:PORT/PATH`);
}

/** Aborts when the command is interrupted; `end` gives the signals back. */
export function stopOnInterrupt(): { signal: AbortSignal; end(): void } {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort);
  return {
    signal: stop.signal,
    end: () => {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, abort);
    },
  };
}
