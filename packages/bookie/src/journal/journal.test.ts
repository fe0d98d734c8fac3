import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { Journal, type JournalOptions, type JournalOutcome } from './journal.js';
import { JournalDirectory } from './journal-directory.js';
import { journalFileName, recordTypes } from './journal-format.js';
import type { JournalMark } from './journal-mark.js';
import { replayJournal } from './replay.js';

class World {
  readonly queue: EventQueue;
  clock: SimClock;
  disk: SimDisk;
  fatal: unknown;

  constructor(seed = 3) {
    this.queue = new EventQueue({ seed });
    this.clock = new SimClock(this.queue);
    this.disk = new SimDisk({ clock: this.clock });
  }

  async open(previous?: JournalMark, more: Partial<JournalOptions> = {}): Promise<Journal> {
    const { disk, clock } = this;
    await this.queue.complete(disk.makeDirectory('/j'));
    const directory = new JournalDirectory(disk, '/j', 1);
    await this.queue.complete(directory.load());
    const sizes = { fileBytesMax: 8192, fileAgeMsMax: 1e9, prefillBytes: 2048, commitBytesMax: 4096 };
    const options = { disk, clock, directory, ...sizes, groupWaitMs: 0, syncEachWrite: true, onFull: async () => {} };
    const onFatal = (error: unknown): void => {
      this.fatal = error;
    };
    return this.queue.complete(Journal.open({ ...options, onFatal, ...more }, previous));
  }

  append(journal: Journal, text: string, isPriority = false): Promise<JournalOutcome> {
    return new Promise((resolve) => journal.append({ type: recordTypes.appendBatch, body: Buffer.from(text), isPriority }, resolve));
  }

  crash(keep: 'random' | 'none' | 'all' = 'none'): void {
    this.disk.crash({ keep });
    this.reboot();
  }

  reboot(): void {
    this.clock = new SimClock(this.queue);
    this.disk = this.disk.boot(this.clock);
  }

  async replay(mark?: JournalMark): Promise<{ bodies: string[]; end: JournalMark | undefined }> {
    const directory = new JournalDirectory(this.disk, '/j', 1);
    await this.queue.complete(directory.load());
    const bodies: string[] = [];
    const onRecord = ({ body }: { body: Buffer }): void => {
      bodies.push(body.toString());
    };
    const end = await this.queue.complete(replayJournal({ disk: this.disk, directory, mark, onRecord }));
    return { bodies, end };
  }

  path(fileId: number): string {
    return `/j/${journalFileName(fileId)}`;
  }
}

const texts = (count: number, bytes = 30): string[] => Array.from({ length: count }, (_, i) => `${i}:`.padEnd(bytes, 'x'));

t.test('journal: what queued up while a commit was written → one more commit, answered in order', async (t) => {
  const world = new World();
  const commits: number[] = [];
  const journal = await world.open(undefined, { onCommit: ({ records }) => commits.push(records) });
  const order: string[] = [];
  for (const text of texts(3)) void world.append(journal, text).then(() => order.push(text));
  let isWriting = false;
  world.disk.beforeOperation = ({ kind }) => {
    isWriting ||= kind === 'write';
  };
  await world.queue.run({ until: () => isWriting });
  for (const text of texts(50)) void world.append(journal, `late ${text}`).then(() => order.push(text));
  await world.queue.run({ untilIdle: true });
  t.strictSame(commits, [3, 50]);
  t.strictSame(order, [...texts(3), ...texts(50)]);
  t.equal(journal.queuedBytes, 0);
});

t.test('journal: durable records → replayed in order after a power cut, from a mark or from the start, over several files', async (t) => {
  const world = new World();
  const journal = await world.open();
  const all = texts(40, 600);
  const marks: JournalMark[] = [];
  for (const text of all) {
    t.equal(await world.queue.complete(world.append(journal, text)), 'durable');
    marks.push(journal.mark());
  }
  t.ok(journal.mark().fileId > 3, 'several files');
  void world.append(journal, 'never acknowledged');
  world.crash();
  t.strictSame((await world.replay()).bodies, all);
  for (const [i, mark] of marks.entries()) t.strictSame((await world.replay(mark)).bodies, all.slice(i + 1), `mark ${i}`);
});

