import type { BookieId, EntryId, LedgerMetadata } from '@daybook/proto';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { metadataOf } from '../testing/sim-ledgers.js';
import { lacksOwnEntries } from './own-entries.js';

const names = ['a', 'b', 'c', 'd', 'e'] as BookieId[];

/** Entry by entry, from the rule: entry e lies on the indexes (e + i) mod E for i below Qw. */
function expected(metadata: LedgerMetadata, bookieId: BookieId, held: ReadonlySet<number>): boolean {
  const end = metadata.state === 'CLOSED' ? metadata.lastEntryId : (metadata.segments.at(-1)?.firstEntryId ?? 0) - 1;
  for (let entry = 0; entry <= end; entry++) {
    const segment = metadata.segments.findLast(({ firstEntryId }) => firstEntryId <= entry);
    for (let i = 0; i < metadata.writeQuorumSize; i++) {
      if (segment?.ensemble[(entry + i) % metadata.ensembleSize] === bookieId && !held.has(entry)) return true;
    }
  }
  return false;
}

t.test('own entries: any ledger, any runs → as entry by entry', async (t) => {
  const random = new SimRandom('own entries');
  const below = (n: number) => random.u32() % n;
  for (let round = 0; round < 3_000; round++) {
    const ensembleSize = 1 + below(4);
    const segments = [0, 1 + below(8), 9 + below(8)].slice(0, 1 + below(3)).map((firstEntryId) => {
      const from = below(5);
      return { firstEntryId: firstEntryId as EntryId, ensemble: Array.from({ length: ensembleSize }, (_, i) => names[(from + i) % 5] as BookieId) };
    });
    const last = segments.at(-1)?.firstEntryId ?? 0;
    const sizes = { ensembleSize, writeQuorumSize: 1 + below(ensembleSize), segments };
    const isClosed = below(3) > 0;
    const metadata: LedgerMetadata = {
      ...metadataOf([]),
      ...sizes,
      ...(isClosed && { state: 'CLOSED', lastEntryId: (last - 1 + below(8)) as EntryId }),
    };
    const held = new Set(Array.from({ length: 30 }, (_, i) => i).filter(() => below(10) > 0));
    const runs: { first: number; last: number }[] = [];
    for (const id of [...held].sort((a, b) => a - b)) {
      const run = runs.at(-1);
      if (run?.last === id - 1) run.last = id;
      else runs.push({ first: id, last: id });
    }
    const got = lacksOwnEntries(metadata, 'a' as BookieId, runs);
    if (got !== expected(metadata, 'a' as BookieId, held)) t.same([metadata, runs], [], `round ${round}: ${got}`);
  }
});
