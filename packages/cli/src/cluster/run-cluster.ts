import { Lifecycle } from '@daybook/runtime';
import { RealDisk } from '@daybook/runtime/real';
import type { ClusterOptions } from '../cluster.js';
import { endWithParent, untilAskedToEnd } from '../life.js';
import { ClusterFolder } from './cluster-folder.js';
import { LocalCluster } from './local-cluster.js';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Starts everything, then runs until it is asked to end or nothing is left that could work. */
export async function runCluster(options: ClusterOptions): Promise<void> {
  endWithParent();
  const folder = new ClusterFolder(options.data);
  const lifecycle = new Lifecycle();
  try {
    const lock = await new RealDisk().lock(folder.path);
    lifecycle.onClose('folder', () => lock.release());
    const cluster = new LocalCluster(folder, lifecycle, print);
    const isAsked = untilAskedToEnd();
    const isStarted = start(cluster, folder, options);
    isStarted.catch(() => undefined); // The race below tells it, unless the end was asked for first.
    await Promise.race([isAsked, isStarted.then(() => Promise.race([isAsked, cluster.isGone]))]);
    print('Ending all members ...');
  } finally {
    await lifecycle.close();
  }
}

async function start(cluster: LocalCluster, folder: ClusterFolder, options: ClusterOptions): Promise<void> {
  const startMs = performance.now();
  const { host, metadata: url, set: settings, logFormat, logLevel } = options;
  const counts = { bookiesCount: options.bookies, brokersCount: options.brokers, firstBrokerPort: options.port };
  const { members, metadata } = await cluster.start({ ...counts, host, metadata: url, settings, environment: process.env, logFormat, logLevel });
  const brokers = members.filter(({ role }) => role === 'broker').map(({ address }) => `http://${address}`);
  print(`The cluster is ready after ${((performance.now() - startMs) / 1000).toFixed(1)} s: brokers ${brokers.join(' ')}, metadata ${metadata}`);
  print(`Members are listed in ${folder.membersFile}. Ctrl-C ends all of them.`);
}
