import type { EntryId } from '@daybook/proto';
import t from 'tap';
import { readRange } from './range-read.js';
import { ledgerOptions, numbered, password, pushAll, readTexts, SimWorld } from './testing/sim-world.js';

const e3 = ledgerOptions(3, 3, 2);
const id = (n: number) => n as EntryId;

/** Answers when it is told to, with at most `most` entries. */
class Source {
  readonly open: { first: number; last: number; number: number; answer(): void; fail(error: Error): void }[] = [];
  openMax = 0;
  readonly most: number;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.most = most;
  }

  readonly readPart = (first: EntryId, last: EntryId, number: number) =>
    new Promise<number[]>((resolve, reject) => {
      const entries = Array.from({ length: Math.min(this.most, last - first + 1) }, (_, i) => first + i);
      const end = (task: () => void) => {
        this.open.splice(this.open.indexOf(request), 1);
        task();
      };
      const request = { first, last, number, answer: () => end(() => resolve(entries)), fail: (error: Error) => end(() => reject(error)) };
      this.open.push(request);
      this.openMax = Math.max(this.openMax, this.open.length);
    });
}

async function turn(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

const sizes = { batchBytes: 1 << 20, aheadBytes: 4 << 20 };

t.test('range read: large range → several requests on their way, answers in any order, entries in theirs', async (t) => {
  const source = new Source();
  const read = readRange({ ...sizes, first: id(5), last: id(1004), entryBytes: 1056, readPart: source.readPart });
  await turn();
  t.same(
    source.open.map(({ first, number }) => [first, number]),
    [
      [5, 0],
      [255, 1],
      [505, 2],
      [755, 3],
    ],
    'a quarter each',
  );
  while (source.open.length > 0) {
    source.open.at(-1)?.answer();
    await turn();
  }
  t.same(
    await read,
    Array.from({ length: 1000 }, (_, i) => 5 + i),
  );
});

t.test('range read: bytes on their way are bounded; small ranges are one request', async (t) => {
  const source = new Source();
  const read = readRange({ ...sizes, first: id(0), last: id(99_999), entryBytes: 1024, readPart: source.readPart });
  for (let i = 0; i < 1000; i++) {
    await turn();
    source.open[0]?.answer();
  }
  t.equal((await read).length, 100_000);
  t.equal(source.openMax, 4);
  const small = new Source();
  const one = readRange({ ...sizes, first: id(0), last: id(99), entryBytes: 1024, readPart: small.readPart });
  await turn();
  t.equal(small.open.length, 1);
  small.open[0]?.answer();
  await one;
});

t.test('range read: size not known → the first request tells; entries larger than expected → asked on', async (t) => {
  const source = new Source(3);
  const read = readRange({ ...sizes, first: id(0), last: id(9), entryBytes: undefined, readPart: source.readPart });
  await turn();
  t.equal(source.open.length, 1);
  while (source.open.length > 0) {
    source.open[0]?.answer();
    await turn();
  }
  t.same(await read, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

t.test('range read: one request fails → that error, when nothing is on its way any more; nothing new is asked', async (t) => {
  const source = new Source();
  const read = readRange({ ...sizes, first: id(0), last: id(9_999), entryBytes: 1024, readPart: source.readPart });
  let isSettled = false;
  const failed = read
    .catch((error: Error) => error.message)
    .finally(() => {
      isSettled = true;
    });
  await turn();
  source.open[2]?.fail(new Error('no'));
  await turn();
  t.notOk(isSettled);
  const openCount = source.open.length;
  while (source.open.length > 0) source.open[0]?.answer();
  await turn();
  t.equal(openCount, 3);
  t.equal(source.open.length, 0);
  t.equal(await failed, 'no');
});

t.test('ledger reader: range over segments and replicas that come and go → whole, in order', async (t) => {
  const world = new SimWorld({ bookiesCount: 5, delayMs: 2 });
  const { client } = world.cluster.connect({ options: { readBatchBytes: 600, readAheadBytes: 2_400 } });
  const writer = await world.run(client.create(e3));
  for (let i = 0; i < 10; i++) {
    if (i === 5) world.cluster.kill(writer.metadata.segments[0]?.ensemble[0] as string);
    pushAll(writer, numbered(30, 30 * i));
    await world.runFor(50);
  }
  const open = await world.run(client.openWithoutRecovery(writer.ledgerId, { password }));
  t.same(await world.run(readTexts(open, 0, 200)), numbered(201));
  await world.run(writer.close());
  const reader = await world.run(client.openWithRecovery(writer.ledgerId, { password }));
  const reading = world.run(readTexts(reader));
  world.cluster.bookie(writer.metadata.segments.at(-1)?.ensemble[1] as string).stall();
  t.same(await reading, numbered(300));
});
