import type { BookieId, EntryId, LedgerMetadata } from '@daybook/proto';
import t from 'tap';
import { type Replacement, storeEnsembleChange } from './ensemble-change.js';
import { ledgerOptions, SimWorld } from './testing/sim-world.js';

const b = (name: string) => name as BookieId;
const replacement = (index: number, from: string, to: string): Replacement => ({ index, from: b(from), to: b(to), incarnation: '1' });

async function opened(change: Partial<LedgerMetadata> = {}) {
  const world = new SimWorld({ bookiesCount: 3 });
  const { client, records } = world.cluster.connect();
  const { ledgerId } = await world.run(client.create(ledgerOptions(3, 3, 2)));
  const made = world.cluster.store.ledgers.get(ledgerId) as { metadata: LedgerMetadata; version: number };
  const segments = [{ firstEntryId: 0 as EntryId, ensemble: ['a', 'b', 'c'].map(b) }];
  const stored = world.cluster.store.set(ledgerId, { ...made.metadata, segments, ...change }, made.version);
  const run = (replacements: readonly Replacement[], firstEntryId: number, from = stored, stop = new AbortController().signal) =>
    world.run(
      storeEnsembleChange(
        { clock: world.clock, records },
        { ledgerId, stored: from, firstEntryId: firstEntryId as EntryId, replacements, deadlineMs: 5_000, stop },
      ),
    );
  return { world, records, ledgerId, stored, run };
}

t.test('ensemble change: stored at lastConfirmed + 1; same start → the list is replaced', async (t) => {
  const { run, world, ledgerId } = await opened();
  t.equal((await run([replacement(1, 'b', 'd')], 5)).outcome, 'stored');
  const next = world.cluster.store.ledgers.get(ledgerId);
  t.same(next?.metadata.segments[1], { firstEntryId: 5, ensemble: ['a', 'd', 'c'] });
  await run([replacement(1, 'd', 'e')], 5, next);
  t.same(world.cluster.store.ledgers.get(ledgerId)?.metadata.segments.length, 2);
});

t.test('ensemble change: record in recovery, closed, gone → says so and writes nothing', async (t) => {
  for (const [state, outcome] of [
    ['IN_RECOVERY', 'fenced'],
    ['CLOSED', 'closed'],
  ] as const) {
    const { run, world, ledgerId, stored } = await opened({ state });
    t.equal((await run([replacement(0, 'a', 'd')], 1)).outcome, outcome);
    t.equal(world.cluster.store.ledgers.get(ledgerId), stored);
  }
  const { run, world, ledgerId } = await opened();
  world.cluster.store.ledgers.delete(ledgerId);
  t.equal((await run([replacement(0, 'a', 'd')], 1)).outcome, 'deleted');
});

t.test('ensemble change: somebody changed an older segment meanwhile → both changes are kept', async (t) => {
  const { run, world, ledgerId, stored } = await opened();
  world.cluster.store.set(ledgerId, { ...stored.metadata, customMetadata: new Map([['by', Buffer.from('repair')]]) }, stored.version + 1);
  t.equal((await run([replacement(0, 'a', 'd')], 3)).outcome, 'stored');
  const { metadata } = world.cluster.store.ledgers.get(ledgerId) ?? stored;
  t.equal(metadata.segments.length, 2);
  t.equal(metadata.customMetadata.size, 1);
});

t.test('ensemble change: reply lost → found stored; a bookie replaced by itself is written for certain', async (t) => {
  const one = await opened();
  one.records.loseWriteReplies = 1;
  t.match(await one.run([replacement(0, 'a', 'd')], 3), { outcome: 'stored', ledger: { version: one.stored.version + 1 } });
  const two = await opened();
  two.records.loseWriteReplies = 1;
  t.match(await two.run([replacement(0, 'a', 'a')], 3), { outcome: 'stored', ledger: { version: two.stored.version + 2 } });
});

t.test('ensemble change: store away → asks until the deadline; stopped → ends', async (t) => {
  const { run, records, stored } = await opened();
  records.isUnavailable = true;
  t.equal((await run([replacement(0, 'a', 'd')], 3)).outcome, 'unavailable');
  const stop = new AbortController();
  stop.abort();
  const second = await opened();
  second.records.isUnavailable = true;
  t.equal((await second.run([replacement(0, 'a', 'd')], 3, stored, stop.signal)).outcome, 'stopped');
});
