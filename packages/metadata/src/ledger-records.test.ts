import { bookieId, type EntryId, type LedgerId, type LedgerMetadata, ledgerId } from '@daybook/proto';
import { EventQueue, SimClock, SimRandom } from '@daybook/runtime/sim';
import fc from 'fast-check';
import t from 'tap';
import { createLedgerRecords, type LedgerRecords } from './ledger-records.js';
import { MemoryTree } from './memory-store.js';
import { paths } from './paths.js';

function metadata(creationToken = 7n): LedgerMetadata {
  return {
    formatVersion: 3,
    ensembleSize: 1,
    writeQuorumSize: 1,
    ackQuorumSize: 1,
    state: 'OPEN',
    length: 0,
    lastEntryId: -1 as EntryId,
    segments: [{ firstEntryId: 0 as EntryId, ensemble: [bookieId('b1')] }],
    digestType: 'CRC32C',
    password: new Uint8Array(0),
    createdAtMs: undefined,
    customMetadata: new Map(),
    creationToken,
  };
}

function setup(seed = 1) {
  const queue = new EventQueue({ seed });
  const clock = new SimClock(queue);
  const tree = new MemoryTree();
  const store = tree.openSession({ clock, random: new SimRandom(seed) });
  const other = tree.openSession({ clock });
  return { queue, store, other, records: createLedgerRecords(store), others: createLedgerRecords(other) };
}

async function all(records: LedgerRecords): Promise<LedgerId[]> {
  const ids: LedgerId[] = [];
  for await (const id of records.list()) ids.push(id);
  return ids;
}

const closed = (): LedgerMetadata => ({ ...metadata(0n), state: 'CLOSED', lastEntryId: 4 as EntryId, length: 25 });

t.test('ledger records: created, read, changed, deleted -> as given, with versions', async (tt) => {
  const { records, others } = setup();
  const id = await records.nextLedgerId();
  tt.strictSame(await records.create(id, metadata()), { metadata: metadata(), version: 0 });
  tt.strictSame(await others.read(id), { metadata: metadata(), version: 0 });
  tt.strictSame(await records.write(id, closed(), 0), { metadata: closed(), version: 1 });
  await tt.rejects(others.write(id, metadata(), 0), { code: 'METADATA_BAD_VERSION' });
  await records.delete(id);
  await records.delete(id);
  tt.equal(await records.read(id), undefined);
  await tt.rejects(others.write(id, metadata(), 1), { code: 'METADATA_BAD_VERSION' });
});

t.test('ledger records: changed -> the creation token becomes 0, as in BookKeeper', async (tt) => {
  const { records } = setup();
  await records.create(ledgerId(1), metadata(9n));
  await records.write(ledgerId(1), { ...metadata(9n), state: 'IN_RECOVERY' }, 0);
  tt.equal((await records.read(ledgerId(1)))?.metadata.creationToken, 0n);
});

t.test('ledger records: id in use -> METADATA_EXISTS, also with a token of 0 on both sides', async (tt) => {
  const { records, others } = setup();
  await records.create(ledgerId(1), metadata(1n));
  await tt.rejects(others.create(ledgerId(1), metadata(2n)), { code: 'METADATA_EXISTS' });
  await records.create(ledgerId(2), metadata(0n));
  await tt.rejects(others.create(ledgerId(2), metadata(0n)), { code: 'METADATA_EXISTS' });
});

t.test('ledger records: bytes that are no record -> METADATA_CORRUPT', async (tt) => {
  const { records, store } = setup();
  await store.put(paths.ledger(1), Buffer.from('nonsense'), 'absent');
  await tt.rejects(records.read(ledgerId(1)), { code: 'METADATA_CORRUPT' });
});

t.test('ledger records: lost replies and requests -> every answer agrees with the store', async (tt) => {
  let [settled, unknown] = [0, 0];
  for (let seed = 1; seed <= 200; seed++) {
    const { records, others, store } = setup(seed);
    const id = await others.nextLedgerId();
    store.setFaults({ lostReplies: 300, lostRequests: 200 });
    const outcome = await records.create(id, metadata(BigInt(seed))).then(
      () => 'created',
      (error: { code: string }) => error.code,
    );
    const found = await others.read(id);
    if (outcome === 'created') tt.equal(found?.metadata.creationToken, BigInt(seed));
    else tt.equal(outcome, 'METADATA_UNAVAILABLE');
    if (found === undefined) continue;
    const written = await records.write(id, closed(), 0).then(
      ({ version }) => `version ${version}`,
      (error: { code: string }) => error.code,
    );
    const after = await others.read(id);
    if (written === 'version 1') tt.equal(after?.metadata.state, 'CLOSED');
    else tt.equal(written, 'METADATA_UNAVAILABLE');
    tt.ok((after?.version ?? 0) <= 1, 'written once at most');
    if (written === 'version 1') settled++;
    else unknown++;
  }
  tt.ok(settled > 100 && unknown > 5, `${settled} settled, ${unknown} unknown`);
});

