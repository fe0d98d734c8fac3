import type { AppendReply, BookieCode, BookieService } from '@daybook/proto';
import { ByteBudget } from '@daybook/runtime';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { makeBatch } from '../testing/batches.js';
import { AppendSession } from './append-session.js';

const identity = { bookieId: 'b1' as never, incarnation: 'i1' };

class World {
  readonly queue = new EventQueue({ seed: 1 });
  readonly sent: AppendReply[] = [];
  readonly pending: ((code: BookieCode) => void)[] = [];
  readonly budget = new ByteBudget(10_000);
  isPaused = false;
  isWritable = true;
  ended: { refusal: string | undefined } | undefined;
  readonly session = new AppendSession({
    service: { append: (_batch, done) => this.pending.push(done) } as Pick<BookieService, 'append'> as BookieService,
    identity,
    clock: new SimClock(this.queue),
    budget: this.budget,
    bytesMax: 1000,
    channel: {
      send: (reply) => {
        this.sent.push(reply);
        return this.isWritable;
      },
      pause: () => {
        this.isPaused = true;
      },
      resume: () => {
        this.isPaused = false;
      },
      end: (refusal) => {
        this.ended = { refusal };
      },
    },
  });

  hello(): void {
    this.session.receive({ kind: 'hello', version: 1, expected: identity });
  }

  batches(firstSequence: number, count: number): number {
    const batches = Array.from({ length: count }, (_, i) => makeBatch({ ledger: 1, first: firstSequence + i, count: 1, bytes: 10 }).bytes);
    this.session.receive({ kind: 'batches', firstSequence, batches });
    return batches.reduce((sum, batch) => sum + batch.length, 0);
  }
}

t.test('append session: batches of one turn → acknowledged as ranges by code, in one message', async (t) => {
  const world = new World();
  world.hello();
  world.batches(0, 3);
  world.batches(3, 2);
  const codes: BookieCode[] = ['OK', 'OK', 'FENCED', 'OK', 'OK'];
  for (const [i, code] of codes.entries()) world.pending[i]?.(code);
  await world.queue.run();
  t.strictSame(world.sent, [
    { kind: 'hello', version: 1, identity, code: 'OK' },
    {
      kind: 'acknowledgements',
      ranges: [
        { first: 0, last: 1, code: 'OK' },
        { first: 2, last: 2, code: 'FENCED' },
        { first: 3, last: 4, code: 'OK' },
      ],
    },
  ]);
});

t.test('append session: meant for other disks, or another version → UNAVAILABLE and the end', async (t) => {
  for (const hello of [
    { version: 1, expected: { ...identity, incarnation: 'i2' } },
    { version: 1, expected: { ...identity, bookieId: 'b2' as never } },
    { version: 2, expected: identity },
  ]) {
    const world = new World();
    world.session.receive({ kind: 'hello', ...hello });
    t.match(world.sent, [{ kind: 'hello', identity, code: 'UNAVAILABLE' }]);
    t.strictSame(world.ended, { refusal: undefined });
    world.batches(0, 1);
    t.equal(world.pending.length, 0);
  }
});

t.test('append session: against the rules → ended with a reason, nothing is appended', async (t) => {
  const early = new World();
  early.batches(0, 1);
  t.match(early.ended?.refusal, /hello/);
  const gap = new World();
  gap.hello();
  gap.batches(1, 1);
  t.match(gap.ended?.refusal, /batch 1 came where 0 was due/);
  const twice = new World();
  twice.hello();
  twice.hello();
  t.match(twice.ended?.refusal, /one hello/);
  t.strictSame(
    [early, gap, twice].map((world) => world.pending.length),
    [0, 0, 0],
  );
});

t.test('append session: malformed batch → BAD_REQUEST for it alone', async (t) => {
  const world = new World();
  world.hello();
  const good = makeBatch({ ledger: 1, first: 0, count: 1 }).bytes;
  world.session.receive({ kind: 'batches', firstSequence: 0, batches: [good, good.subarray(0, 50), good] });
  for (const done of world.pending) done('OK');
  await world.queue.run();
  t.match(world.sent[1], {
    ranges: [
      { first: 1, last: 1, code: 'BAD_REQUEST' },
      { first: 0, code: 'OK' },
      { first: 2, code: 'OK' },
    ],
  });
  t.equal(world.budget.taken, 0);
});

t.test('append session: more unanswered than the bound → not read until half is answered', async (t) => {
  const world = new World();
  world.hello();
  const bytes = world.batches(0, 12);
  t.ok(bytes > 1000);
  t.ok(world.isPaused);
  t.equal(world.budget.taken, bytes);
  for (let i = 0; i < 12 && world.isPaused; i++) world.pending[i]?.('OK');
  t.notOk(world.isPaused);
  t.ok(world.budget.taken <= 500 && world.budget.taken > 0);
});

t.test('append session: budget of all connections used up, or a client that does not read → paused until that is over', async (t) => {
  const world = new World();
  world.budget.take(10_000);
  world.hello();
  world.batches(0, 1);
  t.ok(world.isPaused);
  world.pending[0]?.('OK');
  t.ok(world.isPaused, 'others still hold it');
  world.budget.release(5000);
  t.notOk(world.isPaused);
  world.isWritable = false;
  await world.queue.run();
  world.batches(1, 1);
  t.ok(world.isPaused, 'the acknowledgement is stuck');
  world.pending[1]?.('OK');
  t.ok(world.isPaused);
  world.session.drained();
  t.notOk(world.isPaused);
});

t.test('append session: stream gone → budget is given back when the appends are done', async (t) => {
  const world = new World();
  world.hello();
  world.batches(0, 2);
  world.session.closed();
  t.ok(world.budget.taken > 0);
  for (const done of world.pending) done('OK');
  await world.queue.run();
  t.equal(world.budget.taken, 0);
  t.equal(world.sent.length, 1);
});
