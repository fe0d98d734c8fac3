import { ledgerIdOfPath } from '@daybook/metadata';
import t from 'tap';
import { Journal, type JournalOptions } from './journal.js';
import type { JournalOperation } from './journal-entry-format.js';
import type { JournalInput } from './journal-input.js';
import type { NamespaceInfo } from './journal-records.js';
import type { CrashPoint } from './testing/crashing-store.js';
import { type LogNode, LogWorld } from './testing/log-world.js';

const namespace: NamespaceInfo = { namespaceId: 17, clusterId: 'CID-1', blockPoolId: 'BP-1', layoutVersion: -60 };
const root = '/daybook/journals/simplewrite';

function journalOf(node: LogNode, { name = 'simplewrite', ...options }: Partial<JournalOptions> & { name?: string } = {}): Journal {
  const { store, ledgers, clock } = node;
  return new Journal({ store, ledgers, clock, name, namespace, options });
}

const noOperation = (txId: number): JournalOperation => ({ txId, payload: Buffer.from(`op ${txId}`) });

/** Writes and flushes first..last to a segment of its own. */
async function written(world: LogWorld, journal: Journal, first: number, last: number) {
  const output = await world.run(journal.startLogSegment(first));
  for (let txId = first; txId <= last; txId++) output.write(noOperation(txId));
  await world.run(output.flush());
  return output;
}

async function finalized(world: LogWorld, journal: Journal, first: number, last: number): Promise<void> {
  const output = await written(world, journal, first, last);
  await world.run(output.close());
  await world.run(journal.finalizeLogSegment(first, last));
}

async function readAll(world: LogWorld, inputs: readonly JournalInput[]): Promise<number[]> {
  const out: number[] = [];
  for (const input of inputs) {
    for (let operation = await world.run(input.readOperation()); operation !== undefined; operation = await world.run(input.readOperation())) {
      if (Buffer.from(operation.payload).toString() !== `op ${operation.txId}`) throw new Error(`transaction ${operation.txId} has another payload`);
      out.push(operation.txId);
    }
    await world.run(input.close());
  }
  return out;
}

const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

// The test of the name node's own journal that this project comes from, call by call.
t.test(
  'journal: format, start a segment, write 100 operations, close, finalize → the finalized key is there and all 100 are read back',
  async (t) => {
    const world = new LogWorld();
    const bkjm = journalOf(world.node());
    await world.run(bkjm.format());

    const out = await world.run(bkjm.startLogSegment(1));
    for (let i = 1; i <= 100; i++) out.write(noOperation(i));
    await world.run(out.close());
    await world.run(bkjm.finalizeLogSegment(1, 100));

    t.same(world.tree.tree.children(`${root}/ledgers`), ['edits_000000000000000001_000000000000000100']);
    t.match(world.tree.tree.get(`${root}/ledgers/edits_000000000000000001_000000000000000100`)?.value.toString(), /^-60;\d+;1;100$/);
    t.equal(world.tree.tree.get(`${root}/maxtxid`)?.value.toString(), '100');
    t.equal(world.tree.tree.get(`${root}/CurrentInprogress`)?.value.toString(), '');
    t.same(await readAll(world, await world.run(bkjm.selectInputStreams(1))), upTo(1, 100));
    t.equal(await world.run(bkjm.numberOfTransactions(1)), 100);
  },
);

t.test('journal: not formatted, another name space, a broken version → nothing can be done, and the message says why', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const journal = journalOf(node);
  t.equal(await world.run(journal.hasSomeData()), false);
  const error = await world.rejection(journal.startLogSegment(1));
  t.equal(error.code, 'JOURNAL_NOT_FORMATTED');
  t.match(error.message, /^Environment not initialized\. Have you forgotten to format\?/);
  await world.run(journal.format());
  t.equal(await world.run(journal.hasSomeData()), true);
  for (const other of [{ namespaceId: 18 }, { clusterId: 'CID-2' }, { blockPoolId: 'BP-2' }]) {
    const { store, ledgers, clock } = node;
    const stranger = new Journal({ store, ledgers, clock, name: 'simplewrite', namespace: { ...namespace, ...other } });
    const mismatch = await world.rejection(stranger.recoverUnfinalizedSegments());
    t.equal(mismatch.code, 'JOURNAL_ENVIRONMENT_MISMATCH');
    t.match(mismatch.message, /^Environment mismatch\. Running process nsid=1.*, stored nsid=17;cid=CID-1;bpid=BP-1$/);
  }
  await world.run(node.store.put(`${root}/version`, Buffer.from('layoutVersion: -2\n'), 'any'));
  t.equal((await world.rejection(journalOf(node).selectInputStreams(1))).code, 'JOURNAL_INCOMPLETE_VERSION');
});

