import type { EntryId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { storesEntry, writeSet } from './distribution.js';
import { canReachAckQuorum, isCovered, negativesNeeded } from './quorum.js';
import { allQuorumSizes } from './testing/quorum-sizes.js';

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

t.test('quorum arithmetic: canReachAckQuorum agrees with counting per entry', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...allQuorumSizes), fc.nat(31), (quorum, bits) => {
      const live = Array.from({ length: quorum.ensembleSize }, (_, index) => ((bits >> index) & 1) === 1);
      let expected = true;
      for (let entry = 0; entry < quorum.ensembleSize; entry++) {
        const reachable = live.filter((isLive, index) => isLive && storesEntry(quorum, index, entry)).length;
        if (reachable < quorum.ackQuorumSize) expected = false;
      }
      return canReachAckQuorum(quorum, live) === expected;
    }),
  );
});
