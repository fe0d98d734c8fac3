import { Command } from 'commander';
import { wholeNumber } from './option-values.js';
import { type SettingOptions, withSettings } from './settings.js';

export interface AutoRecoveryCommandOptions extends SettingOptions {
  metadata?: string;
  host?: string;
  httpPort?: number;
  name?: string;
  logFormat?: string;
  logLevel?: string;
}

export function command(): Command {
  return withSettings(new Command('autorecovery'))
    .description('Watch over the copies of all ledgers of a cluster and make new ones for those that are lost.')
    .option('-m, --metadata <url>', "the cluster's metadata, zk://HOST:PORT[,HOST:PORT...]/PATH")
    .option('--http-port <port>', 'metrics, health and status; 0 takes a free port (default: 8001)', wholeNumber(0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--name <text>', 'what others see of it, different for each process (default: made of host name and process id)')
    .addHelpText(
      'after',
      `
Run as many as you like: one of them audits, all of them copy. Bookies do the same work when they have the setting autoRecoveryDaemonEnabled.
What it is doing, and what it cannot repair and why: http://HOST:PORT/status

Examples:
  daybook autorecovery --metadata zk://127.0.0.1:2181/daybook
  daybook autorecovery --metadata zk://127.0.0.1:2181/daybook --set replicationRateByBytes=20000000 --set lostBookieRecoveryDelay=60`,
    )
    .action(async (options: AutoRecoveryCommandOptions) => {
      const { runAutoRecovery } = await import('./autorecovery-process.js');
      await runAutoRecovery(options);
    });
}
