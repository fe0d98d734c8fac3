import fc from 'fast-check';
import t from 'tap';
import { AppendQueue } from './append-queue.js';
import { EntryCache } from './entry-cache.js';

const clock = {
  wallMs: () => 0,
  monoMs: () => 0,
  after: () => ({ cancel: () => undefined }),
  endOfTurn: () => undefined,
  sleep: async () => undefined,
};

function filled(cache: EntryCache, queue: AppendQueue, texts: readonly string[]): void {
  for (const text of texts) {
    const bytes = Buffer.from(text);
    queue.add(cache.copy(bytes), cache.lastOffset, bytes.length);
  }
}

type Step = { kind: 'add' | 'push' | 'confirm' | 'age'; count: number } | { kind: 'ledger-ends' };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('add' as const, 'push' as const, 'confirm' as const, 'age' as const), count: fc.nat(5) }),
  fc.record({ kind: fc.constant('ledger-ends' as const) }),
);

t.test('append queue: any mix of pushes, confirmations, ends of ledgers and time-outs → each append answered once, in order', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const cache = new EntryCache({ clock, bytesMax: 1 << 20, ageMaxMs: 1000 });
      const queue = new AppendQueue();
      let added = 0;
      let answered = 0;
      let nowMs = 0;
      const ageOf: number[] = [];
      /** What the present ledger holds, and what it has confirmed. */
      let pushed: string[] = [];
      let confirmed = 0;
      for (const one of steps) {
        if (one.kind === 'add') {
          for (let i = 0; i < one.count; i++) {
            ageOf.push(nowMs);
            filled(cache, queue, [`m${added++}`]);
          }
        } else if (one.kind === 'push') {
          for (let i = 0; i < one.count && queue.waitingCount > 0; i++) {
            pushed.push(queue.nextWaiting().toString());
            queue.markPushed();
          }
        } else if (one.kind === 'confirm') {
          const count = Math.min(one.count, queue.pushedCount);
          const seen: string[] = [];
          const { failedBefore } = queue.confirm(count, (slab, offset, length) => seen.push(slab.bytes.toString('utf8', offset, offset + length)));
          t.same(seen, pushed.slice(confirmed, confirmed + count), 'what was pushed is what is confirmed');
          confirmed += count;
          for (const text of seen.slice(failedBefore)) t.equal(text, `m${answered++}`, 'answered in order');
        } else if (one.kind === 'age') {
          nowMs += one.count;
          const { count } = queue.failOlder(nowMs, 8);
          for (let i = 0; i < count; i++) t.ok(nowMs - (ageOf[answered++] as number) >= 8, 'never failed early');
        } else {
          queue.requeue();
          pushed = [];
          confirmed = 0;
        }
        t.equal(queue.unansweredCount, added - answered);
      }
      const rest: string[] = [];
      queue.requeue();
      while (queue.waitingCount > 0) {
        rest.push(queue.nextWaiting().toString());
        queue.markPushed();
        queue.confirm(1, () => undefined);
      }
      t.same(
        rest,
        Array.from({ length: added - answered }, (_, i) => `m${answered + i}`),
        'the rest is there, in order',
      );
      t.equal(queue.bytes, 0);
    }),
    { numRuns: 300 },
  );
});

t.test('append queue: empty again after a burst → holds nothing', async () => {
  const cache = new EntryCache({ clock, bytesMax: 1 << 20, ageMaxMs: 1000 });
  const queue = new AppendQueue();
  filled(
    cache,
    queue,
    Array.from({ length: 5000 }, (_, i) => `m${i}`),
  );
  t.equal(queue.failAll().count, 5000);
  t.same([queue.count, queue.bytes, queue.pushedCount], [0, 0, 0]);
});
