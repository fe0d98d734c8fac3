import { Command } from 'commander';
import { wholeNumber } from './option-values.js';
import { type SettingOptions, withSettings } from './settings.js';

export interface BrokerOptions extends SettingOptions {
  metadata?: string;
  host?: string;
  port?: number;
  advertisedAddress?: string;
  logFormat?: string;
  logLevel?: string;
}

export function command(): Command {
  return withSettings(new Command('broker'))
    .description('Run a broker of a cluster. It keeps nothing: start and stop as many as you like.')
    .option('-m, --metadata <url>', "the cluster's metadata, zk://HOST:PORT[,HOST:PORT...]/PATH")
    .option('-p, --port <port>', 'where WebSocket and REST listen; 0 takes a free port and says which (default: 8080)', wholeNumber(0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--advertised-address <host:port>', 'how clients and other brokers reach this one (default: host and port)')
    .addHelpText('after', '\nExample:\n  daybook broker --metadata zk://127.0.0.1:2181/daybook --port 8080')
    .action(async (options: BrokerOptions) => {
      const { runBroker } = await import('./broker-process.js');
      await runBroker(options);
    });
}