t.test('journal: format again → the old segments are gone, ledgers included', async (t) => {
  const world = new LogWorld();
  const journal = journalOf(world.node());
  await world.run(journal.format());
  await finalized(world, journal, 1, 10);
  await written(world, journal, 11, 12);
  await world.run(journal.format());
  t.same(world.tree.tree.children(`${root}/ledgers`), []);
  t.same(ledgersOf(world), []);
  await finalized(world, journal, 1, 5);
  t.same(await readAll(world, await world.run(journal.selectInputStreams(1))), upTo(1, 5));
});

t.test('journal: a segment in progress is there → no other can be started, in this process or another', async (t) => {
  const world = new LogWorld();
  const [one, two] = [journalOf(world.node()), journalOf(world.node())];
  await world.run(one.format());
  await world.run(one.startLogSegment(1));
  for (const journal of [one, two]) {
    t.equal((await world.rejection(journal.startLogSegment(1))).code, 'JOURNAL_ALREADY_SEEN');
    const error = await world.rejection(journal.startLogSegment(2));
    t.equal(error.code, 'JOURNAL_ALREADY_IN_PROGRESS');
    t.match(error.message, /^Inprogress node already exists/);
  }
  t.equal(ledgersOf(world).length, 1, 'no ledger is left of the refused ones');
});

t.test('journal: start again from 1, from the last one, from the one behind, from far behind → as transaction ids allow', async (t) => {
  const world = new LogWorld();
  const journal = journalOf(world.node());
  await world.run(journal.format());
  await finalized(world, journal, 1, 100);
  for (const txId of [1, 100]) {
    const error = await world.rejection(journal.startLogSegment(txId));
    t.equal(error.code, 'JOURNAL_ALREADY_SEEN');
    t.match(error.message, `We've already seen ${txId}. A new stream cannot be created with it`);
  }
  await finalized(world, journal, 101, 200);
  await finalized(world, journal, 1_000, 1_010);
  for (const txId of [0, -1, 1.5, Number.NaN]) t.equal((await world.rejection(journal.startLogSegment(txId))).code, 'JOURNAL_BAD_TRANSACTION_ID');
  t.same(await readAll(world, await world.run(journal.selectInputStreams(1))), upTo(1, 200), 'up to the gap');
  t.same(await readAll(world, await world.run(journal.selectInputStreams(1_000))), upTo(1_000, 1_010));
  t.same(await world.run(journal.selectInputStreams(500)), [], 'in the gap');
});

t.test('journal: operations out of order, too large, too many → refused; the stream goes on', async (t) => {
  const world = new LogWorld();
  const journal = journalOf(world.node(), { windowBytes: 3 * 1024 * 1024 });
  await world.run(journal.format());
  const output = await world.run(journal.startLogSegment(5));
  t.throws(() => output.write(noOperation(4)), { code: 'JOURNAL_OUT_OF_ORDER' });
  t.throws(() => output.write(noOperation(6)), { code: 'JOURNAL_OUT_OF_ORDER' });
  t.throws(() => output.write({ txId: 5, payload: Buffer.alloc(1024 * 1024 + 1) }), { code: 'JOURNAL_OPERATION_TOO_LARGE' });
  const large = Buffer.alloc(1024 * 1024 - 100, 'x');
  for (const txId of [5, 6, 7]) output.write({ txId, payload: large });
  t.throws(() => output.write({ txId: 8, payload: large }), { code: 'JOURNAL_OVER_CAPACITY' });
  await world.run(output.flush());
  output.write({ txId: 8, payload: large });
  t.equal(output.lastTxId, 8);
  await world.run(output.close());
  t.throws(() => output.write(noOperation(9)), { code: 'JOURNAL_STREAM_CLOSED' });
  await world.run(journal.finalizeLogSegment(5, 8));
  t.equal(await world.run(journal.numberOfTransactions(5)), 4);
});

