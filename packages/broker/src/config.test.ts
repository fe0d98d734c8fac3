import { configTable } from '@daybook/runtime';
import t from 'tap';
import { brokerConfigSchema } from './config.js';
import { brokerLimits } from './limits.js';

t.test("broker config: nothing given → Pulsar's defaults", async (t) => {
  const config = brokerConfigSchema.parse({});
  t.match(config, { clusterName: 'standalone', maxMessageSize: 5_242_880, managedLedgerMaxEntriesPerLedger: 50_000 });
  t.match(brokerLimits(config), {
    ledgers: { ensembleSize: 2, bytesPerLedgerMax: 2_147_483_648, rolloverTimeMinMs: 600_000, rolloverTimeMaxMs: 14_400_000 },
    dispatch: { unackedPerConsumerMax: 50_000, unackedPerSubscriptionMax: 200_000, readEntriesMax: 100, readBytesMax: 5_242_880 },
  });
});

t.test('broker config: settings that contradict each other → an error that names them', async (t) => {
  const limits = (given: object) => brokerLimits(brokerConfigSchema.parse(given));
  t.throws(() => limits({ managedLedgerDefaultAckQuorum: 3 }), { code: 'BROKER_CONFIG_INVALID', message: /AckQuorum must hold, they are 2, 2, 3/ });
  t.throws(() => limits({ managedLedgerMinLedgerRolloverTimeMinutes: 500 }), { code: 'BROKER_CONFIG_INVALID', message: /MaxLedgerRollover/ });
});

t.test('broker config: every setting → has a meaning for the documentation', async (t) => {
  for (const row of configTable(brokerConfigSchema).split('\n').slice(2, -1)) t.match(row, /^\| `\w+` \| .+ \| .+ \| [A-Z].+ \|$/, row);
});
