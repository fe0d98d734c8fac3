import fc from 'fast-check';
import t from 'tap';
import { entryOf, makeBatch } from '../testing/batches.js';
import { WriteCache } from './write-cache.js';

const found = (cache: WriteCache, ledger: number, entry: number): Buffer | undefined => {
  const hit = cache.find(ledger, entry);
  return hit && Buffer.from(hit.bytes.subarray(hit.start, hit.end));
};

t.test('write cache: batches of several ledgers, in and out of order, with holes → each entry found, visited once in order', async () => {
  const batches = fc.array(
    fc.record({ ledger: fc.nat(3), first: fc.nat(50), count: fc.integer({ min: 1, max: 12 }), step: fc.integer({ min: 1, max: 3 }) }),
  );
  fc.assert(
    fc.property(batches, (all) => {
      const cache = new WriteCache(1 << 20);
      const expected = new Map<number, Set<number>>();
      for (const options of all) {
        cache.add(options.ledger, makeBatch(options).bytes);
        const ids = expected.get(options.ledger) ?? new Set();
        for (let i = 0; i < options.count; i++) ids.add(options.first + i * options.step);
        expected.set(options.ledger, ids);
      }
      for (let ledger = 0; ledger < 4; ledger++) {
        const ids = [...(expected.get(ledger) ?? [])].sort((a, b) => a - b);
        if (cache.lastId(ledger) !== (ids.at(-1) ?? -1)) return false;
        const visited: number[] = [];
        cache.halves()[0]?.visit(ledger, (id, bytes, start, end) => {
          visited.push(id);
          if (!bytes.subarray(start, end).equals(entryOf(ledger, id))) throw new Error('another entry');
        });
        if (JSON.stringify(visited) !== JSON.stringify(ids)) return false;
        for (let id = 0; id < 90; id++) {
          const entry = found(cache, ledger, id);
          if ((entry !== undefined) !== ids.includes(id)) return false;
          if (entry !== undefined && !entry.equals(entryOf(ledger, id))) return false;
        }
      }
      return true;
    }),
    { numRuns: 60 },
  );
});

t.test('write cache: bounded → no room when a half is full; swapped → room again, the old half still readable until dropped', async (t) => {
  const cache = new WriteCache(20_000);
  let next = 0;
  for (;;) {
    const { bytes } = makeBatch({ ledger: 1, first: next, count: 4, bytes: 200 });
    if (!cache.hasRoomFor(bytes.length)) break;
    cache.add(1, bytes);
    next += 4;
  }
  t.ok(cache.bytes <= 10_000 && cache.bytes > 8000);
  cache.beginFlush();
  const { bytes } = makeBatch({ ledger: 1, first: next, count: 4, bytes: 200 });
  t.ok(cache.hasRoomFor(bytes.length));
  cache.add(1, bytes);
  t.ok(found(cache, 1, 0)?.equals(entryOf(1, 0, 200)));
  t.ok(found(cache, 1, next)?.equals(entryOf(1, next, 200)));
  t.equal(cache.lastId(1), next + 3);
  const half = cache.beginFlush();
  t.ok(half.entriesCount > 4, 'a flush that failed is begun again with the same half');
  cache.endFlush(false);
  t.equal(found(cache, 1, 0), undefined);
  t.ok(found(cache, 1, next));
});

t.test('write cache: batch larger than a chunk → kept', async (t) => {
  const cache = new WriteCache(16 << 20);
  for (const first of [0, 1, 2]) cache.add(1, makeBatch({ ledger: 1, first, count: 1, bytes: first === 1 ? 3 << 20 : 100 }).bytes);
  for (const id of [0, 1, 2]) t.ok(found(cache, 1, id)?.equals(entryOf(1, id, id === 1 ? 3 << 20 : 100)));
});

t.test('write cache: ledger forgotten → found and flushed no more, in neither half; what is added later is', async (t) => {
  const cache = new WriteCache(1 << 20);
  cache.add(1, makeBatch({ ledger: 1, first: 0, count: 2 }).bytes);
  cache.add(2, makeBatch({ ledger: 2, first: 0, count: 2 }).bytes);
  const flushing = cache.beginFlush();
  cache.add(1, makeBatch({ ledger: 1, first: 2, count: 2 }).bytes);
  cache.forget(1);
  for (let id = 0; id < 4; id++) t.equal(found(cache, 1, id), undefined, `entry ${id}`);
  t.equal(cache.lastId(1), -1);
  t.strictSame([...flushing.ledgerIds()], [2]);
  t.ok(found(cache, 2, 1)?.equals(entryOf(2, 1)), 'others are untouched');
  cache.add(1, makeBatch({ ledger: 1, first: 7, count: 1 }).bytes);
  t.ok(found(cache, 1, 7)?.equals(entryOf(1, 7)));
  t.equal(found(cache, 1, 2), undefined);
});