t.test('journal: finalize what is not in progress, with another end, or another segment than the one being written → refused', async (t) => {
  const world = new LogWorld();
  const journal = journalOf(world.node());
  await world.run(journal.format());
  const missing = await world.rejection(journal.finalizeLogSegment(1, 10));
  t.equal(missing.code, 'JOURNAL_NO_IN_PROGRESS');
  t.match(missing.message, `Inprogress znode ${root}/ledgers/inprogress_1 doesn't exist`);
  await written(world, journal, 31, 40);
  t.match(world.tree.tree.children(`${root}/ledgers`), ['inprogress_1f'], 'in hex');
  const wrong = await world.rejection(journal.finalizeLogSegment(31, 41));
  t.equal(wrong.code, 'JOURNAL_LAST_TRANSACTION_ID');
  await world.run(journal.finalizeLogSegment(31, 40));

  await written(world, journal, 41, 50);
  const node = world.node();
  await world.run(node.store.put(`${root}/ledgers/inprogress_64`, Buffer.from('-60;9999;100'), 'absent'));
  const other = await world.rejection(journal.finalizeLogSegment(100, 110));
  t.equal(other.code, 'JOURNAL_OTHER_LEDGER');
  t.match(other.message, /^Active ledger has different ID to inprogress\. 9999 found, \d+ expected$/);
});

t.test('journal: select streams with the one in progress → what is visible, without fencing its writer', async (t) => {
  const world = new LogWorld();
  const [active, standby] = [journalOf(world.node(), { transmissionThresholdBytes: 1 }), journalOf(world.node())];
  await world.run(active.format());
  await finalized(world, active, 1, 10);
  const output = await world.run(active.startLogSegment(11));
  for (let txId = 11; txId <= 15; txId++) {
    output.write(noOperation(txId));
    await world.run(output.flush());
  }
  t.same(await readAll(world, await world.run(standby.selectInputStreams(5))), upTo(5, 10), 'finalized ones only');
  const visible = await readAll(world, await world.run(standby.selectInputStreams(5, { inProgressOk: true })));
  t.same(visible, upTo(5, 14), 'all but the last entry, which no later one tells of');
  for (let txId = 16; txId <= 20; txId++) output.write(noOperation(txId));
  await world.run(output.close());
  await world.run(active.finalizeLogSegment(11, 20));
  t.same(await readAll(world, await world.run(standby.selectInputStreams(13))), upTo(13, 20), 'from the middle of a segment');
});

t.test('journal: an empty segment in progress → no stream of it; recovery removes it, and its transaction may come again', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const [active, standby] = [journalOf(node), journalOf(world.node())];
  await world.run(active.format());
  await finalized(world, active, 1, 10);
  await world.run(active.startLogSegment(11));
  node.crash();
  t.same(await readAll(world, await world.run(standby.selectInputStreams(1, { inProgressOk: true }))), upTo(1, 10));
  t.equal(world.tree.tree.get(`${root}/maxtxid`)?.value.toString(), '11');
  await world.run(standby.recoverUnfinalizedSegments());
  t.equal(world.tree.tree.get(`${root}/maxtxid`)?.value.toString(), '10');
  t.equal(ledgersOf(world).length, 1);
  await finalized(world, standby, 11, 12);
  t.same(await readAll(world, await world.run(standby.selectInputStreams(1))), upTo(1, 12));
});

t.test(
  'journal: the active node dies → the standby recovers, finds every acknowledged edit and goes on; the old one, still alive, is fenced',
  async (t) => {
    const world = new LogWorld();
    const [active, standby] = [journalOf(world.node(), { transmissionThresholdBytes: 1 }), journalOf(world.node())];
    await world.run(active.format());
    const output = await written(world, active, 1, 100);
    await world.run(standby.recoverUnfinalizedSegments());
    t.ok(world.tree.tree.get(`${root}/ledgers/edits_000000000000000001_000000000000000100`));
    output.write(noOperation(101));
    t.equal((await world.rejection(output.flush())).code, 'JOURNAL_ERRORED_STREAM');
    t.throws(() => output.write(noOperation(102)), { message: /^Trying to write to an errored stream/ });
    t.equal((await world.rejection(active.finalizeLogSegment(1, 101))).code, 'JOURNAL_NO_IN_PROGRESS');
    const next = await written(world, standby, 101, 110);
    t.equal((await world.rejection(active.startLogSegment(111))).code, 'JOURNAL_ALREADY_IN_PROGRESS');
    await world.run(next.close());
    await world.run(standby.finalizeLogSegment(101, 110));
    t.same(await readAll(world, await world.run(active.selectInputStreams(1))), upTo(1, 110));
  },
);

