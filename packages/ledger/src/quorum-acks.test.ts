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

t.test('quorum acks: fault domains asked for → agrees with counting copies and their domains entry by entry', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...allQuorumSizes),
      fc.array(fc.integer({ min: -1, max: 30 }), { minLength: 6, maxLength: 6 }),
      fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 6, maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      (quorum, marks, domains, domainsMin) => {
        const indexes = Array.from({ length: quorum.ensembleSize }, (_, index) => index);
        const isCovered = (entry: number) => {
          const set = indexes.filter((index) => storesEntry(quorum, index, entry));
          const holders = set.filter((index) => (marks[index] as number) >= entry);
          const spanned = new Set(set.map((index) => domains[index])).size;
          return holders.length >= quorum.ackQuorumSize && new Set(holders.map((index) => domains[index])).size >= Math.min(domainsMin, spanned);
        };
        let expected = -1;
        while (expected < 25 && isCovered(expected + 1)) expected++;
        return new QuorumAcks(quorum).confirmedUpTo(marks, -1, 25, { domains, domainsMin }) === expected;
      },
    ),
  );
});
