import { createBookieRegistry, createCookieRecords, MemoryTree } from '@daybook/metadata';
import { Metrics, silentLogger } from '@daybook/runtime';
import { SimClock, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { openBookie } from './bookie.js';
import { bookieConfigSchema } from './config.js';
import { bookieMetadata } from './registration.js';
import { entryOf } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

async function filled(): Promise<SimBookie> {
  const sim = new SimBookie({ limits: { logBytesMax: 200 * 1024, openIndexBytesMax: 1 << 20, ledgerCacheBytesMax: 1 << 20 } });
  await sim.start();
  for (let round = 0; round < 150; round++) {
    for (let ledger = 1; ledger <= 4; ledger++) await sim.append({ ledger, first: round * 10, count: 10, bytes: 100 });
  }
  await sim.close();
  await sim.start();
  return sim;
}

t.test('bookie: random single reads from sealed logs → at most one read of the index and one of the log each', async (t) => {
  const sim = await filled();
  const reads: string[] = [];
  const random = new SimRandom('reads');
  // The block tables, 28 bytes per 8 KiB of index, are read once per log.
  for (let id = 0; id < 1500; id += 10) await sim.read(1, [id]);
  sim.disk.beforeOperation = ({ kind, path }) => {
    if (kind === 'read') reads.push(path.slice(-3));
  };
  for (let i = 0; i < 300; i++) {
    const ledger = 1 + (random.u32() % 4);
    const id = random.u32() % 1500;
    reads.length = 0;
    const reply = await sim.read(ledger, [id]);
    t.ok(reply.entries[0]?.equals(entryOf(ledger, id, 100)));
    t.ok(reads.filter((suffix) => suffix === 'idx').length <= 1, `index reads of entry ${id}`);
    t.ok(reads.filter((suffix) => suffix === 'log').length <= 1, `log reads of entry ${id}`);
  }
  await sim.close();
});

t.test('bookie: reading a ledger from end to end → reads ahead: far fewer disk reads than entries', async (t) => {
  const sim = await filled();
  let reads = 0;
  sim.disk.beforeOperation = ({ kind, path }) => {
    if (kind === 'read' && path.endsWith('.log')) reads++;
  };
  for (let id = 0; id < 1500; id++) t.ok((await sim.read(2, [id])).entries[0]?.equals(entryOf(2, id, 100)));
  t.ok(reads < 400, `${reads} reads`);
  await sim.close();
});

t.test('bookie: a flush, however many ledgers → two syncs of log and index', async (t) => {
  const sim = new SimBookie({ limits: { logBytesMax: 1 << 20, openIndexBytesMax: 1 << 20, writeCacheBytesMax: 1 << 20, flushIntervalMs: 1e6 } });
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 1 });
  await sim.flush();
  for (let ledger = 0; ledger < 200; ledger++) await sim.append({ ledger, first: 1, count: 2 });
  const syncs: string[] = [];
  sim.disk.beforeOperation = ({ kind, path }) => {
    if (kind === 'sync') syncs.push(path.split('/').at(-1) as string);
  };
  await sim.flush();
  t.strictSame(syncs.filter((name) => /\.(log|idx)$/.test(name)).length, 2);
  t.strictSame(syncs.length, 5, 'and one of the ledger states, and two of the mark: beside the logs and beside the journal');
  await sim.close();
});

t.test('bookie: second process on the same data → refused', async (t) => {
  const sim = new SimBookie();
  await sim.start();
  const clock = new SimClock(sim.queue, { name: 'other' });
  const other = openBookie({
    config: bookieConfigSchema.parse({ journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] }),
    clock,
    disk: sim.disk.boot(clock),
    random: new SimRandom('other'),
    logger: silentLogger,
    onFatal: () => {},
  });
  await t.rejects(sim.queue.complete(other), { code: 'DISK_LOCKED' });
  await sim.close();
});

t.test('bookie: lost checkpoints or ledger states, entry logs still there → refuses to start', async (t) => {
  for (const name of ['lastMark', 'ledgers']) {
    for (const damage of ['remove', 'flip'] as const) {
      for (const directories of [['/data/ledgers'], ['/data/ledgers', '/data/journal']]) {
        const sim = await filled();
        await sim.close();
        const disk = sim.stoppedDisk();
        for (const directory of directories) {
          if (damage === 'flip') disk.flipBit(`${directory}/${name}`, 30, 1);
          else await sim.queue.complete(disk.remove(`${directory}/${name}`));
        }
        disk.kill();
        const what = `${name} ${damage} ${directories.join()}`;
        if (name === 'lastMark' && directories.length === 1) {
          await sim.start();
          t.equal((await sim.read(1, [0])).code, 'OK', `${what}: there is another copy`);
          await sim.close();
        } else if (name === 'lastMark') {
          await t.rejects(sim.start(), { code: damage === 'flip' ? 'BOOKIE_CHECKPOINT_CORRUPT' : /BOOKIE_(STATE|CHECKPOINT|JOURNAL)_/ }, what);
        } else {
          await t.rejects(sim.start(), { code: 'BOOKIE_STATE_CORRUPT' }, what);
        }
      }
    }
  }
});

