import { createCookieRecords } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { type LedgerReport, type RecoverProgress, recoverBookies } from './recover-bookies.js';
import { RepairWorld } from './testing/repair-world.js';

const b1 = 'b1' as BookieId;

async function ledgers(world: RepairWorld, count: number): Promise<LedgerId[]> {
  const ids: LedgerId[] = [];
  for (let i = 0; i < count; i++) ids.push(await world.ledger({ count: 20 }));
  return ids;
}

async function naming(world: RepairWorld, ids: readonly LedgerId[]): Promise<LedgerId[]> {
  const out: LedgerId[] = [];
  for (const ledgerId of ids) if ((await world.metadata(ledgerId)).segments.some(({ ensemble }) => ensemble.includes(b1))) out.push(ledgerId);
  return out;
}

t.test('recover: query and dry-run → which ledgers, how many entries, what is in the way; nothing is changed', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 6);
  const named = await naming(world, ids);
  world.cluster.kill('b1');
  const tools = await world.tools();
  const reports: LedgerReport[] = [];
  const onLedger = (report: LedgerReport) => void reports.push(report);
  t.match(await world.run(recoverBookies(tools, { bookies: [b1], mode: 'query', onLedger })), { reports: { named: named.length }, entriesCopied: 0 });
  t.same(reports.map(({ ledgerId }) => ledgerId).sort(), named);
  t.match(reports[0], { fragmentsCount: 1, entriesCount: 20, isOpen: false });
  world.cluster.kill('b2');
  reports.length = 0;
  await world.run(recoverBookies(tools, { bookies: [b1], mode: 'dry-run', onLedger }));
  t.ok(reports.some(({ reason }) => reason?.includes('no bookie can take the place of b1') === true));
  t.same(await naming(world, ids), named);
});

t.test('recover: done → all copies moved, progress told, cookie deleted', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await world.addCookies('b1');
  const ids = await ledgers(world, 10);
  const named = await naming(world, ids);
  world.cluster.kill('b1');
  const tools = await world.tools();
  const told: RecoverProgress[] = [];
  const result = await world.run(recoverBookies(tools, { bookies: [b1], deleteCookie: true, onProgress: (progress) => void told.push(progress) }));
  t.match(result, { reports: { repaired: named.length, failed: 0 }, entriesCopied: named.length * 20, cookiesDeleted: ['b1'] });
  t.same(await naming(world, ids), []);
  for (const ledgerId of ids) t.same(await world.holes(ledgerId), []);
  t.match(told[0], { ledgersDone: 0, ledgersTotal: named.length, remainingMs: undefined });
  t.match(told.at(-1), { ledgersDone: named.length, remainingMs: 0 });
  t.equal(await world.run(createCookieRecords(world.admin.session).read(b1)), undefined);
  t.match(await world.run(recoverBookies(tools, { bookies: [b1] })), { reports: { repaired: 0, whole: 0 } }, 'again');
});

t.test('recover: the bookie is up and writable → emptied all the same, also as a source; its cookie is kept', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 5);
  const tools = await world.tools();
  t.match(await world.rejection(recoverBookies(tools, { bookies: [b1], deleteCookie: true })), { code: 'REPAIR_BOOKIE_UP' });
  await world.run(recoverBookies(tools, { bookies: [b1] }));
  t.same(await naming(world, ids), []);
  for (const ledgerId of ids) t.same(await world.holes(ledgerId), []);
});

t.test('recover: only one ledger → the others stay', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 10);
  const [one, ...others] = await naming(world, ids);
  world.cluster.kill('b1');
  await world.run(recoverBookies(await world.tools(), { bookies: [b1], ledgerId: one as LedgerId }));
  t.same(await naming(world, ids), others);
});

