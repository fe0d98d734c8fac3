import type { EntryId, LedgerId, ReadPart, ReadReply, ReadRequest } from '@daybook/proto';
import { ByteBudget } from '@daybook/runtime';
import t from 'tap';
import { ReadSession } from './read-session.js';

const identity = { bookieId: 'b1' as never, incarnation: 'i1' };
const settled = () => new Promise((resolve) => setImmediate(resolve));

class World {
  readonly sent: ReadPart[] = [];
  readonly unsent: (() => void)[] = [];
  readonly asked: { request: ReadRequest; answer: (reply: ReadReply) => void; fail: (error: Error) => void }[] = [];
  readonly bugs: unknown[] = [];
  readonly budget: ByteBudget;
  readonly session: ReadSession;
  isPaused = false;
  #next = 0;

  constructor({ budgetBytes = 1_000_000, bytesMax = 100_000 } = {}) {
    this.budget = new ByteBudget(budgetBytes);
    this.session = new ReadSession({
      service: { read: (request) => new Promise((answer, fail) => this.asked.push({ request, answer, fail })) },
      identity,
      budget: this.budget,
      bytesMax,
      channel: {
        send: (part, sent) => {
          this.sent.push(part);
          this.unsent.push(sent);
        },
        pause: () => {
          this.isPaused = true;
        },
        resume: () => {
          this.isPaused = false;
        },
      },
      onBug: (error) => this.bugs.push(error),
    });
  }

  read(ledger: number, first: number, count: number, { bytesMax = 10_000, expected = identity } = {}): void {
    const entryIds = Array.from({ length: count }, (_, i) => (first + i) as EntryId);
    this.session.receive({ number: this.#next++, read: { expected, request: { ledgerId: ledger as LedgerId, entryIds, bytesMax } } });
  }

  get begun(): string[] {
    return this.asked.map(({ request }) => `${request.ledgerId}:${request.entryIds[0]}`);
  }

  async answer(index: number, entries: readonly Buffer[], code: ReadReply['code'] = 'OK'): Promise<void> {
    this.asked[index]?.answer({ code, entries });
    await settled();
  }

  handOver(): void {
    for (const sent of this.unsent.splice(0)) sent();
  }
}

t.test('read session: reads of several ledgers → at work at once, answered as they are done, in parts', async (t) => {
  const world = new World();
  world.read(1, 0, 3);
  world.read(2, 0, 1);
  t.same(world.begun, ['1:0', '2:0']);
  await world.answer(1, [], 'NO_LEDGER');
  await world.answer(0, [Buffer.alloc(60_000), Buffer.alloc(60_000), Buffer.alloc(10)]);
  t.same(
    world.sent.map(({ number, isLast, code, entries }) => [number, isLast, code, entries.length]),
    [
      [1, true, 'NO_LEDGER', 0],
      [0, false, 'OK', 1],
      [0, true, 'OK', 2],
    ],
  );
  world.handOver();
  t.equal(world.budget.taken, 0);
});

t.test('read session: a read that goes on where others end → waits for those, whatever waits itself', async (t) => {
  const world = new World();
  world.read(1, 0, 10);
  world.read(1, 10, 10);
  world.read(1, 20, 10);
  world.read(1, 50, 1);
  world.read(2, 10, 10);
  t.same(world.begun, ['1:0', '1:50', '2:10']);
  await world.answer(0, [Buffer.alloc(1)]);
  t.same(world.begun.slice(3), ['1:10'], 'begun before the first reply was sent');
  await world.answer(3, [Buffer.alloc(1)]);
  t.same(world.begun.slice(4), ['1:20']);
});

t.test('read session: client does not take its replies → no more than the bound is held for it; then its requests stay in its socket', async (t) => {
  const world = new World({ bytesMax: 30_000 });
  for (let i = 0; i < 300; i++) world.read(i, 0, 1);
  t.equal(world.asked.length, 3);
  t.equal(world.budget.taken, 30_000);
  t.ok(world.isPaused);
  for (let i = 0; i < 3; i++) await world.answer(i, [Buffer.alloc(5)]);
  t.equal(world.asked.length, 3, 'not sent yet');
  for (let i = 0; i < 300; i++) {
    world.handOver();
    await world.answer(world.asked.length - 1, [Buffer.alloc(5)]);
    for (const [index] of world.asked.entries()) await world.answer(index, [Buffer.alloc(5)]);
    if (!world.isPaused) break;
  }
  t.notOk(world.isPaused, 'read again when half of them have begun');
});

t.test('read session: no room because of other connections → waits for it', async (t) => {
  const world = new World({ budgetBytes: 15_000 });
  world.budget.take(10_000);
  world.read(1, 0, 1);
  t.equal(world.asked.length, 0);
  world.budget.release(10_000);
  t.equal(world.asked.length, 1);
  t.equal(world.budget.taken, 10_000);
});

t.test('read session: meant for other disks → UNAVAILABLE without a look at these (P6)', async (t) => {
  const world = new World();
  world.read(1, 0, 1, { expected: { ...identity, incarnation: 'i2' } });
  await settled();
  t.equal(world.asked.length, 0);
  t.match(world.sent, [{ number: 0, isLast: true, code: 'UNAVAILABLE', entries: [] }]);
});

t.test('read session: stream gone → all room is given back, that of reads under way when they are done', async (t) => {
  const world = new World({ budgetBytes: 30_000 });
  for (let i = 0; i < 5; i++) world.read(i, 0, 1);
  t.equal(world.asked.length, 3, 'two wait for room');
  await world.answer(0, [Buffer.alloc(1)]);
  world.session.closed();
  t.equal(world.budget.taken, 20_000);
  world.handOver();
  await world.answer(1, [Buffer.alloc(1)]);
  await world.answer(2, [Buffer.alloc(1)]);
  t.equal(world.budget.taken, 0);
  t.equal(world.sent.length, 1);
  t.equal(world.asked.length, 3);
});

t.test('read session: the bookie breaks an invariant → told to whoever stops the process', async (t) => {
  const world = new World();
  world.read(1, 0, 1);
  world.asked[0]?.fail(new Error('broken'));
  await settled();
  t.match(world.bugs, [{ message: 'broken' }]);
});