t.test('journal: recycled file → its old records do not come back', async (t) => {
  const world = new World();
  const journal = await world.open();
  const directory = new JournalDirectory(world.disk, '/j', 4);
  for (const text of texts(30, 600)) await world.queue.complete(world.append(journal, text));
  const mark = journal.mark();
  await world.queue.complete(journal.close());
  await world.queue.complete(directory.load());
  await world.queue.complete(directory.releaseBelow(mark.fileId));
  t.strictSame(directory.fileIds, [mark.fileId]);
  const again = await world.open(mark);
  t.equal(await world.queue.complete(world.append(again, 'new')), 'durable');
  const before = world.disk.peek(world.path(mark.fileId + 1)) as Buffer;
  t.ok(before.indexOf('xxx') > 0, 'the file was recycled');
  world.crash();
  t.strictSame((await world.replay(mark)).bodies, ['new']);
});

t.test('journal: torn last commit → replay ends before it; whatever part of it is on disk', async (t) => {
  for (let seed = 0; seed < 30; seed++) {
    const world = new World();
    const journal = await world.open();
    await world.queue.complete(world.append(journal, 'first'));
    for (const text of texts(6, 700)) void world.append(journal, text);
    await world.queue.run({ until: () => world.disk.operationsCount > 12 + (seed % 4) });
    world.crash('random');
    const { bodies } = await world.replay();
    t.equal(bodies[0], 'first');
    t.strictSame(bodies.slice(1), texts(6, 700).slice(0, bodies.length - 1));
  }
});

t.test('journal: damaged record with a later commit behind it → refuses, naming file and offset', async (t) => {
  const world = new World();
  const journal = await world.open();
  const marks = [journal.mark()];
  for (const text of texts(8, 100)) {
    await world.queue.complete(world.append(journal, text));
    marks.push(journal.mark());
  }
  world.crash();
  for (let i = 0; i < 7; i++) {
    const at = (marks[i] as JournalMark).offset + 50;
    world.disk.flipBit(world.path(1), at, 2);
    await t.rejects(world.replay(), {
      code: 'BOOKIE_JOURNAL_CORRUPT',
      message: new RegExp(`${journalFileName(1)} is damaged at offset ${marks[i]?.offset}`),
    });
    world.disk.flipBit(world.path(1), at, 2);
  }
  t.equal((await world.replay()).bodies.length, 8);
});

t.test('journal: end of a file damaged although the next one says how far it went → refuses', async (t) => {
  const world = new World();
  const journal = await world.open();
  for (const text of texts(14, 600)) await world.queue.complete(world.append(journal, text));
  t.ok(journal.mark().fileId > 1);
  const last = texts(14, 600).findLast((text) => (world.disk.peek(world.path(1)) as Buffer).includes(text)) as string;
  world.crash();
  world.disk.flipBit(world.path(1), (world.disk.peek(world.path(1)) as Buffer).indexOf(last), 0);
  await t.rejects(world.replay(), { code: 'BOOKIE_JOURNAL_CORRUPT', message: /its data should end at/ });
});

t.test('journal: missing files → refuses', async (t) => {
  const world = new World();
  const journal = await world.open();
  for (const text of texts(30, 600)) await world.queue.complete(world.append(journal, text));
  const mark = { fileId: 2, offset: 512 };
  world.crash();
  await world.queue.complete(world.disk.remove(world.path(3)));
  await t.rejects(world.replay(mark), { code: 'BOOKIE_JOURNAL_MISSING', message: /0000000000000003.journal is missing/ });
  await world.queue.complete(world.disk.remove(world.path(2)));
  await t.rejects(world.replay(mark), { code: 'BOOKIE_JOURNAL_MISSING', message: /checkpoint names it/ });
  await world.queue.complete(world.disk.remove(world.path(1)));
  await t.rejects(world.replay(), { code: 'BOOKIE_JOURNAL_MISSING', message: /first file/ });
});

