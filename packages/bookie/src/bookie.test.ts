import t from 'tap';
import type { Bookie } from './bookie-api.js';
import { entryOf, otherKey, testKey } from './testing/batches.js';
import { appended, SimBookie } from './testing/sim-bookie.js';

const range = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);

t.test('bookie: appended entries → read back, equal, before and after flush, restart and another flush', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  t.equal(await sim.append({ ledger: 5, first: 0, count: 20 }), 'OK');
  t.equal(await sim.append({ ledger: 7, first: 0, count: 3 }), 'OK');
  const check = async (when: string) => {
    const reply = await sim.read(5, range(0, 20));
    t.strictSame([reply.code, reply.entries.length], ['OK', 20], when);
    for (const [id, entry] of reply.entries.entries()) t.ok(entry.equals(entryOf(5, id)), `${when}: entry ${id}`);
    t.ok((await sim.readLac(7)).lastEntry?.equals(entryOf(7, 2)), `${when}: last entry`);
    t.strictSame(await sim.list(5), { code: 'OK', runs: [{ first: 0, last: 19 }] }, when);
    t.equal((await sim.read(5, [20])).code, 'NO_ENTRY', when);
    t.equal((await sim.read(6, [0])).code, 'NO_LEDGER', when);
  };
  await check('in the write cache');
  await sim.flush();
  await check('in the open log');
  await sim.restart();
  await check('after a power cut');
  await sim.close();
  await sim.start();
  await check('after a clean stop');
  await sim.close();
});

t.test('bookie: many entries → logs are sealed, journal files recycled, everything still readable after restarts', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  for (let round = 0; round < 60; round++) {
    for (const ledger of [1, 2, 3]) t.equal(await sim.append({ ledger, first: round * 8, count: 8, bytes: 100 }), 'OK');
  }
  await sim.flush();
  const check = async () => {
    for (const ledger of [1, 2, 3]) {
      for (let first = 0; first < 480; ) {
        const reply = await sim.read(ledger, range(first, Math.min(50, 480 - first)), 3000);
        t.equal(reply.code, 'OK');
        for (const entry of reply.entries) if (!entry.equals(entryOf(ledger, first++, 100))) t.fail(`entry ${first} of ${ledger}`);
      }
      t.strictSame(await sim.list(ledger), { code: 'OK', runs: [{ first: 0, last: 479 }] });
    }
  };
  await check();
  const logs = await sim.queue.complete(sim.disk.list('/data/ledgers'));
  t.ok(logs.filter((name) => name.endsWith('.log')).length > 4, 'several logs');
  const journals = await sim.queue.complete(sim.disk.list('/data/journal'));
  t.ok(journals.filter((name) => name.endsWith('.journal')).length <= 3, `journal files are released: ${journals}`);
  await sim.restart('none');
  await check();
  await sim.close();
  await sim.start();
  await check();
  await sim.close();
});

t.test('bookie: fence → appends refused, recovery appends pass, after a restart as well', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 2 });
  const inFlight = appended(sim.service, { ledger: 1, first: 2, count: 1 });
  const fenced = sim.fence(1, testKey);
  t.ok((await fenced).lastEntry?.equals(entryOf(1, 2)), 'the append before it is in the answer');
  t.equal(await inFlight, 'OK', 'handed over before the fence');
  t.equal(await sim.append({ ledger: 1, first: 3, count: 1 }), 'FENCED');
  t.equal(await sim.append({ ledger: 1, first: 3, count: 1, isRecovery: true }), 'OK');
  t.strictSame(await sim.fence(9, testKey), { code: 'NO_ENTRY' }, 'an unknown ledger is created and fenced');
  await sim.restart('none');
  t.equal(await sim.append({ ledger: 1, first: 4, count: 1 }), 'FENCED');
  t.equal(await sim.append({ ledger: 9, first: 0, count: 1 }), 'FENCED');
  await sim.flush();
  await sim.close();
  await sim.start();
  t.equal(await sim.append({ ledger: 9, first: 0, count: 1 }), 'FENCED', 'from the snapshot');
  t.equal(await sim.append({ ledger: 9, first: 0, count: 1, isRecovery: true }), 'OK');
  await sim.close();
});

t.test('bookie: master key → the first one counts, others are refused, after a restart as well', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  const check = async () => {
    t.equal(await sim.append({ ledger: 1, first: 1, count: 1, key: otherKey }), 'UNAUTHORIZED');
    t.equal((await sim.fence(1, otherKey)).code, 'UNAUTHORIZED');
    const read = sim.service.read({ ledgerId: 1 as never, entryIds: [0 as never], bytesMax: 100, fenceWithKey: otherKey });
    t.equal((await sim.queue.complete(read)).code, 'UNAUTHORIZED');
    t.equal((await sim.fence(1, Buffer.alloc(3))).code, 'BAD_REQUEST');
  };
  await check();
  await sim.restart();
  await check();
  t.equal(await sim.append({ ledger: 1, first: 1, count: 1 }), 'OK', 'a refused fence fences nothing');
  await sim.close();
});

