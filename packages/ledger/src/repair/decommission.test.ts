import { type BookieRegistry, createCookieRecords } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { cancelDecommission, type DecommissionProgress, decommissionBookie } from './decommission.js';
import { deleteCookieOf } from './recover-bookies.js';
import { RepairWorld } from './testing/repair-world.js';

const b1 = 'b1' as BookieId;

async function drained(world: RepairWorld, ledgerIds: readonly LedgerId[]): Promise<boolean> {
  for (const ledgerId of ledgerIds) if ((await world.metadata(ledgerId)).segments.some(({ ensemble }) => ensemble.includes(b1))) return false;
  return true;
}

async function ledgers(world: RepairWorld, count: number): Promise<LedgerId[]> {
  const ids: LedgerId[] = [];
  for (let i = 0; i < count; i++) ids.push(await world.ledger({ count: 20 }));
  return ids;
}

t.test('decommission: a bookie that is down → all copies moved, nothing names it, its cookie is gone', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 20);
  await world.addCookies('b1', 'b2', 'b3', 'b4', 'b5');
  const recovery = await world.autoRecovery();
  const tools = await world.tools();
  await world.run(tools.settings.setDelay(3_600));
  world.cluster.kill('b1');
  const told: DecommissionProgress[] = [];
  const result = await world.run(decommissionBookie(tools, { bookieId: b1, onProgress: (progress) => void told.push(progress) }));
  t.equal(result.isCookieDeleted, true);
  t.ok(result.ledgersMoved > 0);
  t.ok(await drained(world, ids));
  for (const ledgerId of ids) t.same(await world.holes(ledgerId), []);
  t.equal(await world.run(createCookieRecords(world.admin.session).read(b1)), undefined);
  t.same([...(await world.run(tools.settings.drainingBookies()))], []);
  t.same(
    told.map(({ phase }) => phase).filter((phase, i, all) => phase !== all[i - 1]),
    ['marking', 'moving', 'verifying', 'done'],
  );
  t.match(told.at(-1), { ledgersLeft: 0, ledgersTotal: result.ledgersMoved });
  await world.run(recovery.close());
});

t.test('decommission: a read-only bookie → emptied, and read from, while it is up', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  // The only other copy of an entry is damaged: it can come from the draining bookie alone.
  const ledgerId = await world.ledger({ count: 20, quorum: [2, 2, 2] });
  const ensemble = await world.ensemble(ledgerId);
  const draining = ensemble[0] as BookieId;
  world.cluster.bookie(ensemble[1] as string).damage(ledgerId, 7);
  world.cluster.register(draining, { isWritable: false });
  const recovery = await world.autoRecovery();
  const tools = await world.tools();
  const result = await world.run(decommissionBookie(tools, { bookieId: draining, deleteCookie: false }));
  t.match(result, { ledgersMoved: 1, isCookieDeleted: false });
  t.notOk((await world.ensemble(ledgerId)).includes(draining));
  t.same(await world.holes(ledgerId), []);
  t.ok(await world.isReadable(ledgerId, 20));
  await world.run(recovery.close());
});

t.test('decommission: a bookie that takes entries, or whose cookie cannot go → refused before anything is done', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 3);
  const tools = await world.tools();
  t.match(await world.rejection(decommissionBookie(tools, { bookieId: b1 })), { code: 'REPAIR_BOOKIE_WRITABLE' });
  world.cluster.register('b1', { isWritable: false });
  t.match(await world.rejection(decommissionBookie(tools, { bookieId: b1 })), { code: 'REPAIR_BOOKIE_UP' });
  world.cluster.kill('b1');
  await world.run(tools.settings.setEnabled(false));
  t.match(await world.rejection(decommissionBookie(tools, { bookieId: b1 })), { code: 'REPAIR_DISABLED' });
  t.equal(await world.run(tools.underReplication.count()), 0);
  t.same([...(await world.run(tools.settings.drainingBookies()))], []);
  t.ok(ids);
});

t.test('decommission: the bookie starts again while its cookie is being deleted → it keeps it', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  world.cluster.kill('b1');
  const tools = await world.tools();
  const cookies = createCookieRecords(world.admin.session);
  const cookie = Buffer.from('of b1');
  await world.run(cookies.write(b1, cookie, 'absent'));
  for (const registeredAt of ['before', 'after']) {
    let isRegistered = false;
    // The list of bookies is a moment old, as lists are.
    const registry: BookieRegistry = {
      list: () => [],
      get: () => undefined,
      isRegistered: async () => isRegistered,
      onChange: () => ({ stop: () => undefined }),
      close: () => undefined,
    };
    const starting = {
      ...cookies,
      delete: async (id: BookieId, version: number | 'any') => {
        await cookies.delete(id, version);
        isRegistered = true;
      },
    };
    if (registeredAt === 'before') isRegistered = true;
    t.match(await world.rejection(deleteCookieOf({ ...tools, registry, cookies: starting }, b1)), { code: 'REPAIR_BOOKIE_UP' });
    t.same((await world.run(cookies.read(b1)))?.bytes, cookie, registeredAt);
  }
});

