import { hostname } from 'node:os';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { Lifecycle } from '@daybook/runtime';
import type { AutoRecoveryCommandOptions } from './autorecovery.js';
import { autoRecoveryProcessConfigSchema } from './autorecovery-config.js';
import { startAutoRecoveryHttp } from './autorecovery-http.js';
import { startAutoRecoveryNode } from './autorecovery-node.js';
import { chosenPort, reachable } from './free-port.js';
import { announceReady, beginServing, untilAskedToEnd } from './life.js';
import { nodeParts } from './node-parts.js';
import { loadSettings } from './settings.js';

/** Runs until the process is asked to end. */
export async function runAutoRecovery(options: AutoRecoveryCommandOptions): Promise<void> {
  const { metadata, host, httpPort: askedPort, name: askedName } = options;
  const config = loadSettings(autoRecoveryProcessConfigSchema, options, { metadata, host, httpPort: askedPort, name: askedName });
  beginServing();
  const parts = nodeParts(config);
  const { clock, logger, metrics } = parts;
  const lifecycle = new Lifecycle();
  try {
    const port = await chosenPort(config.host, config.httpPort);
    const store = await openZooKeeperStore({ url: config.metadata, clock, metadataSessionTimeoutMs: config.metadataSessionTimeoutMs });
    lifecycle.onClose('metadata', () => store.close());
    const name = config.name ?? `autorecovery-${hostname()}-${process.pid}`;
    const node = await startAutoRecoveryNode({ parts, config, store, name, connect: (bookie) => connectGrpcBookie(bookie, { clock }) });
    lifecycle.onClose('autorecovery', () => node.close());
    const http = await startAutoRecoveryHttp({ host: config.host, port, metrics, logger, store, recovery: node.recovery });
    lifecycle.onClose('http', () => http.close());
    const address = reachable(config.host, port);
    announceReady(`Daybook autorecovery ${name} is ready: http://${address}/status`, { address });
    await untilAskedToEnd();
  } finally {
    await lifecycle.close();
  }
}
