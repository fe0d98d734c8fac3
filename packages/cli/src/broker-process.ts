import { brokerConfigSchema } from '@daybook/broker';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { createBookieRegistry } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { Lifecycle } from '@daybook/runtime';
import type { BrokerOptions } from './broker.js';
import { brokerProcessConfigSchema } from './broker-config.js';
import { startBrokerNode } from './broker-node.js';
import { chosenPort, reachable } from './free-port.js';
import { announceReady, beginServing, untilAskedToEnd } from './life.js';
import { nodeParts } from './node-parts.js';
import { loadSettings, settingsOf } from './settings.js';

/** Runs until the process is asked to end. */
export async function runBroker(options: BrokerOptions): Promise<void> {
  const { metadata, host, port: askedPort, advertisedAddress } = options;
  const config = loadSettings(brokerProcessConfigSchema, options, { metadata, host, port: askedPort, advertisedAddress });
  beginServing();
  const parts = nodeParts(config);
  const { clock, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const port = await chosenPort(config.host, config.port);
    const store = await openZooKeeperStore({ url: config.metadata, clock, metadataSessionTimeoutMs: config.metadataSessionTimeoutMs });
    await lifecycle.start({ name: 'metadata', close: () => store.close() });
    const registry = await createBookieRegistry(store, { clock, logger });
    await lifecycle.start({ name: 'bookie registry', close: () => registry.close() });
    const brokerId = config.advertisedAddress ?? reachable(config.host, port);
    const node = await startBrokerNode({
      parts,
      config: brokerConfigSchema.parse(settingsOf(brokerConfigSchema, config)),
      store,
      registry,
      connect: (bookie) => connectGrpcBookie(bookie, { clock }),
      host: config.host,
      port,
      brokerId,
    });
    await lifecycle.start({ name: 'broker', close: () => node.close() });
    const address = reachable(config.host, port);
    announceReady(`Daybook broker ${brokerId} is ready: http://${address} (WebSocket and REST)`, { address });
    await untilAskedToEnd();
  } finally {
    await lifecycle.close();
  }
}