t.test('journal: file that died at birth → taken away; a damaged header of one with data → refuses', async (t) => {
  const world = new World();
  const journal = await world.open();
  await world.queue.complete(world.append(journal, 'data'));
  world.crash();
  const file = await world.queue.complete(world.disk.open(world.path(2), { mode: 'create' }));
  await world.queue.complete(file.writeAt(0, Buffer.alloc(100, 1)));
  t.strictSame((await world.replay()).bodies, ['data']);
  t.equal(world.disk.peek(world.path(2)), undefined);
  world.disk.flipBit(world.path(1), 9, 1);
  await t.rejects(world.replay(), { code: 'BOOKIE_JOURNAL_CORRUPT', message: /no valid header/ });
});

t.test('journal: failed write → everything queued is answered "failed", onFatal is called, nothing is written again', async (t) => {
  const world = new World();
  const journal = await world.open();
  world.disk.failNextWrite();
  const outcomes = Promise.all(texts(3).map((text) => world.append(journal, text)));
  t.strictSame(await world.queue.complete(outcomes), ['failed', 'failed', 'failed']);
  t.ok(world.fatal);
  const operations = world.disk.operationsCount;
  t.equal(await world.append(journal, 'late'), 'failed');
  await world.queue.run({ untilIdle: true });
  t.equal(world.disk.operationsCount, operations);
});

t.test('journal: record larger than a commit → goes alone', async (t) => {
  const world = new World();
  const journal = await world.open();
  const bodies = ['small', 'x'.repeat(6000), 'small again'];
  t.strictSame(await world.queue.complete(Promise.all(bodies.map((body) => world.append(journal, body)))), ['durable', 'durable', 'durable']);
  world.crash();
  t.strictSame((await world.replay()).bodies, bodies);
});

t.test('journal: close → drains, then answers "failed"', async (t) => {
  const world = new World();
  const journal = await world.open();
  const pending = world.append(journal, 'last');
  await world.queue.complete(journal.close());
  t.equal(await pending, 'durable');
  t.equal(await world.append(journal, 'too late'), 'failed');
  world.crash();
  t.strictSame((await world.replay()).bodies, ['last']);
});

t.test(
  'journal: full disk → ordinary records refused, those with priority tried again in what was kept back; goes on when there is room',
  async (t) => {
    const world = new World();
    let fullCount = 0;
    let reserveBytes = 0;
    const journal = await world.open(undefined, {
      prefillBytes: 512,
      onFull: async () => {
        fullCount++;
        world.disk.setCapacityBytes((await used(world)) + reserveBytes);
        reserveBytes = 0;
      },
    });
    t.equal(await world.queue.complete(world.append(journal, 'first')), 'durable');
    world.disk.setCapacityBytes(await world.queue.complete(used(world)));
    const big = 'x'.repeat(3000);
    t.equal(await world.queue.complete(world.append(journal, big)), 'disk full');
    await world.queue.runFor(10);
    reserveBytes = 4096;
    const both = [world.append(journal, big), world.append(journal, 'fence', true), world.append(journal, big)];
    t.strictSame(await world.queue.complete(Promise.all(both)), ['disk full', 'durable', 'disk full']);
    const outcomes = await world.queue.complete(Promise.all([world.append(journal, big, true), world.append(journal, big, true)]));
    t.ok(outcomes.includes('disk full'), 'priority does not make room');
    t.ok(fullCount >= 4);
    t.equal(journal.queuedBytes, 0);
    t.equal(world.fatal, undefined);
    await world.queue.runFor(10);
    world.disk.setCapacityBytes(1 << 30);
    t.equal(await world.queue.complete(world.append(journal, 'later')), 'durable');
    world.crash('random');
    const { bodies } = await world.replay();
    const durable = bodies.filter((body) => body !== big);
    t.strictSame(durable, ['first', 'fence', 'later']);
  },
);