t.test('recover: open ledgers → skipped when wanted, otherwise closed and repaired', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const node = world.addNode();
  const ids: LedgerId[] = [];
  for (let i = 0; i < 6; i++) ids.push(await world.ledger({ count: 5, isOpen: true, node }));
  await world.run(node.client.close());
  const named = await naming(world, ids);
  world.cluster.kill('b1');
  const tools = await world.tools();
  t.match(await world.run(recoverBookies(tools, { bookies: [b1], skipOpenLedgers: true })), { reports: { skipped: named.length, repaired: 0 } });
  t.same(await naming(world, ids), named);
  t.match(await world.run(recoverBookies(tools, { bookies: [b1] })), { reports: { repaired: named.length } });
  for (const ledgerId of named) t.equal((await world.metadata(ledgerId)).state, 'CLOSED');
});

t.test('recover: a ledger cannot be repaired → the first one ends it, or all such are told and skipped', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await world.addCookies('b1');
  const ids = await ledgers(world, 8);
  const named = await naming(world, ids);
  const bad = named[1] as LedgerId;
  for (const name of await world.ensemble(bad)) if (name !== 'b1') world.cluster.bookie(name).forget(bad, 3);
  world.cluster.kill('b1');
  const tools = await world.tools();
  t.match(await world.rejection(recoverBookies(tools, { bookies: [b1], concurrentLedgersMax: 1 })), { code: 'REPAIR_ENTRY_UNREADABLE' });
  const reports: LedgerReport[] = [];
  const onLedger = (report: LedgerReport) => void reports.push(report);
  const skipping = recoverBookies(tools, { bookies: [b1], skipUnrecoverableLedgers: true, deleteCookie: true, onLedger });
  t.match(await world.rejection(skipping), { code: 'REPAIR_STILL_NAMED', message: new RegExp(`ledger ${bad} among them`) });
  t.match(
    reports.find(({ outcome }) => outcome === 'failed'),
    { ledgerId: bad, reason: /entry 3/ },
  );
  t.same(await naming(world, ids), [bad]);
  t.ok(await world.run(createCookieRecords(world.admin.session).read(b1)), 'the cookie stays');
});

t.test('recover: a worker is busy with the ledger → waited for, then told who has it (P12)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 3);
  const [first] = await naming(world, ids);
  world.cluster.kill('b1');
  const worker = await world.tools();
  const lock = await world.run(worker.locks.tryLock(first as LedgerId));
  const tools = await world.tools();
  const waiting = recoverBookies(tools, { bookies: [b1], ledgerId: first as LedgerId, lockWaitMs: 10_000 });
  t.match(await world.rejection(waiting), { code: 'REPAIR_LEDGER_LOCKED', message: /node-2/ });
  t.same(await naming(world, [first as LedgerId]), [first]);
  const again = recoverBookies(tools, { bookies: [b1], ledgerId: first as LedgerId });
  await world.runFor(2_000);
  await world.run(lock?.release() as Promise<void>);
  t.match(await world.run(again), { reports: { repaired: 1 } });
});

t.test('recover: while it copies the ledger is locked → a collector of unowned copies leaves it alone (P12)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ledgerId = await world.ledger({ count: 5_000 });
  const [source] = await world.ensemble(ledgerId);
  world.cluster.kill(source as string);
  const tools = await world.tools(world.addNode(), { replicationRateByEntries: 1_000 });
  const running = recoverBookies(tools, { bookies: [source as BookieId] });
  await world.runFor(2_000);
  const collector = await world.tools();
  t.equal(await world.run(collector.locks.tryLock(ledgerId)), undefined);
  t.match(await world.run(running), { reports: { repaired: 1 } });
  t.ok(await world.run(collector.locks.tryLock(ledgerId)));
});

t.test('recover: stopped → ends soon, what is done stays done', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 20);
  world.cluster.kill('b1');
  const named = await naming(world, ids);
  const stop = new AbortController();
  const tools = await world.tools(world.addNode(), { replicationRateByEntries: 100 });
  const running = recoverBookies(tools, {
    bookies: [b1],
    stop: stop.signal,
    onLedger: () => stop.abort(),
  });
  t.match(await world.rejection(running), { code: 'REPAIR_STOPPED' });
  const left = await naming(world, ids);
  t.ok(left.length > 0 && left.length < named.length, `${left.length} of ${named.length}`);
});
