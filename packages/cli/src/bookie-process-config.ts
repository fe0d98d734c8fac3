import { bookieConfigSchema } from '@daybook/bookie';
import { z } from 'zod';
import { autoRecoverySettings } from './autorecovery-config.js';
import { metadataSettings } from './broker-config.js';
import { processSettings } from './node-parts.js';

const { journalDirectories, ledgerDirectories, ...bookieSettings } = bookieConfigSchema.shape;

/** Settings of `daybook bookie`. */
export const bookieProcessConfigSchema = z.strictObject({
  ...metadataSettings,
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on. Anything but 127.0.0.1 lets other machines in.'),
  port: z.int().min(0).max(65_535).default(3181).describe('Where brokers connect (gRPC); 0 takes a free port.'),
  httpPort: z.int().min(0).max(65_535).default(8000).describe('Metrics and health; 0 takes a free port.'),
  advertisedAddress: z.string().min(1).optional().describe('`host:port` by which brokers reach this bookie; default: host and port.'),
  dataDirectory: z.string().min(1).default('./bookie').describe('Where journal and ledgers are kept, unless they are named on their own.'),
  journalDirectories: journalDirectories.optional(),
  ledgerDirectories: ledgerDirectories.optional(),
  autoRecoveryDaemonEnabled: z
    .boolean()
    .default(false)
    .describe('Beside its own work, watch over the copies of all ledgers as `daybook autorecovery` does; the settings of repair are read only then.'),
  ...processSettings,
  ...bookieSettings,
  ...autoRecoverySettings,
});