t.test('journal: purged → finalized segments below go with their ledgers; transactions are counted up to a gap', async (t) => {
  const world = new LogWorld();
  const journal = journalOf(world.node());
  await world.run(journal.format());
  for (const first of [1, 11, 21]) await finalized(world, journal, first, first + 9);
  await written(world, journal, 31, 35);
  t.equal(await world.run(journal.numberOfTransactions(1)), 30);
  t.ok((await world.run(journal.numberOfTransactions(1, { inProgressOk: true }))) >= 30);
  t.equal(await world.run(journal.numberOfTransactions(15)), 16);
  await world.run(journal.purgeLogsOlderThan(20));
  t.same(
    world.tree.tree.children(`${root}/ledgers`).filter((name) => name.startsWith('edits')),
    ['edits_000000000000000011_000000000000000020', 'edits_000000000000000021_000000000000000030'],
  );
  t.equal(ledgersOf(world).length, 3);
  const gap = await world.rejection(journal.numberOfTransactions(1));
  t.equal(gap.code, 'JOURNAL_GAP');
  t.match(gap.message, 'StartTxId 11 is not as expected 1. Gap in transaction log?');
  t.same(await world.run(journal.selectInputStreams(1)), []);
});

/** A name node's life: recover, three segments, the last one left in progress. Ends early when its process dies. */
async function life(node: LogNode, acknowledged: { last: number }): Promise<void> {
  const journal = journalOf(node, { transmissionThresholdBytes: 1 });
  await journal.recoverUnfinalizedSegments();
  for (let segment = 0; segment < 3; segment++) {
    const first = acknowledged.last + 1;
    const output = await journal.startLogSegment(first);
    for (let txId = first; txId < first + 3; txId++) {
      output.write(noOperation(txId));
      await output.flush();
      acknowledged.last = txId;
    }
    if (segment === 2) return;
    await output.close();
    await journal.finalizeLogSegment(first, first + 2);
    if (segment === 1) await journal.purgeLogsOlderThan(2);
  }
}

async function live(world: LogWorld, node: LogNode, acknowledged: { last: number }): Promise<void> {
  let isDone = false;
  const running = life(node, acknowledged).then(() => {
    isDone = true;
  });
  await world.queue.run({ until: () => isDone || node.store.isCrashed, untilMs: world.queue.nowMs + 60_000 });
  if (isDone) await running;
}

t.test(
  'journal: the name node dies at each write to the metadata, before or after it takes effect → the next one finds all edits and goes on',
  async (t) => {
    const prepared = async () => {
      const world = new LogWorld();
      await world.run(journalOf(world.node()).format());
      return world;
    };
    const counting = await prepared();
    const whole = counting.node();
    await live(counting, whole, { last: 0 });
    const points = upTo(1, whole.store.writesCount).flatMap((call): CrashPoint[] => [
      { call, when: 'before' },
      { call, when: 'after' },
    ]);
    t.ok(points.length > 40);
    for (const point of points) {
      const what = `${point.when} write ${point.call}`;
      const world = await prepared();
      const node = world.node();
      node.store.crashAt(point);
      const acknowledged = { last: 0 };
      await live(world, node, acknowledged);
      t.ok(node.store.isCrashed, what);
      const next = journalOf(world.node());
      await world.run(next.recoverUnfinalizedSegments());
      await world.run(next.purgeLogsOlderThan(1));
      const found = await readAll(world, await world.run(next.selectInputStreams(Math.max(1, acknowledged.last))));
      if (acknowledged.last > 0) t.equal(found[0], acknowledged.last, `${what}: the last acknowledged edit is there`);
      const first = Math.max(acknowledged.last, found.at(-1) ?? 0) + 1;
      t.ok(first <= acknowledged.last + 2, what);
      await finalized(world, next, first, first + 4);
      t.same(await readAll(world, await world.run(next.selectInputStreams(first))), upTo(first, first + 4), what);
      const names = world.tree.tree.children(`${root}/ledgers`);
      t.ok(
        names.every((name) => name.startsWith('edits_')),
        `${what}: ${names}`,
      );
      t.ok(ledgersOf(world).length <= names.length + 1, `${what}: at most the ledger that was being made is left`);
    }
  },
);

function ledgersOf(world: LogWorld): number[] {
  const found: number[] = [];
  const walk = (path: string) => {
    const id = ledgerIdOfPath(path);
    if (id !== undefined) found.push(Number(id));
    for (const name of world.tree.tree.children(path)) walk(`${path}/${name}`);
  };
  walk('/ledgers');
  return found;
}