async function used(world: World): Promise<number> {
  const { totalBytes, freeBytes } = await world.disk.usage('/j');
  return totalBytes - freeBytes;
}

t.test(
  'journal: rest of a commit that found no room, whole records among it → not taken for damage, nor for data before what came later',
  async (t) => {
    for (let seed = 0; seed < 40; seed++) {
      const world = new World(seed);
      const journal = await world.open(undefined, { prefillBytes: 512 });
      await world.queue.complete(world.append(journal, 'first'));
      world.disk.setCapacityBytes((await world.queue.complete(used(world))) + 512 * (seed % 8));
      const outcomes = await world.queue.complete(Promise.all(texts(5, 700).map((text) => world.append(journal, text))));
      t.ok(seed % 8 > 6 || outcomes.every((outcome) => outcome === 'disk full'));
      world.disk.setCapacityBytes(1 << 30);
      if (seed % 2 === 0) for (const text of ['a', 'b']) t.equal(await world.queue.complete(world.append(journal, text)), 'durable');
      world.crash('random');
      const { bodies, end } = await world.replay();
      t.strictSame([bodies[0], ...bodies.filter((body) => body.length === 1)], seed % 2 === 0 ? ['first', 'a', 'b'] : ['first']);
      const again = await world.open(end);
      t.equal(await world.queue.complete(world.append(again, 'again')), 'durable');
      world.crash('none');
      t.strictSame((await world.replay()).bodies, [...bodies, 'again'], 'what was replayed once is replayed again');
    }
  },
);

t.test('journal: no room for the next file → open without one; the same id is used when there is', async (t) => {
  const world = new World();
  const journal = await world.open();
  for (const text of texts(5, 700)) await world.queue.complete(world.append(journal, text));
  world.crash();
  const { end } = await world.replay();
  world.disk.setCapacityBytes(await world.queue.complete(used(world)));
  const again = await world.open(end);
  t.strictSame(again.mark(), end);
  t.equal(await world.queue.complete(world.append(again, 'refused')), 'disk full');
  world.disk.setCapacityBytes(1 << 30);
  t.equal(await world.queue.complete(world.append(again, 'new')), 'durable');
  t.equal(again.mark().fileId, (end?.fileId ?? 0) + 1);
  world.crash('random');
  t.strictSame((await world.replay()).bodies, [...texts(5, 700), 'new']);
});

t.test('journal: file of a certain age → followed by another one at the next record; one without data stays', async (t) => {
  const world = new World();
  const journal = await world.open(undefined, { fileAgeMsMax: 1000 });
  await world.queue.runFor(5000);
  await world.queue.complete(world.append(journal, 'a'));
  t.equal(journal.mark().fileId, 1);
  await world.queue.runFor(500);
  await world.queue.complete(world.append(journal, 'b'));
  t.equal(journal.mark().fileId, 2);
});

t.test('journal: room for a commit but not for zeros ahead of it → durable; zeros written later do not go over it', async (t) => {
  for (let room = 512; room <= 4096; room += 512) {
    const world = new World(room);
    const journal = await world.open(undefined, { prefillBytes: 2048 });
    world.disk.setCapacityBytes((await world.queue.complete(used(world))) + room);
    const durable: string[] = [];
    for (const text of texts(9, 400)) {
      if ((await world.queue.complete(world.append(journal, text))) === 'durable') durable.push(text);
      if (text.startsWith('5:')) world.disk.setCapacityBytes(1 << 30);
    }
    t.ok(durable.length > 3);
    world.crash('random');
    t.strictSame(
      (await world.replay()).bodies.filter((body) => durable.includes(body)),
      durable,
      `${room} bytes`,
    );
  }
});