t.test(
  'bookie: the log being written cannot be read for a moment at a start → unknown until it is tried again, and nothing of it is lost',
  async (t) => {
    const sim = new SimBookie({ limits: { logBytesMax: 200 * 1024 } });
    await sim.start();
    await sim.append({ ledger: 1, first: 0, count: 8 });
    await sim.close();
    const starting = sim.begin();
    sim.disk.beforeOperation = ({ kind, path }) => {
      if (kind === 'read' && path.endsWith('.idx')) sim.disk.failNextRead();
    };
    sim.bookie = await sim.queue.complete(starting);
    sim.disk.beforeOperation = undefined;
    t.equal((await sim.read(1, [0])).code, 'IO_ERROR');
    await sim.append({ ledger: 1, first: 8, count: 8 });
    await sim.close();
    for (let start = 1; start <= 2; start++) {
      await sim.start();
      t.same((await sim.list(1)).runs, [{ first: 0, last: 15 }], `start ${start}`);
      t.ok((await sim.read(1, [0])).entries[0]?.equals(entryOf(1, 0)), `start ${start}`);
      await sim.restart('none');
      t.same((await sim.list(1)).runs, [{ first: 0, last: 15 }], `after a power cut ${start}`);
      await sim.append({ ledger: 2, first: start, count: 1 });
      await sim.close();
    }
  },
);

t.test('bookie: several ledger directories → logs in both, marks in both, all readable', async (t) => {
  const sim = new SimBookie({ config: { ledgerDirectories: ['/data/one', '/data/two'] } });
  await sim.start();
  for (let round = 0; round < 40; round++) await sim.append({ ledger: 1, first: round * 8, count: 8, bytes: 100 });
  await sim.flush();
  await sim.restart('none');
  for (let id = 0; id < 320; id += 7) t.ok((await sim.read(1, [id])).entries[0]?.equals(entryOf(1, id, 100)));
  for (const directory of ['/data/one', '/data/two']) t.ok(sim.disk.peek(`${directory}/lastMark`));
  await sim.close();
});

t.test('bookie: journalSyncData=false → acknowledged from memory: a power cut loses it, kill -9 does not', async (t) => {
  for (const [how, isThere] of [
    ['crash', false],
    ['kill', true],
  ] as const) {
    const sim = new SimBookie({ config: { journalSyncData: false } });
    await sim.start();
    t.equal(await sim.append({ ledger: 1, first: 0, count: 1 }), 'OK');
    if (how === 'crash') sim.disk.crash({ keep: 'none' });
    else sim.disk.kill();
    await sim.start();
    t.equal((await sim.read(1, [0])).code === 'OK', isThere, how);
    await sim.close();
  }
});

t.test('bookie: with a metadata store → stamped, registered, seen by others; gone after close', async (t) => {
  const tree = new MemoryTree();
  const sim = new SimBookie({
    metadata: ({ clock }) => {
      const store = tree.openSession({ clock });
      return bookieMetadata(store, { clock, random: new SimRandom('cluster'), logger: silentLogger, onFailure: () => {} });
    },
  });
  const bookie = await sim.start();
  const clock = new SimClock(sim.queue, { name: 'others' });
  const others = tree.openSession({ clock });
  const registry = await sim.queue.complete(createBookieRegistry(others, { clock }));
  t.strictSame(registry.list(), [], 'nobody is told before it is asked to register');
  await sim.queue.complete(bookie.register({ address: '127.0.0.1:3181', httpAddress: '127.0.0.1:8000' }));
  await sim.queue.runFor(20_000);
  const { bookieId, incarnation } = bookie.identity;
  t.strictSame(registry.list(), [{ bookieId, incarnation, address: '127.0.0.1:3181', httpAddress: '127.0.0.1:8000', isWritable: true }]);
  t.ok(await createCookieRecords(others).read(bookieId));
  await sim.close();
  await sim.queue.runFor(20_000);
  t.strictSame(registry.list(), []);
  const again = await sim.start();
  t.match(again.identity, { bookieId, incarnation, isKnown: true });
  await sim.close();
});

t.test('bookie: metrics → say what it did', async (t) => {
  const metrics = new Metrics();
  const sim = new SimBookie({ metrics });
  await sim.start();
  await sim.append({ ledger: 1, first: 0, count: 5 });
  await sim.read(1, [0, 1]);
  await sim.read(1, [99]);
  await sim.flush();
  const text = await metrics.text();
  for (const line of [
    'daybook_bookie_append_entries_total 5',
    'daybook_bookie_append_seconds_count 1',
    'daybook_bookie_read_entries_total 2',
    'daybook_bookie_read_failures_total{code="NO_ENTRY"} 1',
    'daybook_bookie_flush_seconds_count 1',
    'daybook_bookie_entry_logs 1',
    'daybook_bookie_ledgers 1',
    'daybook_bookie_journal_sync 1',
    'daybook_bookie_disk_free_bytes{directory="/data/ledgers"}',
  ]) {
    t.ok(text.includes(line), line);
  }
  await sim.close();
});
