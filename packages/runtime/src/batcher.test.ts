import t from 'tap';
import { Batcher, type BatcherOptions } from './batcher.js';
import { SimClock } from './sim/clock.js';
import { EventQueue } from './sim/event-queue.js';

function newBatcher(options: Partial<BatcherOptions<number>> = {}) {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  const log: string[] = [];
  const flush = async (items: number[], bytes: number) => {
    log.push(`${queue.nowMs}: ${items.join()} (${bytes})`);
    await clock.sleep(10);
    if (items.includes(-1)) throw new Error('the disk is gone');
  };
  const onFailure = (error: unknown, items: number[]) => log.push(`${(error as Error).message}: ${items.join()}`);
  const batcher = new Batcher<number>({ clock, flush, onFailure, batchBytesMax: 100, queueBytesMax: 1000, ...options });
  return { queue, clock, log, batcher };
}

t.test('Batcher: items of one turn → one flush; those added meanwhile → the next, in order', async (t) => {
  const { queue, clock, log, batcher } = newBatcher();
  batcher.add(1, 10);
  batcher.add(2, 10);
  clock.after(5, () => {
    batcher.add(3, 10);
    batcher.add(4, 10);
  });
  await queue.run();
  t.same(log, ['0: 1,2 (20)', '10: 3,4 (20)']);
  t.equal(batcher.queuedBytes, 0);
});

t.test('Batcher: more than a batch may hold → several flushes, one at a time; a larger item alone', async (t) => {
  const { queue, log, batcher } = newBatcher();
  for (const [item, bytes] of [60, 40, 1, 150, 10].entries()) batcher.add(item, bytes);
  await queue.run();
  t.same(log, ['0: 0,1 (100)', '10: 2 (1)', '20: 3 (150)', '30: 4 (10)']);
});

t.test('Batcher: delayMs → waits for company from the first item on, not when a batch is full', async (t) => {
  const { queue, clock, log, batcher } = newBatcher({ delayMs: 30 });
  batcher.add(1, 10);
  clock.after(20, () => batcher.add(2, 10));
  clock.after(35, () => batcher.add(3, 10));
  clock.after(100, () => batcher.add(4, 100));
  await queue.run();
  t.same(log, ['30: 1,2 (20)', '65: 3 (10)', '100: 4 (100)']);
});

t.test('Batcher.addAndWait: items of one batch → one promise, settled with its flush', async (t) => {
  const { queue, batcher } = newBatcher();
  const first = batcher.addAndWait(1, 10);
  const second = batcher.addAndWait(2, 10);
  t.equal(first, second);
  const third = batcher.addAndWait(3, 100);
  t.not(third, first);
  await queue.complete(first);
  t.equal(queue.nowMs, 10);
  await queue.complete(third);
  t.equal(queue.nowMs, 20);
});

t.test('Batcher: queue bound reached → FULL, added later → fine; one item on an empty queue is always taken', async (t) => {
  const { queue, batcher } = newBatcher({ queueBytesMax: 50 });
  batcher.add(1, 45);
  t.equal(batcher.isFull, false);
  t.throws(() => batcher.add(2, 10), { code: 'BATCHER_FULL', retry: 'later' });
  await t.rejects(batcher.addAndWait(2, 10), { code: 'BATCHER_FULL' });
  await queue.run();
  batcher.add(3, 500);
  t.equal(batcher.isFull, true);
  await queue.run();
  t.equal(batcher.queuedBytes, 0);
});

t.test('Batcher: a flush fails → it and all behind fail, nothing more is written', async (t) => {
  const { queue, log, batcher } = newBatcher();
  const failed = batcher.addAndWait(-1, 100);
  batcher.add(2, 100);
  failed.catch(() => undefined);
  await queue.run();
  t.same(log, ['0: -1 (100)', 'the disk is gone: -1', 'the disk is gone: 2']);
  await t.rejects(failed, { message: 'the disk is gone' });
  t.throws(() => batcher.add(3, 1), { message: 'the disk is gone' });
  t.equal(batcher.queuedBytes, 0);
  await queue.complete(batcher.close());
});

t.test('Batcher: a flush fails, afterFailure continue → later batches are written', async (t) => {
  const { queue, log, batcher } = newBatcher({ afterFailure: 'continue' });
  batcher.add(-1, 100);
  batcher.add(2, 100);
  await queue.run();
  t.same(log, ['0: -1 (100)', 'the disk is gone: -1', '10: 2 (100)']);
});

t.test('Batcher.close: items waiting → flushed without delay, then resolved; later items → CLOSED', async (t) => {
  const { queue, log, batcher } = newBatcher({ delayMs: 1000 });
  batcher.add(1, 10);
  const closed = batcher.close();
  t.equal(batcher.close(), closed);
  t.throws(() => batcher.add(2, 1), { code: 'BATCHER_CLOSED' });
  await queue.complete(closed);
  t.same(log, ['0: 1 (10)']);
  t.equal(queue.nowMs, 10);
  t.equal(queue.pendingCount, 0);
});

t.test('Batcher: delayMs, next item does not fit → the first batch goes at once, the next keeps its delay', async (t) => {
  const { queue, log, batcher } = newBatcher({ delayMs: 1000 });
  batcher.add(1, 60);
  batcher.add(2, 60);
  await queue.run();
  t.same(log, ['0: 1 (60)', '1000: 2 (60)']);
});