t.test('journal: killed in the middle of a commit, replayed from the memory of the system, then the power fails → replayed again', async (t) => {
  let longest = 0;
  for (let seed = 0; seed < 60; seed++) {
    const world = new World(seed);
    const journal = await world.open(undefined, { prefillBytes: 8192 });
    await world.queue.complete(world.append(journal, 'first'));
    let writes = 0;
    world.disk.beforeOperation = ({ kind }) => {
      if (kind === 'write') writes++;
    };
    for (const text of texts(5, 700)) void world.append(journal, text);
    await world.queue.run({ until: () => writes > 0 });
    world.disk.kill();
    world.reboot();
    const { bodies, end } = await world.replay();
    longest = Math.max(longest, bodies.length);
    await world.open(end);
    world.crash('none');
    t.strictSame((await world.replay()).bodies, bodies, `seed ${seed}`);
  }
  t.ok(longest > 1, 'some of the commit was seen');
});

t.test('journal: zeros are written ahead → beside the commits, which wait only for those they need', async (t) => {
  const world = new World();
  const journal = await world.open(undefined, { prefillBytes: 2048 });
  const log: string[] = [];
  world.disk.beforeOperation = ({ kind }) => kind === 'write' && log.push('begin');
  world.disk.afterOperation = ({ kind, bytes }) => kind === 'write' && log.push(bytes === 512 ? 'commit' : 'zeros');
  for (const text of texts(12, 400)) await world.queue.complete(world.append(journal, text));
  await world.queue.run({ untilIdle: true });
  t.equal(log.filter((each) => each === 'commit').length, 12);
  t.ok(log.join(' ').includes('begin begin'), `none at the same time: ${log.join(' ')}`);
  t.equal(await world.queue.complete(used(world)), 8192, 'filled to its end at most');
});

t.test(
  'journal: zeros cannot be synced while nothing is committed, or while it is closed → the bookie stops, closing it does not fail',
  async (t) => {
    for (const isClosed of [false, true]) {
      const world = new World();
      const fatal: unknown[] = [];
      const journal = await world.open(undefined, { prefillBytes: 2048, onFatal: (error) => fatal.push(error) });
      for (const text of texts(3, 400)) await world.queue.complete(world.append(journal, text));
      await world.queue.run({ untilIdle: true });
      let filling = 0;
      world.disk.beforeOperation = ({ kind, bytes }) => {
        if (kind === 'write' && bytes === 2048 && filling++ === 0) world.disk.failNextSync();
      };
      const outcomes: Promise<JournalOutcome>[] = [];
      while (filling === 0) {
        outcomes.push(world.append(journal, 'x'.repeat(400)));
        await world.queue.run({ until: () => filling > 0 || world.queue.pendingCount === 0 });
      }
      if (isClosed) await world.queue.complete(journal.close());
      await world.queue.run({ untilIdle: true });
      t.equal(fatal.length, 1);
      await world.queue.complete(journal.close());
      t.equal(fatal.length, 1, 'told once');
      t.equal(await world.queue.complete(world.append(journal, 'late')), 'failed');
      await world.queue.complete(Promise.all(outcomes));
    }
  },
);

t.test('journal: zeros cannot be written, or synced → nothing more is acknowledged, the bookie stops', async (t) => {
  for (const fault of ['write', 'sync'] as const) {
    const world = new World();
    const journal = await world.open(undefined, { prefillBytes: 2048 });
    await world.queue.complete(world.append(journal, 'first'));
    await world.queue.run({ untilIdle: true });
    let isCommitUnderWay = false;
    world.disk.beforeOperation = ({ kind, bytes }) => {
      if (kind !== 'write') return;
      // The zeros come first, the commit beside them next.
      if (bytes === 2048 && fault === 'write') world.disk.failNextWrite();
      if (bytes === 2048 && fault === 'sync') world.disk.failNextSync();
      isCommitUnderWay ||= bytes !== 2048;
    };
    const outcomes: JournalOutcome[] = [];
    for (const text of texts(8, 400)) outcomes.push(await world.queue.complete(world.append(journal, text)));
    t.ok(isCommitUnderWay);
    t.ok(world.fatal, fault);
    t.equal(outcomes.at(-1), 'failed');
    world.crash('none');
    const durable = texts(8, 400).filter((_, i) => outcomes[i] === 'durable');
    t.strictSame((await world.replay()).bodies, ['first', ...durable]);
  }
});
