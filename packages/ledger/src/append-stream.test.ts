import {
  AppendBatchBuilder,
  type AppendReply,
  type AppendRequest,
  type BookieCode,
  bookieId,
  createDigest,
  type EntryId,
  type LedgerId,
} from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { AppendStream, type AppendTransportEvents } from './append-stream.js';

const expected = { bookieId: bookieId('b1'), incarnation: 'disks-1' };
const hello: AppendReply = { kind: 'hello', version: 1, identity: expected, code: 'OK' };

function batchOf(payloadBytes: number) {
  const builder = new AppendBatchBuilder({
    ledgerId: 7 as LedgerId,
    masterKey: Buffer.alloc(20),
    isRecovery: false,
    digest: createDigest('DUMMY', Buffer.alloc(0)),
  });
  builder.add(0 as EntryId, -1 as EntryId, payloadBytes, Buffer.alloc(payloadBytes));
  return builder.finish();
}

/** A stream whose other end is the test. */
class Rig {
  readonly queue = new EventQueue({ seed: 1 });
  readonly clock = new SimClock(this.queue);
  readonly opened: { events: AppendTransportEvents; written: AppendRequest[]; isCancelled: boolean }[] = [];
  readonly answers: string[] = [];
  isBlocking = false;
  readonly stream = new AppendStream({
    clock: this.clock,
    expected,
    outstandingBytesMax: 1_000_000,
    timeoutMs: 5_000,
    open: (events) => {
      const transport = { events, written: [] as AppendRequest[], isCancelled: false };
      this.opened.push(transport);
      return {
        write: (request) => {
          transport.written.push(request);
          return !this.isBlocking;
        },
        cancel: () => {
          transport.isCancelled = true;
        },
      };
    },
  });

  append(name: string, payloadBytes = 100): void {
    this.stream.append(batchOf(payloadBytes), (code: BookieCode) => this.answers.push(`${name} ${code}`));
  }

  reply(reply: AppendReply): void {
    this.opened.at(-1)?.events.reply(reply);
  }

  acknowledge(first: number, last: number, code: BookieCode = 'OK'): void {
    this.reply({ kind: 'acknowledgements', ranges: [{ first, last, code }] });
  }

  get batchesPerMessage(): number[] {
    return (this.opened.at(-1)?.written ?? []).flatMap((request) => (request.kind === 'batches' ? [request.batches.length] : []));
  }
}

t.test('append stream: one turn → hello, then few messages of up to 256 KiB, numbered from 0', async (t) => {
  const rig = new Rig();
  for (let i = 0; i < 5; i++) rig.append(`${i}`, 100_000);
  await rig.queue.runFor(1);
  const [first, ...rest] = rig.opened[0]?.written ?? [];
  t.same(first, { kind: 'hello', version: 1, expected });
  t.same(
    rest.map((request) => request.kind === 'batches' && [request.firstSequence, request.batches.length]),
    [
      [0, 2],
      [2, 2],
      [4, 1],
    ],
  );
});

t.test('append stream: answers as ranges, in any order → each batch is answered once', async (t) => {
  const rig = new Rig();
  for (const name of ['a', 'b', 'c', 'd']) rig.append(name);
  await rig.queue.runFor(1);
  rig.reply(hello);
  rig.acknowledge(2, 3, 'FENCED');
  rig.acknowledge(0, 1);
  t.same(rig.answers, ['c FENCED', 'd FENCED', 'a OK', 'b OK']);
  t.equal(rig.stream.outstandingBytes, 0);
  rig.append('e');
  await rig.queue.runFor(1);
  rig.acknowledge(4, 4);
  t.equal(rig.answers.at(-1), 'e OK');
});

t.test('append stream: over the byte budget → TOO_MANY_REQUESTS at once, not from inside append', async (t) => {
  const rig = new Rig();
  rig.append('large', 999_000);
  rig.append('more', 2_000);
  t.same(rig.answers, []);
  await rig.queue.runFor(1);
  t.same(rig.answers, ['more TOO_MANY_REQUESTS']);
});

t.test('append stream: broken → UNAVAILABLE for all that is outstanding, the next append opens a new one', async (t) => {
  const rig = new Rig();
  rig.append('a');
  await rig.queue.runFor(1);
  rig.append('b');
  rig.opened[0]?.events.ended();
  t.same(rig.answers, ['a UNAVAILABLE', 'b UNAVAILABLE']);
  rig.append('c');
  await rig.queue.runFor(1);
  t.equal(rig.opened.length, 2);
  rig.opened[0]?.events.reply({ kind: 'acknowledgements', ranges: [{ first: 0, last: 0, code: 'OK' }] });
  t.equal(rig.answers.length, 2, 'the old stream has no say any more');
  rig.reply(hello);
  rig.acknowledge(0, 0);
  t.equal(rig.answers.at(-1), 'c OK');
});

t.test('append stream: somebody else answers, or before the hello, or nonsense → nothing counts (P6)', async (t) => {
  const wrong: AppendReply[][] = [
    [{ ...hello, kind: 'hello', identity: { ...expected, incarnation: 'disks-2' } } as AppendReply],
    [{ ...hello, kind: 'hello', code: 'UNAVAILABLE' } as AppendReply],
    [{ kind: 'acknowledgements', ranges: [{ first: 0, last: 0, code: 'OK' }] }],
    [hello, { kind: 'acknowledgements', ranges: [{ first: 1, last: 1, code: 'OK' }] }],
  ];
  for (const replies of wrong) {
    const rig = new Rig();
    rig.append('a');
    await rig.queue.runFor(1);
    for (const reply of replies) rig.reply(reply);
    t.same(rig.answers, ['a UNAVAILABLE']);
    t.ok(rig.opened[0]?.isCancelled);
  }
});

t.test('append stream: no answer for the time-out → TIMEOUT, the stream is cancelled; a process that stood still does not judge', async (t) => {
  const rig = new Rig();
  rig.append('a');
  await rig.queue.runFor(1_000);
  rig.clock.pause();
  await rig.queue.runFor(20_000);
  rig.clock.resume();
  await rig.queue.runFor(1);
  t.same(rig.answers, []);
  await rig.queue.runFor(2_000);
  t.same(rig.answers, ['a TIMEOUT']);
  t.ok(rig.opened[0]?.isCancelled);
  await rig.queue.runFor(10_000);
  t.equal(rig.queue.pendingCount, 0);
});

t.test('append stream: transport is full → waits for drained', async (t) => {
  const rig = new Rig();
  rig.append('a');
  await rig.queue.runFor(1);
  rig.isBlocking = true;
  rig.append('b');
  await rig.queue.runFor(1);
  rig.append('c');
  await rig.queue.runFor(1);
  t.same(rig.batchesPerMessage, [1, 1]);
  rig.opened[0]?.events.drained();
  t.same(rig.batchesPerMessage, [1, 1, 1]);
});

t.test('append stream: closed → UNAVAILABLE, also later', async (t) => {
  const rig = new Rig();
  rig.append('a');
  rig.stream.close();
  rig.append('b');
  await rig.queue.runFor(1);
  t.same(rig.answers, ['a UNAVAILABLE', 'b UNAVAILABLE']);
});
