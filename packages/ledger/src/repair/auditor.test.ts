import type { BookieId, LedgerId } from '@daybook/proto';
import { Metrics } from '@daybook/runtime';
import t from 'tap';
import { Auditor, readAuditor } from './auditor.js';
import type { AuditorOptions } from './auditor-term.js';
import type { RepairTools } from './auto-recovery.js';
import { RepairMetrics } from './repair-metrics.js';
import { type RepairNode, RepairWorld } from './testing/repair-world.js';

/** Checks that run by themselves are off, unless a test is about them. */
const quiet: Partial<AuditorOptions> = { auditorPeriodicCheckIntervalMs: 0, auditorReplicasCheckIntervalMs: 0 };

interface Auditing {
  auditor: Auditor;
  tools: RepairTools;
  node: RepairNode;
  metrics: Metrics;
}

async function auditing(world: RepairWorld, options: Partial<AuditorOptions> = {}): Promise<Auditing> {
  const node = world.addNode();
  const metrics = new Metrics();
  const tools = { ...(await world.tools(node)), metrics: new RepairMetrics(metrics) };
  const auditor = new Auditor({ ...tools, store: node.session, name: node.parts.name }, { ...quiet, ...options });
  auditor.start();
  await world.runFor(100);
  return { auditor, tools, node, metrics };
}

async function marked(world: RepairWorld, tools: RepairTools): Promise<string[]> {
  const out: string[] = [];
  const list = async () => {
    for await (const id of tools.underReplication.list())
      out.push(`${id}: ${[...((await tools.underReplication.read(id))?.mark.replicas ?? [])].sort().join(' ')}`);
  };
  await world.run(list());
  return out;
}

/** What should be marked for these bookies. */
async function naming(world: RepairWorld, ledgerIds: readonly LedgerId[], ...names: string[]): Promise<string[]> {
  const out: string[] = [];
  for (const ledgerId of ledgerIds) {
    const metadata = await world.metadata(ledgerId);
    const named = names.filter((name) => metadata.segments.some(({ ensemble }) => ensemble.includes(name as BookieId)));
    if (named.length > 0) out.push(`${ledgerId}: ${named.join(' ')}`);
  }
  return out;
}

async function ledgers(world: RepairWorld, count: number): Promise<LedgerId[]> {
  const ids: LedgerId[] = [];
  for (let i = 0; i < count; i++) ids.push(await world.ledger({ count: 5 }));
  return ids;
}

t.test('auditor: a bookie is lost → all its ledgers are marked at once, no others', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 10);
  const { tools, auditor } = await auditing(world);
  t.same(await marked(world, tools), []);
  world.cluster.kill('b2');
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  await world.run(auditor.close());
});

t.test('auditor: dead before it came → found in the ledgers’ records, and by its cookie', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 10);
  await world.addCookies('b1', 'b2', 'b3', 'b4', 'b5');
  world.cluster.kill('b4');
  const { tools, auditor } = await auditing(world);
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b4'));
  await world.run(auditor.close());
});

t.test('auditor: with a delay, one is lost → waited for; it returns → nothing is marked', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await ledgers(world, 5);
  const node = await world.tools();
  await world.run(node.settings.setDelay(60));
  const { tools, auditor, metrics } = await auditing(world);
  world.cluster.kill('b2');
  await world.runFor(50_000);
  t.same(await marked(world, tools), []);
  world.cluster.restart('b2');
  await world.runFor(120_000);
  t.same(await marked(world, tools), []);
  const text = await metrics.text();
  t.match(text, /auditor_NUM_BOOKIE_AUDITS_DELAYED 1\n/);
  t.match(text, /auditor_NUM_DELAYED_BOOKIE_AUDITS_DELAYES_CANCELLED 1\n/);
  await world.run(auditor.close());
});

t.test('auditor: with a delay, it does not return → marked when the delay is over', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  await world.run((await world.tools()).settings.setDelay(60));
  const { tools, auditor } = await auditing(world);
  world.cluster.kill('b2');
  await world.runFor(59_000);
  t.same(await marked(world, tools), []);
  await world.runFor(2_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  await world.run(auditor.close());
});

t.test('auditor: with a delay, a second one is lost → both at once', async (t) => {
  const world = new RepairWorld({ bookiesCount: 6 });
  const ids = await ledgers(world, 8);
  await world.run((await world.tools()).settings.setDelay(600));
  const { tools, auditor } = await auditing(world);
  world.cluster.kill('b2');
  await world.runFor(5_000);
  world.cluster.kill('b3');
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2', 'b3'));
  await world.run(auditor.close());
});

t.test('auditor: periodic bookie check while a bookie is waited for → it is not marked (#3817)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  await ledgers(world, 5);
  await world.run((await world.tools()).settings.setDelay(600));
  const { tools, auditor } = await auditing(world, { auditorPeriodicBookieCheckIntervalMs: 1_000 });
  world.cluster.kill('b2');
  await world.runFor(30_000);
  t.same(await marked(world, tools), []);
  await world.run(auditor.close());
});

