import t from 'tap';
import { ReadCache } from './read-cache.js';

const span = (ledgerId: number, firstEntryId: number, bytes = 20) => ({
  ledgerId,
  firstEntryId,
  positions: Uint32Array.of(100, 100 + bytes / 2, 100 + bytes),
  bytes: Buffer.alloc(bytes, firstEntryId),
});

t.test('read cache: spans of a ledger → each record found; others not', async (t) => {
  const cache = new ReadCache(10_000);
  cache.add(span(1, 0));
  cache.add(span(1, 10));
  t.ok(cache.find(1, 1)?.equals(Buffer.alloc(10, 0)));
  t.ok(cache.find(1, 10)?.equals(Buffer.alloc(10, 10)));
  for (const [ledger, entry] of [
    [1, 2],
    [1, 12],
    [2, 0],
  ] as const) {
    t.equal(cache.find(ledger, entry), undefined, `entry ${entry} of ${ledger}`);
  }
  t.strictSame([cache.hits, cache.misses], [2, 3]);
});

t.test('read cache: over its bound → the span used longest ago goes; one larger than all is not kept', async (t) => {
  const cache = new ReadCache(1000);
  for (let i = 0; i < 5; i++) cache.add(span(i, 0, 100));
  t.ok(cache.bytes <= 1000);
  t.equal(cache.find(0, 0), undefined);
  t.ok(cache.find(4, 0));
  cache.add(span(9, 0, 5000));
  t.equal(cache.find(9, 0), undefined);
});

t.test('read cache: ledger forgotten → found no more, nor taken for read one after another; others stay', async (t) => {
  const cache = new ReadCache(10_000);
  cache.add(span(1, 0));
  cache.add(span(2, 0));
  cache.noteRead(1, 5);
  t.ok(cache.isSequential(1, 6));
  cache.forget(1);
  t.equal(cache.find(1, 0), undefined);
  t.notOk(cache.isSequential(1, 6));
  t.ok(cache.find(2, 0));
});
