import { comparePositions, type LedgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { LedgerChain } from './ledger-chain.js';
import { position } from './testing/log-world.js';

const ledgers = fc
  .uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 30 }), entries: fc.integer({ min: 0, max: 5 }) }), {
    selector: ({ id }) => id,
    minLength: 1,
    maxLength: 8,
  })
  .map((list) => list.sort((a, b) => a.id - b.id));
const places = fc.record({ ledger: fc.integer({ min: 0, max: 31 }), entry: fc.integer({ min: -1, max: 7 }) });

function chainOf(list: { id: number; entries: number }[]): LedgerChain {
  return new LedgerChain(list.map(({ id, entries }) => ({ ledgerId: id as LedgerId, entries, bytes: entries * 10, closedAtMs: 1 })));
}

t.test('ledger chain: next, previous, has and countBetween → what a plain list of positions says', async () => {
  fc.assert(
    fc.property(ledgers, places, places, (list, a, b) => {
      const chain = chainOf(list);
      const all = list.flatMap(({ id, entries }) => Array.from({ length: entries }, (_, entry) => position(id, entry)));
      const at = position(a.ledger, a.entry);
      const to = position(b.ledger, b.entry);
      const after = all.find((one) => comparePositions(one, at) > 0);
      const next = chain.next(at);
      if (after !== undefined) t.same(next, after);
      else t.notOk(chain.has(next), 'nothing is there yet');
      t.same(chain.previous(at), all.findLast((one) => comparePositions(one, at) < 0) ?? chain.beforeFirst);
      t.equal(
        chain.has(at),
        all.some((one) => comparePositions(one, at) === 0),
      );
      t.equal(chain.countBetween(at, to), all.filter((one) => comparePositions(one, at) > 0 && comparePositions(one, to) <= 0).length);
      t.same(chain.newest(), all.at(-1) ?? chain.beforeFirst);
      t.equal(chain.entriesCount, all.length);
      t.equal(chain.totalBytes, all.length * 10);
    }),
    { numRuns: 300 },
  );
});

t.test('ledger chain: first ledgers dropped → counts of the rest stay', async () => {
  const chain = chainOf([
    { id: 1, entries: 3 },
    { id: 4, entries: 2 },
    { id: 9, entries: 4 },
  ]);
  chain.dropFirst(1);
  t.equal(chain.entriesCount, 6);
  t.equal(chain.totalBytes, 60);
  t.equal(chain.countBetween(position(1, 0), position(9, 0)), 3, 'what is gone counts as nothing');
  t.same(chain.beforeFirst, position(4, -1));
  chain.grow(2, 7);
  t.equal(chain.countBetween(position(9, 3), position(9, 99)), 2);
  t.equal(chain.totalBytes, 67);
});
