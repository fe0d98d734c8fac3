import type { LedgerId } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import fc from 'fast-check';
import t from 'tap';
import { AckSet } from './ack-set.js';
import { decodeCursorStatePart, encodeCursorState } from './cursor-state-format.js';
import { LedgerChain } from './ledger-chain.js';
import { position } from './testing/log-world.js';

const chain = new LedgerChain([
  { ledgerId: 14 as LedgerId, entries: 200_000, bytes: 0, closedAtMs: 1 },
  { ledgerId: 15 as LedgerId, entries: 200_000, bytes: 0, closedAtMs: 0 },
]);

function acksOf(mark: number, entries: Iterable<number>, ledgerId = 14): AckSet {
  const acks = new AckSet(chain, position(14, mark));
  for (const entry of entries) acks.add(position(ledgerId, entry));
  return acks;
}

function restored(entries: readonly Buffer[]): AckSet {
  const parts = entries.map(decodeCursorStatePart);
  const acks = new AckSet(chain, parts[0]?.state.markDelete ?? position(14, -1));
  for (const { state, words } of parts) {
    for (const { lower, upper } of state.individuallyDeleted) acks.restoreRange(lower.ledgerId, lower.entryId + 1, upper.entryId);
    for (const { ledgerId, wordIndex, word } of words) acks.restoreWord(ledgerId, wordIndex, word);
  }
  acks.settle();
  return acks;
}

t.test('cursor state: what a Pulsar broker stored for the same acknowledgements → the same bytes', async () => {
  const acks = acksOf(2, [5, 6, 9, 13, 14, 15, 16]);
  const expected = '080e10021a0c0a04080e10041204080e10061a0c0a04080e10081204080e10091a0c0a04080e100c1204080e1010';
  t.same(
    encodeCursorState(acks, new Map(), 1000).map((entry) => entry.toString('hex')),
    [expected],
  );
  t.same(restored([Buffer.from(expected, 'hex')]).ranges(), acks.ranges());
});

t.test('cursor state: any acknowledgements and any entry size → the same after reading', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4000 }),
      fc.array(fc.record({ ledger: fc.constantFrom(14, 15), entry: fc.nat(199_999), step: fc.integer({ min: 1, max: 40 }), count: fc.nat(1200) }), {
        maxLength: 4,
      }),
      fc.integer({ min: 500, max: 20_000 }),
      (mark, runs, bytesMax) => {
        const acks = new AckSet(chain, position(14, mark));
        for (const { ledger, entry, step, count } of runs) for (let i = 0; i < count; i++) acks.add(position(ledger, entry + i * step));
        const properties = new Map([['producer-one', -5n]]);
        const entries = encodeCursorState(acks, properties, bytesMax);
        const again = restored(entries);
        t.same(again.mark, acks.mark);
        t.equal(again.aboveCount, acks.aboveCount);
        t.same(again.ranges(), acks.ranges());
        for (const [part, entry] of entries.entries()) {
          const decoded = decodeCursorStatePart(entry);
          t.same([decoded.part, decoded.partsCount], [part, entries.length]);
          t.same(decoded.state.properties, [{ name: 'producer-one', value: -5n }]);
        }
      },
    ),
    { numRuns: 60 },
  );
});

t.test('cursor state: 100,000 single acknowledgements → some kilobytes; with a small limit several parts within it', async () => {
  const acks = acksOf(
    0,
    (function* () {
      for (let entry = 2; entry < 200_000; entry += 2) yield entry;
    })(),
  );
  const [whole, ...more] = encodeCursorState(acks, new Map(), 4 * 1024 * 1024);
  t.same(more, []);
  t.ok((whole as Buffer).length < 40_000, `${whole?.length} bytes`);
  const parts = encodeCursorState(acks, new Map(), 10_000);
  t.ok(parts.length > 1);
  for (const part of parts) t.ok(part.length <= 10_100, `${part.length} bytes`);
  t.equal(restored(parts).aboveCount, acks.aboveCount);
});

t.test('cursor state: cut anywhere or with a flipped byte → an error or some state, never a crash', async () => {
  const acks = acksOf(
    0,
    (function* () {
      for (let entry = 2; entry < 4_000; entry += 2) yield entry;
    })(),
  );
  for (const [entry] of [encodeCursorState(acks, new Map([['a', 1n]]), 100_000), encodeCursorState(acksOf(2, [5, 9]), new Map(), 1000)]) {
    const bytes = entry as Buffer;
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] as number) ^ 0xff;
      for (const damaged of [bytes.subarray(0, at), flipped]) {
        try {
          decodeCursorStatePart(damaged);
        } catch (error) {
          if (!(error instanceof DaybookError)) t.fail(`at ${at}: ${(error as Error).stack}`);
        }
      }
    }
  }
});
