import fc from 'fast-check';
import t from 'tap';
import { storesEntry } from './distribution.js';
import { QuorumAcks } from './quorum-acks.js';
import { allQuorumSizes } from './testing/quorum-sizes.js';

t.test('quorum acks: confirmedUpTo agrees with counting entry by entry', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...allQuorumSizes),
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
