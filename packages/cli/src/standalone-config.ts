import { bookieConfigSchema } from '@daybook/bookie';
import { brokerConfigSchema } from '@daybook/broker';
import { z } from 'zod';
import { processSettings } from './node-parts.js';

const {
  journalDirectories: _journal,
  ledgerDirectories: _ledgers,
  bookieId: _bookieId,
  allowStorageExpansion: _expansion,
  ...bookieSettings
} = bookieConfigSchema.shape;
const one = z.literal(1).default(1);

/** Settings of `daybook standalone`: one bookie, so every quorum is 1; its folders follow from `dataDirectory`. */
export const standaloneConfigSchema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on. Anything but 127.0.0.1 lets other machines in.'),
  port: z.int().min(0).max(65_535).default(8080).describe('Port of WebSocket and REST; 0 takes a free one.'),
  dataDirectory: z.string().min(1).default('./data').describe('Where everything is kept.'),
  ...processSettings,
  ...brokerConfigSchema.shape,
  managedLedgerDefaultEnsembleSize: one.describe('Standalone has one bookie.'),
  managedLedgerDefaultWriteQuorum: one.describe('Standalone has one bookie.'),
  managedLedgerDefaultAckQuorum: one.describe('Standalone has one bookie.'),
  ...bookieSettings,
});
