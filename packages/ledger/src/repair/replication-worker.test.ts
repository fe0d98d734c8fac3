import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import type { RepairTools } from './auto-recovery.js';
import { ReplicationWorker, type ReplicationWorkerOptions } from './replication-worker.js';
import { type RepairNode, RepairWorld } from './testing/repair-world.js';

interface Working {
  worker: ReplicationWorker;
  tools: RepairTools;
  node: RepairNode;
}

async function working(world: RepairWorld, options: Partial<ReplicationWorkerOptions> = {}): Promise<Working> {
  const node = world.addNode();
  const tools = await world.tools(node);
  const worker = new ReplicationWorker(tools, options);
  worker.start();
  await world.runFor(10);
  return { worker, tools, node };
}

const isUnmarked = (tools: RepairTools, ledgerId: LedgerId) => async () => (await tools.underReplication.read(ledgerId)) === undefined;

t.test('worker: a marked ledger of a lost bookie → whole, the mark and the lock gone, within a second', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 100 });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 1_000));
  t.same(await world.holes(ledgerId), []);
  await world.runFor(100);
  t.equal(await world.run(tools.locks.holder(ledgerId)), undefined);
  await world.run(worker.close());
});

t.test('worker: the bookie is back when the mark is taken → unmarked without a copy (P14)', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 100 });
  const before = await world.ensemble(ledgerId);
  const [lost] = before;
  const { tools, worker } = await working(world);
  const appends = () => [...world.cluster.bookies.values()].reduce((sum, { appendsCount }) => sum + appendsCount, 0);
  const appendsBefore = appends();
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 1_000));
  t.equal(appends(), appendsBefore);
  t.same(await world.ensemble(ledgerId), before);
  await world.run(worker.close());
});

t.test('worker: a second bookie of the ledger is away, but not called lost → only the lost one is replaced (P14)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ledgerId = await world.ledger({ count: 100 });
  const ensemble = await world.ensemble(ledgerId);
  const [lost, away] = ensemble;
  world.cluster.kill(lost as string);
  world.cluster.kill(away as string);
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 1_000));
  const after = await world.ensemble(ledgerId);
  t.not(after[0], lost);
  t.equal(after[1], away);
  await world.run(worker.close());
});

t.test('worker: switched off → nothing is done until it is switched on', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  await world.run((await world.tools()).settings.setEnabled(false));
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  await world.runFor(30_000);
  t.equal(await world.run(isUnmarked(tools, ledgerId)()), false);
  await world.run(tools.settings.setEnabled(true));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 1_000));
  await world.run(worker.close());
});

t.test('worker: an open ledger, its writer alive with a spare → the writer replaces the bookie itself and is not fenced', async (t) => {
  const world = new RepairWorld();
  const node = world.addNode();
  const writer = await world.run(node.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('secret') }));
  writer.push(Buffer.from('a'));
  await world.until(() => writer.lastAddConfirmed === 0, 1_000);
  const [lost] = await world.ensemble(writer.ledgerId);
  const { tools, worker } = await working(world);
  world.cluster.kill(lost as string);
  await world.run(tools.underReplication.mark(writer.ledgerId, [lost as BookieId]));
  await world.runFor(10_000);
  writer.push(Buffer.from('b'));
  t.ok(await world.until(() => writer.lastAddConfirmed === 1, 20_000));
  t.ok(await world.until(isUnmarked(tools, writer.ledgerId), 60_000));
  t.equal((await world.metadata(writer.ledgerId)).state, 'OPEN');
  writer.push(Buffer.from('c'));
  t.ok(await world.until(() => writer.lastAddConfirmed === 2, 5_000));
  await world.run(worker.close());
});

t.test('worker: an open ledger whose writer is dead → after the grace period closed and repaired', async (t) => {
  const world = new RepairWorld();
  const node = world.addNode();
  const ledgerId = await world.ledger({ count: 10, isOpen: true, node });
  await world.run(node.client.close());
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  await world.runFor(29_000);
  t.equal((await world.metadata(ledgerId)).state, 'OPEN', 'its writer has its time');
  t.ok(await world.run(tools.locks.holder(ledgerId)), 'under the lock');
  t.ok(await world.until(isUnmarked(tools, ledgerId), 5_000));
  t.match(await world.metadata(ledgerId), { state: 'CLOSED', lastEntryId: 9 });
  t.same(await world.holes(ledgerId), []);
  await world.run(worker.close());
});

