import { bookieId, type EntryId, type LedgerId, type NumberedRead, type ReadPart, type ReadReply } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { ReadStream, type ReadTransportEvents } from './read-stream.js';

const expected = { bookieId: bookieId('b1'), incarnation: 'disks-1' };

/** A stream whose other end is the test. */
class Rig {
  readonly queue = new EventQueue({ seed: 1 });
  readonly clock = new SimClock(this.queue);
  readonly opened: { events: ReadTransportEvents; written: NumberedRead[]; isCancelled: boolean }[] = [];
  readonly answers = new Map<string, ReadReply | 'NOT_KNOWN'>();
  readonly stream = new ReadStream({
    clock: this.clock,
    expected,
    timeoutMs: 5_000,
    open: (events) => {
      const transport = { events, written: [] as NumberedRead[], isCancelled: false };
      this.opened.push(transport);
      return {
        write: (request) => void transport.written.push(request),
        cancel: () => {
          transport.isCancelled = true;
        },
      };
    },
  });

  read(name: string, count = 3): void {
    const entryIds = Array.from({ length: count }, (_, i) => i as EntryId);
    void this.stream.read({ ledgerId: 7 as LedgerId, entryIds, bytesMax: 1000 }).then((reply) => this.answers.set(name, reply));
  }

  part(number: number, entries: readonly string[], rest: Partial<ReadPart> = {}): void {
    this.opened.at(-1)?.events.part({ number, isLast: true, code: 'OK', entries: entries.map((text) => Buffer.from(text)), ...rest });
  }

  said(name: string): unknown {
    const reply = this.answers.get(name);
    return typeof reply === 'object' ? [reply.code, ...reply.entries.map(String)] : reply;
  }
}

t.test('read stream: several reads, parts of their replies mixed → each is answered once, whole and in order', async (t) => {
  const rig = new Rig();
  rig.read('a');
  rig.read('b');
  rig.read('c');
  t.equal(rig.opened.length, 1);
  t.same(
    rig.opened[0]?.written.map(({ number, read }) => [number, read.expected, read.request.entryIds.length]),
    [0, 1, 2].map((number) => [number, expected, 3]),
  );
  rig.part(1, ['b0'], { isLast: false });
  rig.part(0, ['a0'], { isLast: false });
  rig.part(1, ['b1', 'b2']);
  rig.part(2, [], { code: 'NO_ENTRY' });
  await rig.queue.runFor(1);
  t.same(rig.said('b'), ['OK', 'b0', 'b1', 'b2']);
  t.same(rig.said('c'), ['NO_ENTRY']);
  t.equal(rig.said('a'), undefined);
  rig.part(0, ['a1']);
  await rig.queue.runFor(1);
  t.same(rig.said('a'), ['OK', 'a0', 'a1'], 'a first part of what was asked');
  await rig.queue.runFor(60_000);
  t.equal(rig.queue.pendingCount, 0, 'nothing is waited for any more');
});

t.test('read stream: broken → what failed on the way is unknown; the next read opens a new one, the old has no say', async (t) => {
  const rig = new Rig();
  rig.read('a');
  rig.part(0, ['a0'], { isLast: false });
  rig.opened[0]?.events.ended('UNAVAILABLE');
  await rig.queue.runFor(1);
  t.same(rig.said('a'), ['UNAVAILABLE']);
  rig.read('b');
  t.equal(rig.opened.length, 2);
  rig.opened[0]?.events.part({ number: 1, isLast: true, code: 'NO_ENTRY', entries: [] });
  await rig.queue.runFor(1);
  t.equal(rig.said('b'), undefined);
  rig.part(1, ['b0']);
  await rig.queue.runFor(1);
  t.same(rig.said('b'), ['OK', 'b0']);
});

t.test('read stream: a reply that breaks the rules → IO_ERROR for all, never a negative, and the stream is cancelled', async (t) => {
  const wrong: ((rig: Rig) => void)[] = [
    (rig) => rig.part(5, ['of nobody']),
    (rig) => rig.part(0, ['1', '2', '3', '4']),
    (rig) => {
      rig.part(0, ['1'], { isLast: false });
      rig.part(0, [], { code: 'NO_ENTRY' });
    },
  ];
  for (const answer of wrong) {
    const rig = new Rig();
    rig.read('a');
    rig.read('b');
    answer(rig);
    await rig.queue.runFor(1);
    t.same([rig.said('a'), rig.said('b')], [['IO_ERROR'], ['IO_ERROR']]);
    t.ok(rig.opened[0]?.isCancelled);
  }
});

t.test('read stream: one read is slow → TIMEOUT for it alone, its late reply is passed over', async (t) => {
  const rig = new Rig();
  rig.read('slow');
  await rig.queue.runFor(4_000);
  rig.read('quick');
  rig.part(1, ['q'], { isLast: false });
  await rig.queue.runFor(1_600);
  t.same(rig.said('slow'), ['TIMEOUT']);
  rig.part(0, ['late']);
  rig.part(1, ['r']);
  await rig.queue.runFor(1);
  t.same(rig.said('quick'), ['OK', 'q', 'r']);
  t.notOk(rig.opened[0]?.isCancelled);
});

t.test('read stream: silent for the time-out → TIMEOUT for all, cancelled; a process that stood still does not judge', async (t) => {
  const rig = new Rig();
  rig.read('a');
  await rig.queue.runFor(1_000);
  rig.clock.pause();
  await rig.queue.runFor(20_000);
  rig.clock.resume();
  await rig.queue.runFor(1);
  t.equal(rig.said('a'), undefined);
  await rig.queue.runFor(1_000);
  t.same(rig.said('a'), ['TIMEOUT']);
  t.ok(rig.opened[0]?.isCancelled);
  await rig.queue.runFor(10_000);
  t.equal(rig.queue.pendingCount, 0);
});

t.test('read stream: the bookie does not know it → said so, for whoever asks otherwise', async (t) => {
  const rig = new Rig();
  rig.read('a');
  rig.opened[0]?.events.ended('NOT_KNOWN');
  await rig.queue.runFor(1);
  t.equal(rig.said('a'), 'NOT_KNOWN');
});

t.test('read stream: closed → UNAVAILABLE, also later; too many wait → TOO_MANY_REQUESTS', async (t) => {
  const rig = new Rig();
  for (let i = 0; i < 16_384; i++) rig.read(`${i}`, 1);
  rig.read('more');
  await rig.queue.runFor(1);
  t.same(rig.said('more'), ['TOO_MANY_REQUESTS']);
  rig.stream.close();
  rig.read('late');
  await rig.queue.runFor(1);
  t.same([rig.said('0'), rig.said('16383'), rig.said('late')], [['UNAVAILABLE'], ['UNAVAILABLE'], ['UNAVAILABLE']]);
  t.ok(rig.opened[0]?.isCancelled);
});
