import { Command } from 'commander';
import { wholeNumber } from './option-values.js';
import { type SettingOptions, withSettings } from './settings.js';

interface StandaloneOptions extends SettingOptions {
  host?: string;
  port?: number;
  data?: string;
  logFormat?: string;
  logLevel?: string;
}

export function command(): Command {
  return withSettings(new Command('standalone'))
    .description('Run everything in one process: metadata, one bookie, and a broker with WebSocket and REST on one port.')
    .option('-p, --port <port>', 'where WebSocket and REST listen; 0 takes a free port and says which (default: 8080)', wholeNumber(0, 65_535))
    .option('-d, --data <folder>', 'where everything is kept (default: ./data)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1, which only this machine reaches)')
    .addHelpText(
      'after',
      '\nExamples:\n  daybook standalone\n  daybook standalone --port 0 --data /tmp/try\n  daybook standalone --set maxMessageSize=1048576',
    )
    .action(async (options: StandaloneOptions) => {
      const { runStandalone } = await import('./standalone-node.js');
      await runStandalone(options);
    });
}
