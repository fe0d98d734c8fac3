import { z } from 'zod';

const count = (max = Number.MAX_SAFE_INTEGER) => z.int().min(1).max(max);

/** The settings of a broker. Names and meaning are Pulsar's; the command line adds where to listen and where the metadata is. */
export const brokerConfigSchema = z.strictObject({
  clusterName: z
    .string()
    .regex(/^[-=:.\w]+$/)
    .default('standalone')
    .describe('Name of this cluster; made at the first start.'),
  defaultNumberOfNamespaceBundles: count(1024)
    .default(4)
    .describe('Into how many bundles (the unit that moves between brokers) the topics of a new namespace are divided.'),
  managedLedgerDefaultEnsembleSize: count(64).default(2).describe('On how many bookies the entries of one ledger are spread.'),
  managedLedgerDefaultWriteQuorum: count(64).default(2).describe('On how many bookies each entry is stored.'),
  managedLedgerDefaultAckQuorum: count(64).default(2).describe('How many bookies must have stored an entry before it is acknowledged.'),
  networkLocation: z
    .string()
    .regex(/^(\/[^/\s]+){1,2}$/)
    .default('/default-region/default-rack')
    .describe('Where this broker stands, `/region/rack` or `/rack`: its ledgers begin there, and it reads there first.'),
  bookkeeperClientMinNumRacksPerWriteQuorum: z
    .int()
    .min(0)
    .max(64)
    .default(2)
    .describe('Each write quorum spans as many racks, where there are so many.'),
  bookkeeperClientEnforceMinNumRacksPerWriteQuorum: z.boolean().default(false).describe('Rather no ledger than one in fewer racks.'),
  managedLedgerMaxEntriesPerLedger: count().default(50_000).describe('After how many entries a topic goes on in a new ledger.'),
  managedLedgerMaxSizePerLedgerMbytes: count(1_000_000).default(2048).describe('After how many MiB a topic goes on in a new ledger.'),
  managedLedgerMinLedgerRolloverTimeMinutes: z.int().min(0).default(10).describe('A ledger is not left before this age, unless a bookie failed.'),
  managedLedgerMaxLedgerRolloverTimeMinutes: count().default(240).describe('At this age a ledger is left, however little is in it.'),
  managedLedgerCacheSizeMB: count(1_000_000).default(64).describe('Memory for entries just written, shared by all topics.'),
  maxMessageSize: count(64 * 1024 * 1024)
    .default(5 * 1024 * 1024)
    .describe('Largest payload of a message in bytes.'),
  maxUnackedMessagesPerConsumer: count()
    .default(50_000)
    .describe('A consumer of a Shared subscription that holds this many unacknowledged messages gets no more.'),
  maxUnackedMessagesPerSubscription: count(1_000_000)
    .default(200_000)
    .describe('A subscription with this many delivered and unacknowledged messages delivers no new ones.'),
  dispatcherMaxReadBatchSize: count(10_000).default(100).describe('Entries in a first read for a subscription; a backlog raises it tenfold.'),
  dispatcherMaxReadSizeBytes: count(64 * 1024 * 1024)
    .default(5 * 1024 * 1024)
    .describe('Bytes in one read for a subscription.'),
});

export type BrokerConfig = z.output<typeof brokerConfigSchema>;
