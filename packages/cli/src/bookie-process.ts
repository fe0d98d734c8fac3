import { resolve } from 'node:path';
import { type Bookie, type BookieHttp, bookieConfigSchema, bookieMetadata, openBookie, startBookieHttp } from '@daybook/bookie';
import { type BookieServer, startBookieServer } from '@daybook/bookie/grpc';
import type { ConnectBookie } from '@daybook/ledger';
import type { MetadataStore } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { type DeepReadonly, Lifecycle } from '@daybook/runtime';
import type { z } from 'zod';
import type { BookieOptions } from './bookie.js';
import { bookieProcessConfigSchema } from './bookie-process-config.js';
import { chosenPort, reachable } from './free-port.js';
import { announceReady, beginServing, untilAskedToEnd } from './life.js';
import { exitAtOnce, type NodeParts, nodeParts } from './node-parts.js';
import { loadSettings, settingsOf } from './settings.js';
import { bookieAdmin } from './shell/bookie-admin.js';

/** Runs until the process is asked to end; exits when its disks or its identity can be trusted no more. */
export async function runBookie(options: BookieOptions): Promise<void> {
  const { metadata, data: dataDirectory, host, port, httpPort, bookieId, advertisedAddress } = options;
  const config = loadSettings(bookieProcessConfigSchema, options, { metadata, dataDirectory, host, port, httpPort, bookieId, advertisedAddress });
  beginServing();
  const lifecycle = new Lifecycle();
  try {
    await start(config, lifecycle);
    await untilAskedToEnd();
  } finally {
    await lifecycle.close();
  }
}

type Config = DeepReadonly<z.output<typeof bookieProcessConfigSchema>>;

async function start(config: Config, lifecycle: Lifecycle): Promise<void> {
  const { host, metadataSessionTimeoutMs } = config;
  const parts = nodeParts(config);
  const { clock, random, logger, metrics } = parts;
  const onFatal = exitAtOnce(logger);
  const port = await chosenPort(host, config.port);
  const httpPort = await chosenPort(host, config.httpPort);
  const store = await openZooKeeperStore({ url: config.metadata, clock, metadataSessionTimeoutMs });
  lifecycle.onClose('metadata', () => store.close());
  // Closed after the bookie: it leaves the cluster first, and what is under way is still answered.
  const servers: { grpc?: BookieServer; http?: BookieHttp } = {};
  lifecycle.onClose('servers', async () => {
    await servers.grpc?.close();
    await servers.http?.close();
  });
  const metadata = bookieMetadata(store, { clock, random, logger, onFailure: onFatal });
  const own = folders(config);
  const bookie = await openBookie({ ...parts, ...own, metadata, onFatal });
  lifecycle.onClose('bookie', () => bookie.close());
  let isRegistered = false;
  const isReady = (): boolean => isWorking(bookie) && isRegistered && store.session !== 'lost';
  const { journalDirectories, ledgerDirectories } = own.config;
  const admin = bookieAdmin({ parts, bookie, store, config, journalDirectories, ledgerDirectories, isReady });
  lifecycle.onClose('administration', () => admin.close());
  servers.grpc = await startBookieServer({ service: bookie.service, identity: bookie.identity, clock, logger, host, port });
  servers.http = await startBookieHttp({
    host,
    port: httpPort,
    metrics,
    logger,
    isHealthy: () => isWorking(bookie),
    isReady,
    routes: admin.routes,
  });
  const address = config.advertisedAddress ?? reachable(host, port);
  const httpAddress = reachable(host, httpPort);
  await bookie.register({ address, httpAddress });
  isRegistered = true;
  if (config.autoRecoveryDaemonEnabled) await startRepair(config, { parts, store, bookie }, lifecycle);
  announceReady(`Daybook bookie ${bookie.identity.bookieId} is ready: gRPC on ${address}, http://${httpAddress}/metrics`, { address });
}

/** Reaches itself without a detour over the network. */
async function startRepair(
  config: Config,
  { parts, store, bookie }: { parts: NodeParts; store: MetadataStore; bookie: Bookie },
  lifecycle: Lifecycle,
): Promise<void> {
  const { bookieId, incarnation } = bookie.identity;
  const itself = { service: bookie.service, close: () => undefined };
  const { startAutoRecoveryNode } = await import('./autorecovery-node.js');
  const { connectGrpcBookie } = await import('@daybook/ledger/grpc');
  const connect: ConnectBookie = (other) =>
    other.bookieId === bookieId && other.incarnation === incarnation ? itself : connectGrpcBookie(other, { clock: parts.clock });
  const node = await startAutoRecoveryNode({ parts, config, store, connect, name: bookieId });
  lifecycle.onClose('autorecovery', () => node.close());
}

function isWorking(bookie: Bookie): boolean {
  return bookie.state === 'running';
}

function folders(config: Config) {
  const dataDirectory = resolve(config.dataDirectory);
  return {
    dataDirectory,
    config: bookieConfigSchema.parse({
      ...settingsOf(bookieConfigSchema, config),
      journalDirectories: config.journalDirectories ?? [`${dataDirectory}/journal`],
      ledgerDirectories: config.ledgerDirectories ?? [`${dataDirectory}/ledgers`],
    }),
  };
}
