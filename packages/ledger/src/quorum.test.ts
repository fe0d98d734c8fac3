import type { BookieId, EntryId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { storesEntry, withEnsembleFrom, writeSet } from './distribution.js';
import { isCovered, negativesNeeded, type QuorumSizes } from './quorum.js';
import { QuorumAcks } from './quorum-acks.js';

const e4 = { ensembleSize: 4, writeQuorumSize: 3, ackQuorumSize: 2 };

t.test('quorum: the worked example of the reference, E4 Qw3 Qa2', async (t) => {
  t.same(
    [0, 1, 2, 3, 4].map((entry) => writeSet(e4, entry as EntryId)),
    [
      [0, 1, 2],
      [1, 2, 3],
      [2, 3, 0],
      [3, 0, 1],
      [0, 1, 2],
    ],
  );
  t.equal(negativesNeeded(e4), 2);
  t.ok(isCovered(e4, [true, true, true, false]));
  t.notOk(isCovered(e4, [true, false, true, false]), 'two silent ones share a write set');
});

const sizes = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }))
  .map((three) => three.sort((a, b) => b - a))
  .map(([ensembleSize, writeQuorumSize, ackQuorumSize]) => ({ ensembleSize, writeQuorumSize, ackQuorumSize }) as QuorumSizes);

t.test('quorum acks: confirmedUpTo agrees with counting entry by entry', async () => {
  fc.assert(
    fc.property(
      sizes,
      fc.array(fc.integer({ min: -1, max: 30 }), { minLength: 6, maxLength: 6 }),
      fc.integer({ min: -1, max: 20 }),
      (quorum, marks, lac) => {
        let expected = lac;
        const holds = (entry: number) =>
          marks.filter((mark, index) => index < quorum.ensembleSize && storesEntry(quorum, index, entry) && mark >= entry).length;
        while (expected < 25 && holds(expected + 1) >= quorum.ackQuorumSize) expected++;
        return new QuorumAcks(quorum).confirmedUpTo(marks, lac, 25) === expected;
      },
    ),
  );
});

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
