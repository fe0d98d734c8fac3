import { Command } from 'commander';
import { wholeNumber } from './option-values.js';
import { type SettingOptions, withSettings } from './settings.js';

export interface BookieOptions extends SettingOptions {
  metadata?: string;
  data?: string;
  host?: string;
  port?: number;
  httpPort?: number;
  bookieId?: string;
  advertisedAddress?: string;
  logFormat?: string;
  logLevel?: string;
}

export function command(): Command {
  return withSettings(new Command('bookie'))
    .description('Run a bookie of a cluster: a storage node that keeps entries on its disks.')
    .option('-m, --metadata <url>', "the cluster's metadata, zk://HOST:PORT[,HOST:PORT...]/PATH")
    .option('-d, --data <folder>', 'where journal and ledgers are kept, unless the settings name folders for each')
    .option('-p, --port <port>', 'where brokers connect (gRPC); 0 takes a free port (default: 3181)', wholeNumber(0, 65_535))
    .option('--http-port <port>', 'metrics and health; 0 takes a free port (default: 8000)', wholeNumber(0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--bookie-id <id>', 'its name for the life of its disks (default: made at the first start)')
    .option('--advertised-address <host:port>', 'how brokers reach it (default: host and port)')
    .addHelpText('after', '\nExample:\n  daybook bookie --metadata zk://127.0.0.1:2181/daybook --data ./bookie-1 --port 3181 --http-port 8000')
    .action(async (options: BookieOptions) => {
      const { runBookie } = await import('./bookie-process.js');
      await runBookie(options);
    });
}
