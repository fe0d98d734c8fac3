import { z } from 'zod';
import { metadataSettings } from './broker-config.js';
import { processSettings } from './node-parts.js';

/** Settings of repair, of `daybook autorecovery` and of a bookie that does the same work beside its own. */
export const autoRecoverySettings = {
  lostBookieRecoveryDelay: z
    .int()
    .min(0)
    .default(3)
    .describe(
      'Seconds that a single lost bookie is waited for before its ledgers are copied; as it is, enough for a restart. Set in the metadata by the first process, later changed there.',
    ),
  auditorPeriodicBookieCheckInterval: z
    .int()
    .min(0)
    .default(86_400)
    .describe('Seconds between audits of the bookies that all ledgers name (losses are seen at once anyway); 0: none.'),
  auditorReplicasCheckInterval: z
    .int()
    .min(0)
    .default(3_600)
    .describe('Seconds between comparisons of what all bookies have with what they should have; 0: none.'),
  auditorPeriodicCheckInterval: z.int().min(0).default(604_800).describe('Seconds between checks that also read entries of all ledgers; 0: none.'),
  auditorLedgerVerificationPercentage: z
    .int()
    .min(0)
    .max(100)
    .default(0)
    .describe('Share of the entries that such a check reads from each bookie, besides the first and the last of each part.'),
  auditorPeriodicPlacementPolicyCheckInterval: z
    .int()
    .min(0)
    .default(0)
    .describe('Seconds between checks whether the bookies of ledgers span enough racks and regions; 0: none.'),
  repairedPlacementPolicyNotAdheringBookieEnable: z
    .boolean()
    .default(true)
    .describe('Copies of ledgers that such a check finds, and that nobody writes any more, are moved to other racks.'),
  minNumRacksPerWriteQuorum: z.int().min(0).max(64).default(2).describe('Each write quorum spans as many racks, where there are so many.'),
  enforceMinNumRacksPerWriteQuorum: z.boolean().default(false).describe('Rather no copy than one in a rack that breaks the rule.'),
  minRegionsForDurability: z.int().min(0).max(64).default(0).describe('Each write quorum spans as many regions; 0: no such rule.'),
  openLedgerRereplicationGracePeriod: z
    .int()
    .min(0)
    .default(30_000)
    .describe('Milliseconds that the writer of an open ledger has to replace a lost bookie itself, before the ledger is fenced and closed.'),
  lockReleaseOfFailedLedgerGracePeriod: z
    .int()
    .min(1_000)
    .default(300_000)
    .describe('The longest wait, in milliseconds, before a ledger that could not be repaired is tried again; waits begin at 1/32 of it.'),
  rwRereplicateBackoffMs: z.int().min(100).default(5_000).describe('A ledger that could not be repaired is not tried again sooner than this.'),
  replicationRateByBytes: z.int().min(-1).default(-1).describe('Bytes a second that one process copies at most; -1 or 0: no limit.'),
  replicationRateByEntries: z.int().min(-1).default(-1).describe('Entries a second that one process copies at most; -1 or 0: no limit.'),
  concurrentLedgerRepairs: z.int().min(1).max(64).default(4).describe('Ledgers that one process repairs at a time.'),
};

const autoRecoverySchema = z.strictObject(autoRecoverySettings);
export type AutoRecoverySettings = Readonly<z.output<typeof autoRecoverySchema>>;

/** Settings of `daybook autorecovery`. */
export const autoRecoveryProcessConfigSchema = z.strictObject({
  ...metadataSettings,
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on. Anything but 127.0.0.1 lets other machines in.'),
  httpPort: z.int().min(0).max(65_535).default(8001).describe('Metrics, health and status; 0 takes a free port.'),
  name: z.string().min(1).optional().describe('What others see of it in locks and elections; different for each process.'),
  ...processSettings,
  ...autoRecoverySettings,
});