t.test('bookie: read with a key → fences first', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  const reply = await sim.queue.complete(sim.service.read({ ledgerId: 1 as never, entryIds: [0 as never], bytesMax: 0, fenceWithKey: testKey }));
  t.ok(reply.entries[0]?.equals(entryOf(1, 0)));
  t.equal(await sim.append({ ledger: 1, first: 1, count: 1 }), 'FENCED');
  await sim.close();
});

t.test('bookie: same entries again, out of order, with holes → each is stored once, order and holes are kept', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 10, count: 5 });
  await sim.append({ ledger: 1, first: 0, count: 4, step: 2, isRecovery: true });
  await sim.append({ ledger: 1, first: 10, count: 5, isRecovery: true });
  const runs = [0, 2, 4, 6].map((id) => ({ first: id, last: id }));
  const check = async () => {
    t.strictSame(await sim.list(1), { code: 'OK', runs: [...runs, { first: 10, last: 14 }] });
    t.equal((await sim.read(1, [1])).code, 'NO_ENTRY');
    const reply = await sim.read(1, [0, 2, 4, 10, 11]);
    t.strictSame(
      reply.entries,
      [0, 2, 4, 10, 11].map((id) => entryOf(1, id)),
    );
    t.ok((await sim.readLac(1)).lastEntry?.equals(entryOf(1, 14)));
    t.strictSame((await sim.read(1, [0, 1, 2])).entries, [entryOf(1, 0)], 'a first part');
  };
  await check();
  await sim.flush();
  await check();
  await sim.append({ ledger: 1, first: 12, count: 2, isRecovery: true });
  await sim.flush();
  await check();
  for (let i = 0; i < 40; i++) await sim.append({ ledger: 2, first: i * 8, count: 8, bytes: 100 });
  await sim.flush();
  await check();
  await sim.restart();
  await check();
  await sim.close();
});

t.test('bookie: a flipped bit in an entry log → IO_ERROR, never NO_ENTRY; other entries are fine', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  for (let i = 0; i < 40; i++) await sim.append({ ledger: 1, first: i * 8, count: 8, bytes: 100 });
  await sim.flush();
  await sim.close();
  const path = '/data/ledgers/0000000000000001.log';
  sim.stoppedDisk();
  const at = (sim.disk.peek(path) as Buffer).indexOf('1/3/0.');
  for (const [what, position] of Object.entries({ payload: at + 20, 'entry id': at - 36 + 15, length: at - 36 - 1, ledger: at - 36 + 7 })) {
    t.ok(sim.disk.flipBit(path, position, 3));
    await sim.start();
    t.equal((await sim.read(1, [3])).code, 'IO_ERROR', what);
    t.equal((await sim.read(1, [2])).code, 'OK', what);
    t.equal((await sim.read(1, [2, 3, 4])).entries.length, 1, what);
    await sim.close();
    sim.stoppedDisk();
    sim.disk.flipBit(path, position, 3);
  }
});

t.test('bookie: a missing entry log → the bookie starts, and answers IO_ERROR where it cannot know', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  for (let i = 0; i < 40; i++) await sim.append({ ledger: 1, first: i * 8, count: 8, bytes: 100 });
  await sim.append({ ledger: 2, first: 0, count: 1 });
  await sim.close();
  sim.stoppedDisk();
  await sim.queue.complete(sim.disk.remove('/data/ledgers/0000000000000001.log'));
  await sim.start();
  for (let round = 0; round < 2; round++) {
    t.equal((await sim.read(1, [0])).code, 'IO_ERROR');
    t.equal((await sim.read(1, [5000])).code, 'IO_ERROR', 'it might have been there');
    t.equal((await sim.read(1, [319])).code, 'OK');
    t.equal((await sim.list(1)).code, 'IO_ERROR');
    t.equal((await sim.readLac(2)).code, 'OK');
    await sim.queue.runFor(60_000);
  }
  await sim.close();
});

