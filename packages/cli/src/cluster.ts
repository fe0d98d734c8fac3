import { Command } from 'commander';
import { wholeNumber } from './option-values.js';
import { withSet } from './settings.js';

export interface ClusterOptions {
  set: Record<string, string>;
  bookies: number;
  brokers: number;
  port: number;
  data: string;
  host: string;
  metadata?: string;
  logFormat?: string;
  logLevel?: string;
}

export function command(): Command {
  return withSet(new Command('cluster'))
    .description('Run a whole cluster on this machine, each member a process of its own: ZooKeeper, bookies, brokers. Ends all of them when it ends.')
    .option('--bookies <count>', 'how many bookies', wholeNumber(1, 32), 3)
    .option('--brokers <count>', 'how many brokers', wholeNumber(1, 32), 2)
    .option('-p, --port <port>', 'of the first broker; the others follow with port + 1, ...; 0 takes free ones', wholeNumber(0, 65_535), 8080)
    .option('-d, --data <folder>', 'where everything is kept; started on it again, the cluster goes on', './cluster')
    .option('--host <address>', 'address that brokers and bookies listen on', '127.0.0.1')
    .option('-m, --metadata <url>', 'use this ZooKeeper (zk://HOST:PORT/PATH) instead of starting one')
    .addHelpText(
      'after',
      `
Settings given with --set or as DAYBOOK_... go to the brokers, the bookies, or both, whoever knows them. With three bookies or more each entry is
stored on 3 and acknowledged after 2; with fewer on all of them.

It prints role, pid and address of each member and writes them to FOLDER/cluster.json once all are ready; logs are in FOLDER/logs. Kill any of them: it is
told here with the command that starts it again, and the rest goes on.

Examples:
  daybook cluster
  daybook cluster --bookies 5 --brokers 1 --port 9000 --data /tmp/try --set journalMaxGroupWaitMSec=1`,
    )
    .action(async (options: ClusterOptions) => {
      const { runCluster } = await import('./cluster/run-cluster.js');
      await runCluster(options);
    });
}