t.test('decommission: watched, broken off, watched again → it went on by itself; an estimate is given', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 60);
  world.cluster.kill('b1');
  const node = world.addNode();
  const recovery = await world.autoRecovery({ replicationRateByEntries: 100, concurrentLedgersMax: 1 }, node);
  const tools = await world.tools();
  const stop = new AbortController();
  const told: DecommissionProgress[] = [];
  const watching = decommissionBookie(tools, {
    bookieId: b1,
    stop: stop.signal,
    onProgress: (progress) => {
      told.push(progress);
      if (progress.phase === 'moving' && progress.remainingMs !== undefined) stop.abort();
    },
  });
  t.match(await world.rejection(watching), { code: 'REPAIR_STOPPED' });
  t.ok(told.at(-1)?.remainingMs);
  t.same([...(await world.run(tools.settings.drainingBookies()))], ['b1']);
  await world.runFor(60_000);
  t.ok(await drained(world, ids));
  const result = await world.run(decommissionBookie(tools, { bookieId: b1 }));
  t.equal(result.ledgersMoved, 0);
  await world.run(recovery.close());
});

t.test('decommission: on the way → each ledger that is moved counts, and the estimate is near what it takes in the end', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await ledgers(world, 60);
  world.cluster.kill('b1');
  const recovery = await world.autoRecovery({ replicationRateByEntries: 100, concurrentLedgersMax: 1 });
  const tools = await world.tools();
  const moving: DecommissionProgress[] = [];
  const onProgress = (progress: DecommissionProgress) => {
    if (progress.phase === 'moving') moving.push(progress);
  };
  const { elapsedMs, ledgersMoved } = await world.run(decommissionBookie(tools, { bookieId: b1, deleteCookie: false, onProgress }), 600_000);
  t.ok(moving.length > 5 && new Set(moving.map(({ ledgersLeft }) => ledgersLeft)).size > 5, 'it tells while it goes on');
  for (const [i, { ledgersTotal, ledgersLeft }] of moving.entries()) {
    t.ok(ledgersTotal === ledgersMoved && ledgersLeft <= (moving[i - 1]?.ledgersLeft ?? ledgersTotal));
  }
  const halfWay = moving.find(({ ledgersTotal, ledgersLeft }) => ledgersLeft <= ledgersTotal / 2);
  const expectedMs = (halfWay?.elapsedMs ?? 0) + (halfWay?.remainingMs ?? 0);
  t.ok(Math.abs(expectedMs - elapsedMs) < elapsedMs / 3, `half way it expects ${expectedMs} ms, and takes ${elapsedMs} ms`);
  await world.run(recovery.close());
});

t.test('decommission: cancelled → the bookie keeps what it still has', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await ledgers(world, 3);
  world.cluster.register('b1', { isWritable: false });
  const tools = await world.tools();
  const stop = new AbortController();
  const watching = decommissionBookie(tools, { bookieId: b1, deleteCookie: false, stop: stop.signal });
  await world.runFor(5_000);
  stop.abort();
  await world.rejection(watching);
  await world.run(cancelDecommission(tools, b1));
  t.same([...(await world.run(tools.settings.drainingBookies()))], []);
});

t.test('decommission: it takes entries again on the way → refused, told', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await ledgers(world, 10);
  world.cluster.register('b1', { isWritable: false });
  const tools = await world.tools();
  const watching = decommissionBookie(tools, { bookieId: b1, deleteCookie: false });
  await world.runFor(3_000);
  world.cluster.register('b1');
  t.match(await world.rejection(watching), { code: 'REPAIR_BOOKIE_WRITABLE' });
});

t.test('decommission: an open ledger of an idle writer names it → closed after the grace period, then moved', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const node = world.addNode();
  const ids: LedgerId[] = [];
  for (let i = 0; i < 5; i++) ids.push(await world.ledger({ count: 10, isOpen: true, node }));
  await world.run(node.client.close());
  world.cluster.kill('b1');
  const recovery = await world.autoRecovery();
  const tools = await world.tools();
  await world.run(decommissionBookie(tools, { bookieId: b1 }));
  t.ok(await drained(world, ids));
  for (const ledgerId of ids) t.same(await world.holes(ledgerId), []);
  await world.run(recovery.close());
});