t.test('auditor: an audit is triggered while a bookie is waited for → marked now', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  await world.run((await world.tools()).settings.setDelay(600));
  const { tools, auditor } = await auditing(world);
  world.cluster.kill('b2');
  await world.runFor(5_000);
  await world.run(tools.settings.triggerAudit());
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  await world.run(auditor.close());
});

t.test('auditor: every bookie vanishes → nothing is marked', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  await ledgers(world, 5);
  const { tools, auditor } = await auditing(world);
  for (const { bookieId } of world.cluster.registry.list()) world.cluster.kill(bookieId);
  await world.runFor(200_000);
  t.same(await marked(world, tools), []);
  await world.run(auditor.close());
});

t.test('auditor: more than half vanish at once → held back and said, until they are back or an operator insists', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 8);
  const { tools, auditor, node, metrics } = await auditing(world);
  for (const name of ['b1', 'b2', 'b3']) world.cluster.kill(name);
  await world.runFor(200_000);
  t.same(await marked(world, tools), []);
  t.match(await metrics.text(), /auditor_NUM_BOOKIE_AUDITS_HELD_BACK [1-9]/);
  const said = node.log.lines.find(({ text }) => text.includes('held back'));
  t.match(said?.fields.error, { code: 'REPAIR_TOO_MANY_LOST', message: /^3 of 5 bookies are gone at once \(b\d, b\d, b\d\)/ });
  world.cluster.restart('b3');
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b1', 'b2'));
  world.cluster.kill('b3');
  await world.runFor(100_000);
  await world.run(tools.settings.triggerAudit());
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b1', 'b2', 'b3'));
  await world.run(auditor.close());
});

t.test('auditor: a listing of ledgers fails → nothing is concluded; it begins again', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  const { tools, auditor, node } = await auditing(world);
  node.session.setFaults({ lostReplies: 200, lostRequests: 200, delayMsMax: 5 });
  world.cluster.kill('b2');
  await world.runFor(120_000);
  node.session.setFaults({ lostReplies: 0, lostRequests: 0 });
  await world.runFor(5_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  await world.run(auditor.close());
});

t.test('auditor: a read-only bookie → not lost', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  await ledgers(world, 3);
  const { tools, auditor } = await auditing(world);
  world.cluster.register('b1', { isWritable: false });
  await world.runFor(10_000);
  t.same(await marked(world, tools), []);
  await world.run(auditor.close());
});

t.test('auditor: a bookie returns with holes → its ledgers with holes are marked, the others not', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 6);
  const { tools, auditor } = await auditing(world);
  world.cluster.kill('b1');
  await world.runFor(1_000);
  for await (const id of tools.underReplication.list())
    await world.run(tools.underReplication.done((await world.run(tools.underReplication.read(id))) as never));
  const [holed] = (await naming(world, ids, 'b1')).map((line) => Number(line.split(':')[0]) as LedgerId);
  world.cluster.bookie('b1').forget(holed as LedgerId, 2);
  world.cluster.restart('b1');
  await world.runFor(1_000);
  t.same(await marked(world, tools), [`${holed}: b1`]);
  await world.run(auditor.close());
});

t.test('auditor: a bookie is up with new disks, without having been away → its ledgers are marked (P5)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 6);
  const { tools, auditor } = await auditing(world);
  world.cluster.bookie('b1').wipe();
  world.cluster.register('b1');
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b1'));
  await world.run(auditor.close());
});

t.test('auditor: a ledger was open while one of its bookies was away → looked at again once it is closed', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const node = world.addNode();
  const writer = await world.run(node.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('secret') }));
  const { tools, auditor } = await auditing(world);
  const push = async (count: number) => {
    for (let i = 0; i < count; i++) writer.push(Buffer.from('x'));
    const last = writer.lastAddPushed;
    t.ok(await world.until(() => writer.lastAddConfirmed === last, 20_000));
  };
  await push(3);
  world.cluster.kill('b3');
  await push(3);
  await world.runFor(1_000);
  const mark = await world.run(tools.underReplication.read(writer.ledgerId));
  t.ok(mark, 'while it is away');
  await world.run(tools.underReplication.done(mark as never));
  world.cluster.restart('b3');
  await world.runFor(10_000);
  await push(3);
  t.same(await marked(world, tools), []);
  await world.run(writer.close());
  await world.runFor(61_000);
  t.same(await marked(world, tools), [`${writer.ledgerId}: b3`]);
  await world.run(auditor.close());
});

t.test('auditor: copies vanish from a bookie that is up → the comparison of lists finds them', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 4);
  const { tools, auditor } = await auditing(world, { auditorReplicasCheckIntervalMs: 600_000 });
  await world.runFor(1_000);
  const [, second] = await world.ensemble(ids[2] as LedgerId);
  world.cluster.bookie(second as string).forget(ids[2] as LedgerId, 1);
  await world.runFor(590_000);
  t.same(await marked(world, tools), []);
  await world.runFor(20_000);
  t.same(await marked(world, tools), [`${ids[2]}: ${second}`]);
  await world.run(auditor.close());
});