t.test('bookie: write cache full while the disk stalls → held, then refused, bounded; nothing acknowledged is lost', async (t) => {
  const sim = new SimBookie({ limits: { flushIntervalMs: 100 } });
  await sim.start();
  const codes: string[] = [];
  let sent = 0;
  const path = '/data/ledgers';
  sim.disk.beforeOperation = (operation) => {
    if (operation.path.startsWith(path) && operation.kind === 'sync') sim.disk.stallFor(500);
  };
  for (let round = 0; round < 30; round++) {
    for (let i = 0; i < 4; i++) void appended(sim.service, { ledger: 1, first: sent++ * 20, count: 20, bytes: 100 }).then((code) => codes.push(code));
    await sim.queue.runFor(2);
  }
  await sim.queue.runFor(60_000);
  t.equal(codes.length, sent, 'everything is answered');
  t.ok(codes.includes('TOO_MANY_REQUESTS'), 'some were refused');
  t.ok(codes.filter((code) => code === 'OK').length > 10);
  await sim.restart('none');
  const stored = await sim.list(1);
  const count = stored.runs.reduce((sum, run) => sum + run.last - run.first + 1, 0);
  t.equal(count, codes.filter((code) => code === 'OK').length * 20);
  await sim.close();
});

t.test('bookie: failed journal sync → fails stop: nothing is acknowledged any more, and the process is told once', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  t.equal(await sim.append({ ledger: 1, first: 0, count: 1 }), 'OK');
  sim.disk.failNextWrite();
  t.equal(await sim.append({ ledger: 1, first: 1, count: 1 }), 'IO_ERROR');
  t.match(sim.fatal, { code: 'BOOKIE_FAILED' });
  t.equal(sim.bookie?.state, 'failed');
  t.equal(await sim.append({ ledger: 1, first: 2, count: 1 }), 'IO_ERROR');
  t.equal((await sim.read(1, [0])).code, 'IO_ERROR');
  await sim.restart('none');
  t.ok((await sim.read(1, [0])).entries[0]?.equals(entryOf(1, 0)));
  await sim.close();
});

t.test('bookie: failed sync of the entry log → fails stop', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  sim.disk.failNextSync();
  await sim.flush();
  t.match(sim.fatal, { code: 'BOOKIE_FAILED' });
  await sim.restart('none');
  t.ok((await sim.read(1, [0])).entries[0]?.equals(entryOf(1, 0)), 'replayed');
  await sim.close();
});

t.test('bookie: disk full while flushing → entries stay, and are flushed when there is room', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  for (let i = 0; i < 10; i++) await sim.append({ ledger: 1, first: i * 8, count: 8, bytes: 100 });
  sim.disk.setCapacityBytes(48 * 1024);
  await sim.flush();
  t.equal(sim.fatal, undefined);
  t.equal((await sim.read(1, [79])).code, 'OK');
  sim.disk.setCapacityBytes(1 << 30);
  await sim.queue.runFor(5000);
  t.same((await sim.queue.complete(sim.disk.list('/data/ledgers'))).filter((name) => name.endsWith('.log')).length > 0, true);
  await sim.restart('none');
  t.strictSame(await sim.list(1), { code: 'OK', runs: [{ first: 0, last: 79 }] });
  await sim.close();
});

t.test('bookie: flush tried again after a full disk → its checkpoint covers no more than it wrote', async (t) => {
  const sim = new SimBookie({ limits: { journalPrefillBytes: 32 * 1024, flushIntervalMs: 1_000_000 } });
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  const { totalBytes, freeBytes } = await sim.queue.complete(sim.disk.usage('/data/ledgers'));
  sim.disk.setCapacityBytes(totalBytes - freeBytes);
  const flushing = (sim.bookie as Bookie).flush();
  t.equal(await sim.append({ ledger: 1, first: 1, count: 1 }), 'OK', 'goes to the other half');
  await sim.queue.complete(flushing);
  sim.disk.setCapacityBytes(totalBytes);
  let isPublished = false;
  const { disk } = sim;
  disk.afterOperation = ({ kind, path }) => {
    isPublished ||= kind === 'rename' && path.endsWith('lastMark.new');
    if (isPublished && kind === 'sync-directory') disk.crash({ keep: 'none' });
  };
  await sim.queue.runFor(2000);
  t.ok(disk.isDead, 'the first half was flushed');
  await sim.start();
  for (const id of [0, 1]) t.ok((await sim.read(1, [id])).entries[0]?.equals(entryOf(1, id)), `entry ${id}`);
  await sim.close();
});

t.test('bookie: idle → only looks at its disks from time to time', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  await sim.queue.runFor(60_000);
  const kinds = new Set<string>();
  sim.disk.beforeOperation = ({ kind }) => kinds.add(kind);
  const operations = sim.disk.operationsCount;
  await sim.queue.runFor(3_600_000);
  t.strictSame([...kinds], ['usage']);
  t.equal(sim.disk.operationsCount - operations, 2 * 360, 'two directories, every ten seconds');
  t.ok((await sim.queue.complete(sim.disk.list('/data/ledgers'))).includes('0000000000000001.log'), 'it was flushed by age');
  await sim.close();
});
