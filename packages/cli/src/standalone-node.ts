import { resolve } from 'node:path';
import { bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { brokerConfigSchema } from '@daybook/broker';
import { createBookieRegistry, openEmbeddedStore } from '@daybook/metadata';
import { Lifecycle } from '@daybook/runtime';
import { startBrokerNode } from './broker-node.js';
import { chosenPort, reachable } from './free-port.js';
import { announceReady, beginServing, untilAskedToEnd } from './life.js';
import { exitAtOnce, nodeParts } from './node-parts.js';
import { loadSettings, type SettingOptions, settingsOf } from './settings.js';
import { standaloneConfigSchema } from './standalone-config.js';

export interface StandaloneRequest extends SettingOptions {
  host?: string;
  port?: number;
  data?: string;
  logFormat?: string;
  logLevel?: string;
}

/** Runs until the process is asked to end. */
export async function runStandalone(request: StandaloneRequest): Promise<void> {
  const config = loadSettings(standaloneConfigSchema, request, { host: request.host, port: request.port, dataDirectory: request.data });
  beginServing();
  const parts = nodeParts(config);
  const { clock, random, disk, logger, metrics } = parts;
  const onFatal = exitAtOnce(logger);
  const folder = resolve(config.dataDirectory);
  const lifecycle = new Lifecycle();
  try {
    const port = await chosenPort(config.host, config.port);
    const store = await openEmbeddedStore({ disk, directory: `${folder}/metadata`, onFailure: onFatal });
    await lifecycle.start({ name: 'metadata', close: () => store.close() });
    const bookie = await openBookie({
      config: bookieConfigSchema.parse({
        ...settingsOf(bookieConfigSchema, config),
        journalDirectories: [`${folder}/journal`],
        ledgerDirectories: [`${folder}/ledgers`],
      }),
      clock,
      random,
      disk,
      logger,
      metrics,
      metadata: bookieMetadata(store, { clock, random, logger, onFailure: onFatal }),
      dataDirectory: folder,
      onFatal,
    });
    await lifecycle.start({ name: 'bookie', close: () => bookie.close() });
    await bookie.register({ address: '', httpAddress: '' });
    const registry = await createBookieRegistry(store, { clock, logger });
    await lifecycle.start({ name: 'bookie registry', close: () => registry.close() });
    const node = await startBrokerNode({
      parts,
      config: brokerConfigSchema.parse(settingsOf(brokerConfigSchema, config)),
      store,
      registry,
      connect: () => ({ service: bookie.service, close: () => {} }),
      host: config.host,
      port,
      brokerId: reachable(config.host, port),
    });
    await lifecycle.start({ name: 'broker', close: () => node.close() });
    const address = reachable(config.host, port);
    announceReady(`Daybook is ready: http://${address} (WebSocket and REST), data in ${folder}`, { address });
    await untilAskedToEnd();
    logger.info({}, 'ending');
  } finally {
    await lifecycle.close();
  }
}
