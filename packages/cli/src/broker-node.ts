import { type BrokerConfig, openBroker, startFrontEnd } from '@daybook/broker';
import type { ConnectBookie, LedgerClientOptions } from '@daybook/ledger';
import type { BookieRegistry, MetadataStore } from '@daybook/metadata';
import { Lifecycle } from '@daybook/runtime';
import { connectLedgers } from './connect-ledgers.js';
import type { NodeParts } from './node-parts.js';
import { version } from './package-files.js';

export interface BrokerNodeOptions {
  parts: NodeParts;
  config: BrokerConfig;
  store: MetadataStore;
  registry: BookieRegistry;
  connect: ConnectBookie;
  host: string;
  port: number;
  /** `host:port` under which clients and other brokers reach it. */
  brokerId: string;
}

/** A broker with its ledger client and front end, from metadata and a way to reach bookies; part of standalone and of `daybook broker`. */
export async function startBrokerNode(options: BrokerNodeOptions): Promise<{ address: string; close(): Promise<void> }> {
  const { parts, config, store, registry } = options;
  const { clock, random, logger, metrics } = parts;
  const lifecycle = new Lifecycle();
  try {
    const { ledgers } = await connectLedgers(lifecycle, { parts, store, registry, connect: options.connect, client: placementOptions(config) });
    const broker = await openBroker({
      config,
      brokerId: options.brokerId,
      version: version(),
      clock,
      random,
      store,
      ledgers,
      registry,
      logger,
      metrics,
    });
    await lifecycle.start({ name: 'broker', close: () => broker.close() });
    const limits = { messageBytesMax: config.maxMessageSize };
    const frontEnd = await startFrontEnd({ broker, clock, random, logger, metrics, host: options.host, port: options.port, limits });
    await lifecycle.start({ name: 'front end', close: () => frontEnd.close() });
    return { address: frontEnd.address, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

function placementOptions(config: BrokerConfig): Partial<LedgerClientOptions> {
  return {
    networkLocation: config.networkLocation,
    minNumRacksPerWriteQuorum: config.bookkeeperClientMinNumRacksPerWriteQuorum,
    enforceMinNumRacksPerWriteQuorum: config.bookkeeperClientEnforceMinNumRacksPerWriteQuorum,
  };
}