t.test('worker: open ledgers that wait → keep nobody else from being repaired', async (t) => {
  const world = new RepairWorld();
  const node = world.addNode();
  const open: LedgerId[] = [];
  for (let i = 0; i < 8; i++) open.push(await world.ledger({ count: 1, isOpen: true, node }));
  await world.run(node.client.close());
  const closed = await world.ledger({ count: 10 });
  world.cluster.kill('b1');
  const { tools, worker } = await working(world, { concurrentLedgersMax: 2 });
  for (const ledgerId of [...open, closed]) await world.run(tools.underReplication.mark(ledgerId, ['b1' as BookieId]));
  t.ok(await world.until(isUnmarked(tools, closed), 5_000));
  t.ok(await world.until(async () => (await tools.underReplication.count()) === 0, 60_000));
  for (const ledgerId of open) t.same(await world.holes(ledgerId), []);
  await world.run(worker.close());
});

t.test('worker: no spare → tried less and less often, given up loudly with the reason; a new bookie → repaired at once (P13)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  world.cluster.kill('b2');
  const { tools, worker, node } = await working(world, { repairRoundsMax: 5 });
  await world.run(tools.underReplication.mark(ledgerId, ['b2' as BookieId]));
  await world.runFor(60_000);
  const early = node.log.lines.filter(({ text }) => text.includes('could not be repaired now')).length;
  t.ok(early >= 2 && early <= 4, `${early} tries in the first minute`);
  t.ok(await world.until(() => node.log.lines.some(({ level }) => level === 'error'), 400_000));
  const said = node.log.lines.find(({ level }) => level === 'error');
  t.match(said?.fields, { ledgerId, rounds: 5, reason: /no bookie can take the place of b2/ });
  t.match(worker.troubled, [{ ledgerId, isGivenUp: true, reason: /b2/ }]);
  t.equal(await world.run(tools.locks.holder(ledgerId)), undefined, 'others may try');
  await world.runFor(600_000);
  t.equal(node.log.lines.filter(({ level }) => level === 'error').length, 1, 'said once');
  world.cluster.addBookie('b4');
  t.ok(await world.until(isUnmarked(tools, ledgerId), 2_000));
  t.same(await world.holes(ledgerId), []);
  t.same(worker.troubled, []);
  await world.run(worker.close());
});

t.test('worker: one ledger cannot be repaired → the others are, meanwhile', async (t) => {
  const world = new RepairWorld();
  const bad = await world.ledger({ count: 10 });
  const [first, ...rest] = await world.ensemble(bad);
  for (const name of rest) world.cluster.bookie(name).forget(bad, 3);
  const good = [await world.ledger({ count: 10 }), await world.ledger({ count: 10 })];
  world.cluster.kill(first as string);
  const { tools, worker } = await working(world, { concurrentLedgersMax: 1 });
  for (const ledgerId of [bad, ...good]) await world.run(tools.underReplication.mark(ledgerId, [first as BookieId]));
  for (const ledgerId of good) t.ok(await world.until(isUnmarked(tools, ledgerId), 5_000));
  t.match(worker.troubled, [{ ledgerId: bad, reason: /entry 3/ }]);
  await world.run(worker.close());
});

t.test('worker: a ledger that was deleted → done (-25)', async (t) => {
  const world = new RepairWorld();
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(4_711 as LedgerId, ['b1' as BookieId]));
  t.ok(await world.until(isUnmarked(tools, 4_711 as LedgerId), 1_000));
  await world.run(worker.close());
});

t.test('worker: the metadata cannot tell whether the ledger exists → not done', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const { tools, worker, node } = await working(world);
  await world.run((await world.tools()).underReplication.mark(ledgerId, [lost as BookieId]));
  node.session.suspend();
  await world.runFor(5_000);
  node.session.resume();
  t.ok(await world.until(isUnmarked(tools, ledgerId), 60_000));
  t.same(await world.holes(ledgerId), []);
  await world.run(worker.close());
});

