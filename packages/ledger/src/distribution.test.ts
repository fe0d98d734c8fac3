import type { BookieId, EntryId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { storesAnyOf, storesEntry, withEnsembleFrom } from './distribution.js';
import { allQuorumSizes } from './testing/quorum-sizes.js';

t.test('distribution: withEnsembleFrom replaces the last segment when it begins there, else appends; never goes back', async (t) => {
  const names = (...list: string[]) => list as BookieId[];
  const metadata = {
    formatVersion: 3 as const,
    ensembleSize: 2,
    writeQuorumSize: 2,
    ackQuorumSize: 1,
    state: 'OPEN' as const,
    length: 0,
    lastEntryId: -1 as EntryId,
    segments: [{ firstEntryId: 5 as EntryId, ensemble: names('a', 'b') }],
    digestType: 'CRC32C' as const,
    password: Buffer.alloc(0),
    createdAtMs: 0,
    customMetadata: new Map(),
    creationToken: 1n,
  };
  t.same(withEnsembleFrom(metadata, 5 as EntryId, names('a', 'c')).segments, [{ firstEntryId: 5, ensemble: ['a', 'c'] }]);
  t.equal(withEnsembleFrom(metadata, 6 as EntryId, names('a', 'c')).segments.length, 2);
  t.throws(() => withEnsembleFrom(metadata, 4 as EntryId, names('a', 'c')));
  t.throws(() => withEnsembleFrom(metadata, 6 as EntryId, names('a', 'a')), 'one bookie twice');
});

t.test('distribution: storesAnyOf agrees with storesEntry', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...allQuorumSizes), fc.nat(20), fc.nat(12), fc.nat(4), (quorum, first, more, at) => {
      const index = at % quorum.ensembleSize;
      const any = Array.from({ length: more + 1 }, (_, i) => storesEntry(quorum, index, first + i)).some(Boolean);
      return storesAnyOf(quorum, index, first, first + more) === any;
    }),
  );
});
