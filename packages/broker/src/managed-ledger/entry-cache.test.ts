import type { EntryId, LedgerId } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { EntryCache } from './entry-cache.js';
import { TailCache } from './tail-cache.js';

const ledgerId = 7 as LedgerId;
const everything = { entriesMax: 1000, bytesMax: 1 << 30 };

function put(cache: EntryCache, tail: TailCache, at: number, payload: Buffer, ledger = ledgerId): void {
  const slab = cache.copy(payload);
  tail.add({ ledgerId: ledger, entryId: at, slab, offset: cache.lastOffset, length: payload.length });
}

function texts(tail: TailCache, first: number, limits = everything, ledger = ledgerId): string[] | undefined {
  return tail.read(ledger, first as EntryId, limits)?.map(({ payload }) => payload.toString());
}

t.test('tail cache: entries of several ledgers → runs from any of them, within the limits', async () => {
  const { clock } = { clock: new SimClock(new EventQueue({ seed: 1 })) };
  const cache = new EntryCache({ clock, bytesMax: 1 << 20, ageMaxMs: 1000 });
  const tail = new TailCache();
  for (let i = 3; i < 8; i++) put(cache, tail, i, Buffer.from(`a${i}`));
  for (let i = 0; i < 2; i++) put(cache, tail, i, Buffer.from(`b${i}`), 9 as LedgerId);
  t.same(texts(tail, 3), ['a3', 'a4', 'a5', 'a6', 'a7']);
  t.same(texts(tail, 6), ['a6', 'a7']);
  t.same(texts(tail, 4, { entriesMax: 2, bytesMax: 100 }), ['a4', 'a5']);
  t.same(texts(tail, 4, { entriesMax: 9, bytesMax: 1 }), ['a4'], 'at least one');
  t.equal(texts(tail, 2), undefined);
  t.equal(texts(tail, 8), undefined);
  t.same(texts(tail, 1, everything, 9 as LedgerId), ['b1']);
  tail.dropBefore(9 as LedgerId);
  t.equal(texts(tail, 7), undefined);
  t.same(texts(tail, 0, everything, 9 as LedgerId), ['b0', 'b1']);
});

t.test('entry cache: more than its bytes → the oldest go, of all logs; views already given stay right', async () => {
  const clock = new SimClock(new EventQueue({ seed: 1 }));
  const cache = new EntryCache({ clock, bytesMax: 4 * 64 * 1024, ageMaxMs: 1000 });
  const [one, two] = [new TailCache(), new TailCache()];
  put(cache, one, 0, Buffer.alloc(1000, 1));
  const [kept] = one.read(ledgerId, 0 as EntryId, everything) ?? [];
  for (let i = 0; i < 400; i++) put(cache, two, i, Buffer.alloc(1000, 2));
  t.ok(cache.bytes <= 4 * 64 * 1024);
  t.equal(one.count, 0, 'the log that wrote first holds nothing any more');
  t.equal(texts(two, 0), undefined);
  t.ok((texts(two, 399) ?? []).length === 1);
  t.same(kept?.payload, Buffer.alloc(1000, 1));
});

t.test('entry cache: nothing written for longer than the age → holds nothing', async () => {
  const queue = new EventQueue({ seed: 1 });
  const cache = new EntryCache({ clock: new SimClock(queue), bytesMax: 1 << 20, ageMaxMs: 1000 });
  const tail = new TailCache();
  put(cache, tail, 0, Buffer.from('x'));
  for (let i = 0; i < 3; i++) {
    cache.sweep();
    await queue.runFor(900);
  }
  t.equal(cache.bytes, 0);
  t.equal(tail.count, 0);
});

t.test('entry cache: a payload larger than a slab → one of its own', async () => {
  const cache = new EntryCache({ clock: new SimClock(new EventQueue({ seed: 1 })), bytesMax: 8 << 20, ageMaxMs: 1000 });
  const tail = new TailCache();
  put(cache, tail, 0, Buffer.alloc(5 << 20, 3));
  put(cache, tail, 1, Buffer.from('y'));
  t.equal(tail.read(ledgerId, 0 as EntryId, everything)?.length, 2);
});
