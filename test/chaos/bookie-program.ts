import { bookieConfigSchema, bookieMetadata, openBookie, startBookieHttp } from '@daybook/bookie';
import { bookieRoutes, garbageRoutes } from '@daybook/bookie/admin';
import { startBookieServer } from '@daybook/bookie/grpc';
import { createLedgerRecords } from '@daybook/metadata';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import { createLogger, Metrics } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { freePort } from './processes.js';

/**
 * `daybook bookie` with limits that its configuration does not offer, so that within seconds journals roll, logs fill up, and ledgers are old enough to be
 * collected: `node bookie-program.js METADATA FOLDER`.
 */
const [metadata = '', folder = ''] = process.argv.slice(2);
const mib = 1 << 20;
const sessionTimeoutMs = 4_000;
const clock = new RealClock();
const random = new RealRandom();
const disk = new RealDisk();
const logger = createLogger({ clock, level: 'info' });
const metrics = new Metrics();
const onFatal = (error: unknown): void => {
  logger.error({ error }, 'this process ends now');
  process.exit(3);
};
const journalDirectories = [`${folder}/journal`];
const ledgerDirectories = [`${folder}/ledgers-1`, `${folder}/ledgers-2`];
const config = bookieConfigSchema.parse({
  bookieId: 'killed',
  journalDirectories,
  ledgerDirectories,
  gcWaitTime: 1_000,
  entryLogRollIdleMs: 1_000,
  minorCompactionInterval: 1,
  majorCompactionInterval: 2,
  compactionRateByEntries: 0,
  compactionRateByBytes: 20_000_000,
  writeCacheMaxSizeMB: 16,
});
const store = await openZooKeeperStore({ url: metadata, clock, metadataSessionTimeoutMs: sessionTimeoutMs });
const bookie = await openBookie({
  config,
  limits: {
    gcLedgerAgeMsMin: 300,
    logBytesMax: 4 * mib,
    journalFileBytesMax: 8 * mib,
    journalPrefillBytes: mib,
    flushIntervalMs: 300,
    compactionKeepFreeBytes: mib,
  },
  clock,
  random,
  disk,
  logger,
  metrics,
  dataDirectory: folder,
  metadata: bookieMetadata(store, { clock, random, logger, onFailure: onFatal }),
  onFatal,
});
const records = createLedgerRecords(store);
const host = '127.0.0.1';
const [port, httpPort] = [await freePort(), await freePort()];
await startBookieServer({ service: bookie.service, identity: bookie.identity, clock, logger, host, port });
await startBookieHttp({
  host,
  port: httpPort,
  metrics,
  logger,
  isHealthy: () => bookie.state === 'running',
  isReady: () => bookie.state === 'running',
  routes: [
    ...garbageRoutes(bookie.garbageCollector, logger),
    ...bookieRoutes({
      bookie,
      clock,
      disk,
      logger,
      config,
      journalDirectories,
      ledgerDirectories,
      isReady: () => true,
      nextLedgerId: () => records.nextLedgerId(),
    }),
  ],
});
await bookie.register({ address: `${host}:${port}`, httpAddress: `${host}:${httpPort}` });
process.stdout.write(`the bookie is ready: gRPC on ${host}:${port}, http://${host}:${httpPort}/metrics\n`);
