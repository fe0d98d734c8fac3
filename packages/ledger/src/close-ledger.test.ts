import type { EntryId, LedgerMetadata } from '@daybook/proto';
import t from 'tap';
import { closeLedger } from './close-ledger.js';
import { ledgerOptions, SimWorld } from './testing/sim-world.js';

t.test('close ledger: open → closed; closed at the same end → success; at another end or in recovery → LEDGER_FENCED', async (t) => {
  const end = { lastEntryId: 4 as EntryId, length: 50 };
  const cases: [Partial<LedgerMetadata>, boolean, string][] = [
    [{}, false, 'closed'],
    [{}, true, 'LEDGER_FENCED'],
    [{ state: 'CLOSED', ...end }, false, 'closed'],
    [{ state: 'CLOSED', ...end }, true, 'closed'],
    [{ state: 'CLOSED', ...end, length: 51 }, false, 'LEDGER_FENCED'],
    [{ state: 'CLOSED', ...end, lastEntryId: 5 as EntryId }, false, 'LEDGER_FENCED'],
    [{ state: 'IN_RECOVERY' }, false, 'LEDGER_FENCED'],
  ];
  for (const [now, isFenced, outcome] of cases) {
    const world = new SimWorld();
    const { client, records } = world.cluster.connect();
    const { ledgerId } = await world.run(client.create(ledgerOptions(3, 3, 2)));
    const stored = world.cluster.store.ledgers.get(ledgerId) as { metadata: LedgerMetadata; version: number };
    // The writer believes in the record as it was created.
    world.cluster.store.set(ledgerId, { ...stored.metadata, ...now }, stored.version + 1);
    const closing = closeLedger(records, { ledgerId, stored, isFenced, ...end }).then(
      (ledger) => (ledger.metadata.lastEntryId === 4 && ledger.metadata.length === 50 ? 'closed' : 'wrong'),
      (error) => error.code,
    );
    t.equal(await world.run(closing), outcome, JSON.stringify(now));
  }
});