t.test('ledger records: reply lost and then changed by another -> METADATA_BAD_VERSION', async (tt) => {
  const { records, others, store, other } = setup();
  await others.create(ledgerId(1), metadata());
  store.setFaults({ lostReplies: 1000 });
  const original = store.get.bind(store);
  store.get = async (path) => {
    store.get = original;
    store.setFaults({ lostReplies: 0 });
    await other.put(paths.ledger(1), Buffer.from('another one'), 'any');
    return original(path);
  };
  await tt.rejects(records.write(ledgerId(1), closed(), 0), { code: 'METADATA_BAD_VERSION' });
});

t.test('ledger ids: from several sessions, over lost replies and expiries -> never twice', async (tt) => {
  const { records, others, store } = setup(3);
  store.setFaults({ lostReplies: 200 });
  const ids = new Set<number>();
  let drawn = 0;
  for (let round = 0; round < 50; round++) {
    for (const each of await Promise.allSettled([records.nextLedgerId(), others.nextLedgerId(), records.nextLedgerId()])) {
      if (each.status === 'rejected') continue;
      drawn += 1;
      ids.add(each.value);
    }
    if (round % 10 === 0) store.expire();
  }
  tt.equal(ids.size, drawn);
  tt.ok(drawn > 100);
});

t.test('ledger ids: 31 bits used up -> the long generator, n * 2^32 + number', async (tt) => {
  const { store, other } = setup();
  const overrun = new Proxy(store, {
    get(target, key) {
      const member = Reflect.get(target, key);
      if (key !== 'put') return typeof member === 'function' ? member.bind(target) : member;
      return async (...[path, value, expected, options]: Parameters<typeof store.put>) => {
        if (path === paths.ledgerIds) return { path: `${path}-2147483648`, version: 0 };
        return target.put(path, value, expected, options);
      };
    },
  });
  const records = createLedgerRecords(overrun);
  tt.equal(await records.nextLedgerId(), 2 ** 32);
  tt.equal(await records.nextLedgerId(), 2 ** 32 + 1);
  await other.put(paths.longLedgerIdsFrom(2), Buffer.alloc(0), 'absent');
  tt.equal(await records.nextLedgerId(), 2 ** 33);
});

t.test('ledger records: list -> all ids ascending, whatever lies beside them', async (tt) => {
  const { records, store } = setup();
  await store.put(paths.layout, Buffer.from('x'), 'absent');
  await store.put(paths.underreplicatedLedger(5), Buffer.from(''), 'absent');
  await store.put(paths.availableBookie(bookieId('00')), Buffer.from(''), 'absent');
  await store.put('/ledgers/00/0009', Buffer.from(''), 'absent');
  await store.put('/ledgers/00/0000/x', Buffer.from(''), 'absent');
  await records.nextLedgerId();
  const ids = [0, 1, 9_999, 10_000, 12_345, 2_147_483_646, 2_147_483_647, 2_147_483_648, 2 ** 40, Number.MAX_SAFE_INTEGER].map((id) => ledgerId(id));
  for (const id of [...ids].reverse()) await records.create(id, metadata());
  tt.strictSame(await all(records), ids);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.maxSafeNat(), { maxLength: 20 }), async (some) => {
      const fresh = setup();
      for (const id of some) await fresh.records.create(ledgerId(id), metadata());
      return JSON.stringify(await all(fresh.records)) === JSON.stringify([...some].sort((a, b) => a - b));
    }),
    { numRuns: 50 },
  );
});

t.test('ledger records: list with any failing read, or an id beyond 2^53 -> it throws, never a short list', async (tt) => {
  const { records, store } = setup();
  for (const id of [1, 20_000, 2_147_483_647]) await records.create(ledgerId(id), metadata());
  const children = store.children.bind(store);
  let failAt = 0;
  for (; ; failAt++) {
    let call = 0;
    store.children = (path) => (call++ === failAt ? Promise.reject(Object.assign(new Error('cut'), { code: 'X' })) : children(path));
    const result = await all(records).catch((error: { code: string }) => error.code);
    if (Array.isArray(result)) break;
    tt.equal(result, 'X');
  }
  tt.ok(failAt >= 7, `${failAt} reads`);
  store.children = children;
  await store.put(paths.ledger(2n ** 53n), Buffer.from(''), 'absent');
  await tt.rejects(all(records), { code: 'METADATA_CORRUPT' });
});

t.test('ledger records: watch -> called on change and removal', async (tt) => {
  const { records, others } = setup();
  let calls = 0;
  const watch = records.watch(ledgerId(1), () => calls++);
  await others.create(ledgerId(1), metadata());
  await Promise.resolve();
  tt.equal(calls, 1);
  await others.delete(ledgerId(1));
  await Promise.resolve();
  tt.equal(calls, 2);
  watch.stop();
});