t.test('worker: its session is lost while it copies → another takes over, nothing is done twice', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 20_000 });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const one = await working(world);
  await world.run(one.tools.underReplication.mark(ledgerId, [lost as BookieId]));
  t.ok(await world.until(async () => (await one.tools.locks.holder(ledgerId)) !== undefined, 1_000));
  one.node.session.expire();
  const two = await working(world);
  t.ok(await world.until(isUnmarked(two.tools, ledgerId), 20_000));
  t.same(await world.holes(ledgerId), []);
  t.equal(new Set(await world.ensemble(ledgerId)).size, 3);
  await world.run(Promise.all([one.worker.close(), two.worker.close()]));
});

t.test('worker: several workers, many ledgers → each is repaired once', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ledgerIds: LedgerId[] = [];
  for (let i = 0; i < 30; i++) ledgerIds.push(await world.ledger({ count: 20 }));
  world.cluster.kill('b1');
  const workers = [await working(world), await working(world), await working(world)];
  const { tools } = workers[0] as Working;
  const named: LedgerId[] = [];
  for (const ledgerId of ledgerIds) if ((await world.ensemble(ledgerId)).includes('b1')) named.push(ledgerId);
  for (const ledgerId of named) await world.run(tools.underReplication.mark(ledgerId, ['b1' as BookieId]));
  t.ok(await world.until(async () => (await tools.underReplication.count()) === 0, 20_000));
  for (const ledgerId of ledgerIds) t.same(await world.holes(ledgerId), []);
  const repairs = workers.flatMap(({ node }) => node.log.lines.filter(({ text }) => text.includes('all its copies again')));
  t.equal(repairs.length, named.length);
  await world.run(Promise.all(workers.map(({ worker }) => worker.close())));
});

t.test('worker: damaged copies → read through and written anew', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 100 });
  world.cluster.bookie('b2').damage(ledgerId, 41);
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, ['b2' as BookieId], { isDamaged: true }));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 2_000));
  world.cluster.kill('b1');
  world.cluster.kill('b3');
  t.ok(await world.isReadable(ledgerId, 100));
  await world.run(worker.close());
});

t.test('worker: a rate is set → copying takes its time', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 2_000 });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const node = world.addNode();
  const tools = await world.tools(node, { replicationRateByEntries: 500 });
  const worker = new ReplicationWorker(tools);
  worker.start();
  const startMs = world.clock.monoMs();
  await world.run(tools.underReplication.mark(ledgerId, [lost as BookieId]));
  t.ok(await world.until(isUnmarked(tools, ledgerId), 60_000));
  const tookMs = world.clock.monoMs() - startMs;
  t.ok(tookMs >= 1_500 && tookMs < 6_000, `${tookMs} ms`);
  await world.run(worker.close());
});

t.test('worker: closed while it copies → ends at once, the mark stays for others', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 20_000 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  const { tools, worker } = await working(world);
  await world.run(tools.underReplication.mark(ledgerId, [ensemble[0] as BookieId]));
  await world.until(async () => (await tools.locks.holder(ledgerId)) !== undefined, 1_000);
  await world.run(worker.close(), 5_000);
  t.ok(await world.run(tools.underReplication.read(ledgerId)));
  t.equal(await world.run(tools.locks.holder(ledgerId)), undefined);
  t.same(await world.ensemble(ledgerId), ensemble);
});

t.test('worker: many ledgers cannot be repaired → told in one line now and then, not one by one', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ids: LedgerId[] = [];
  for (let i = 0; i < 100; i++) ids.push(await world.ledger({ count: 1 }));
  world.cluster.kill('b2');
  const { tools, worker, node } = await working(world, { repairRoundsMax: 3 });
  for (const ledgerId of ids) await world.run(tools.underReplication.mark(ledgerId, ['b2' as BookieId]));
  await world.runFor(900_000);
  t.equal(worker.troubled.length, 100);
  const loud = node.log.lines.filter(({ level }) => level === 'warn' || level === 'error');
  t.ok(loud.length < 50, `${loud.length} lines`);
  t.match(loud.at(-1), { fields: { count: 100, givenUpCount: 100, reason: /b2/ } });
  world.cluster.addBookie('b4');
  t.ok(await world.until(async () => (await tools.underReplication.count()) === 0, 30_000));
  await world.run(worker.close());
});
