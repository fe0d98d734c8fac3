import { brokerConfigSchema } from '@daybook/broker';
import { z } from 'zod';
import { processSettings } from './node-parts.js';

export const metadataSettings = {
  metadata: z
    .string()
    .refine((url) => /^zk:\/\/[^/]+(\/.*)?$/.test(url), 'write zk://HOST:PORT[,HOST:PORT...]/PATH')
    .describe("The cluster's metadata, `zk://HOST:PORT[,HOST:PORT...]/PATH`; the path is made when it is missing."),
  metadataSessionTimeoutMs: z
    .int()
    .min(1_000)
    .max(120_000)
    .default(10_000)
    .describe('After how long without a sign of life the cluster counts this process as dead.'),
};

/** Settings of `daybook broker`. */
export const brokerProcessConfigSchema = z.strictObject({
  ...metadataSettings,
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on. Anything but 127.0.0.1 lets other machines in.'),
  port: z.int().min(0).max(65_535).default(8080).describe('Port of WebSocket and REST; 0 takes a free one.'),
  advertisedAddress: z.string().min(1).optional().describe('`host:port` by which clients and other brokers reach this one; default: host and port.'),
  ...processSettings,
  ...brokerConfigSchema.shape,
});