t.test('auditor: a copy is damaged on disk → the check that reads finds it and marks it so', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  const ids = await ledgers(world, 4);
  const [first] = await world.ensemble(ids[1] as LedgerId);
  world.cluster.bookie(first as string).damage(ids[1] as LedgerId, 2);
  const { tools, auditor } = await auditing(world, { auditorPeriodicCheckIntervalMs: 600_000, auditorLedgerVerificationPercentage: 100 });
  await world.runFor(2_000);
  t.same(await marked(world, tools), [`${ids[1]}: ${first}`]);
  t.equal((await world.run(tools.underReplication.read(ids[1] as LedgerId)))?.mark.isDamaged, true);
  await world.run(auditor.close());
});

t.test('auditor: the next auditor → goes on with the times of the checks, does not begin them again', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  await ledgers(world, 4);
  const one = await auditing(world, { auditorReplicasCheckIntervalMs: 3_600_000 });
  await world.runFor(1_000);
  const atMs = await world.run(one.tools.settings.readCheckTime('replicas'));
  t.ok(atMs);
  world.listCounts.clear();
  await world.run(one.auditor.close());
  const two = await auditing(world, { auditorReplicasCheckIntervalMs: 3_600_000 });
  await world.runFor(60_000);
  t.equal(two.auditor.isLeading, true);
  t.equal(world.listCounts.size, 0);
  await world.run(two.tools.settings.forgetCheckTime('replicas'));
  await world.runFor(1_000);
  t.ok(world.listCounts.size > 0, 'forgotten, it runs at once');
  await world.run(two.auditor.close());
});

t.test('auditor: a stalled bookie → does not keep a check waiting ledger by ledger (#2506)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 4 });
  await ledgers(world, 200);
  world.cluster.bookie('b1').stall();
  const { tools, auditor } = await auditing(world, { auditorReplicasCheckIntervalMs: 3_600_000 });
  const startMs = world.clock.monoMs();
  t.ok(await world.until(async () => (await tools.settings.readCheckTime('replicas')) !== undefined, 60_000));
  t.ok(world.clock.monoMs() - startMs < 15_000, `${world.clock.monoMs() - startMs} ms`);
  t.same(await marked(world, tools), []);
  await world.run(auditor.close());
});

t.test('auditor: two candidates → one leads, the other takes over when its session is lost; tools see who', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  const one = await auditing(world);
  const two = await auditing(world);
  t.same([one.auditor.isLeading, two.auditor.isLeading], [true, false]);
  t.equal(await world.run(readAuditor(one.node.session)), one.node.parts.name);
  const vote = await world.run(one.node.session.get('/ledgers/underreplication/auditorelection/V_0000000000'));
  t.equal(vote?.value.toString(), `bookieId: "${one.node.parts.name}"\n`);
  t.equal(
    (await world.run(one.node.session.get('/ledgers/underreplication/auditorelection')))?.value.toString(),
    `bookieId: "${one.node.parts.name}"\n`,
  );
  one.node.session.suspend();
  await world.runFor(15_000);
  t.same([one.auditor.isLeading, two.auditor.isLeading], [false, true]);
  world.cluster.kill('b2');
  await world.runFor(1_000);
  t.same(await marked(world, two.tools), await naming(world, ids, 'b2'));
  one.node.session.resume();
  await world.runFor(1_000);
  t.same([one.auditor.isLeading, two.auditor.isLeading], [false, true]);
  await world.run(Promise.all([one.auditor.close(), two.auditor.close()]));
});

t.test('auditor: switched off → nothing is marked; switched on → it is', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  const { tools, auditor } = await auditing(world);
  await world.run(tools.settings.setEnabled(false));
  world.cluster.kill('b2');
  await world.runFor(120_000);
  t.same(await marked(world, tools), []);
  await world.run(tools.settings.setEnabled(true));
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  await world.run(auditor.close());
});

t.test('auditor: a record that cannot be read → told, and the other ledgers are audited', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 5);
  await world.run(world.admin.session.put('/ledgers/00/0000/L9999', Buffer.from('rubbish'), 'absent'));
  const { tools, auditor, node } = await auditing(world);
  world.cluster.kill('b2');
  await world.runFor(1_000);
  t.same(await marked(world, tools), await naming(world, ids, 'b2'));
  t.ok(node.log.lines.some(({ level, fields }) => level === 'error' && fields.ledgerId === 9_999));
  await world.run(auditor.close());
});

t.test('auditor: placement check → ledgers counted and told, none marked', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ids = await ledgers(world, 6);
  const problemOf = (_sizes: unknown, ensemble: readonly BookieId[]) => (ensemble.includes('b1' as BookieId) ? 'b1 stands alone' : undefined);
  const options = { auditorPeriodicPlacementPolicyCheckIntervalMs: 60_000, placementProblem: problemOf };
  const { tools, auditor, metrics } = await auditing(world, options);
  await world.runFor(1_000);
  const expected = (await naming(world, ids, 'b1')).length;
  t.match(await metrics.text(), new RegExp(`NOT_ADHERING_TO_PLACEMENT_POLICY_GAUGE ${expected}\n`));
  t.same(await marked(world, tools), []);
  await world.run(auditor.close());
});
