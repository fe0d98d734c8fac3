import t from 'tap';
import { BatchQueue, type PendingBatch } from './batch-queue.js';

const batch = (number: number): PendingBatch => ({ number, firstEntryId: number, lastEntryId: number, bytes: 1, lengthUpTo: 1, builtAtMs: 0 });

t.test('batch queue: numbers stay valid while the front moves on, far beyond its inner array', async (t) => {
  const queue = new BatchQueue<PendingBatch>();
  for (let number = 0; number < 1_000; number++) {
    queue.push(batch(number));
    if (number >= 10) queue.dropFirst();
    t.equal(queue.get(number)?.number, number);
    if (number > 10) t.equal(queue.get(number - 11), undefined);
  }
  t.equal(queue.firstNumber, 990);
  t.equal(queue.nextNumber, 1_000);
  t.equal(queue.count, 10);
  queue.clear();
  t.equal(queue.count, 0);
  t.equal(queue.nextNumber, 1_000, 'numbers go on');
});

t.test('batch queue: a gap in the numbers is a bug', async (t) => {
  const queue = new BatchQueue<PendingBatch>();
  t.throws(() => queue.push(batch(1)));
});
