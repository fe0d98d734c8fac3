import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import type { RepairTools } from './auto-recovery.js';
import type { Presence } from './ledger-check.js';
import { type RepairOutcome, type RepairRequest, repairLedger } from './ledger-repair.js';
import { RepairWorld } from './testing/repair-world.js';

interface Copied {
  entries: number;
  bytes: number;
}

async function repairing(
  world: RepairWorld,
): Promise<{ tools: RepairTools; copied: Copied; repair: (id: LedgerId, request?: Partial<RepairRequest>) => Promise<RepairOutcome> }> {
  const tools = await world.tools();
  const copied: Copied = { entries: 0, bytes: 0 };
  const presence = (bookieId: BookieId): Presence => (world.cluster.registry.get(bookieId) === undefined ? 'gone' : 'up');
  const repair = (ledgerId: LedgerId, request: Partial<RepairRequest> = {}) =>
    repairLedger(tools, {
      ledgerId,
      presence,
      isAvoided: () => false,
      closesOpen: false,
      stop: new AbortController().signal,
      onCopied: ({ entries, bytes }) => {
        copied.entries += entries;
        copied.bytes += bytes;
      },
      ...request,
    });
  return { tools, copied, repair };
}

const otherThan = (names: readonly string[]): string => ['b1', 'b2', 'b3', 'b4'].find((name) => !names.includes(name)) as string;

t.test('repair: a bookie is lost → its copies are on the spare, and only its place changed', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 100 });
  const before = await world.metadata(ledgerId);
  const ensemble = await world.ensemble(ledgerId);
  const spare = otherThan(ensemble);
  world.cluster.kill(ensemble[1] as string);
  const { repair, copied } = await repairing(world);
  t.same(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: true });
  t.same(await world.holes(ledgerId), []);
  t.equal(copied.entries, 100);
  t.same(await world.metadata(ledgerId), { ...before, segments: [{ firstEntryId: 0, ensemble: ensemble.with(1, spare) }] });
  t.ok(await world.isReadable(ledgerId, 100));
});

t.test('repair: striped → only the entries of that place are copied', async (t) => {
  const world = new RepairWorld({ bookiesCount: 6 });
  const ledgerId = await world.ledger({ count: 100, quorum: [5, 2, 2] });
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const { repair, copied } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.same(await world.holes(ledgerId), []);
  t.equal(copied.entries, 40);
  t.ok(await world.isReadable(ledgerId, 100));
});

t.test('repair: two bookies lost at once → both places, on different spares', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const ledgerId = await world.ledger({ count: 30 });
  const [one, two] = await world.ensemble(ledgerId);
  world.cluster.kill(one as string);
  world.cluster.kill(two as string);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.same(await world.holes(ledgerId), []);
  t.equal(new Set(await world.ensemble(ledgerId)).size, 3);
});

t.test('repair: two bookies lost at once → copied side by side, in the time of one', async (t) => {
  const tookMs: number[] = [];
  for (const lostCount of [1, 2]) {
    const world = new RepairWorld({ bookiesCount: 5 });
    const ledgerId = await world.ledger({ count: 3_000 });
    for (const bookie of world.cluster.bookies.values()) bookie.delayMs = 100;
    for (const name of (await world.ensemble(ledgerId)).slice(0, lostCount)) world.cluster.kill(name);
    const { repair } = await repairing(world);
    const startMs = world.clock.monoMs();
    t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
    tookMs.push(world.clock.monoMs() - startMs);
    t.same(await world.holes(ledgerId), []);
  }
  const [one = 0, two = 0] = tookMs;
  t.ok(one >= 400 && two < one * 1.3, `${two} ms against ${one} ms`);
});

t.test('repair: nothing is missing any more → nothing is copied or written (P14)', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const version = (await world.run(world.admin.records.read(ledgerId)))?.version;
  const { repair, copied } = await repairing(world);
  t.same(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: false });
  t.same(copied, { entries: 0, bytes: 0 });
  t.equal((await world.run(world.admin.records.read(ledgerId)))?.version, version);
});

t.test('repair: new disks under the old name and no spare → filled up where it is, the record stays (P13)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 60 });
  const before = await world.metadata(ledgerId);
  world.cluster.bookie('b2').wipe();
  world.cluster.register('b2');
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: true });
  t.same(await world.holes(ledgerId), []);
  t.same(await world.metadata(ledgerId), before);
});

t.test('repair: holes from a time without a spare → just the holes are filled, though a spare is up now', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 60 });
  const [, second] = await world.ensemble(ledgerId);
  for (let id = 20; id < 35; id++) world.cluster.bookie(second as string).forget(ledgerId, id);
  const { repair, copied } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.equal(copied.entries, 15);
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: the bookie is fenced for the ledger → copies pass (R17)', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const node = world.addNode();
  const ledgerId = await world.ledger({ count: 20, isOpen: true, node });
  await world.run(node.client.close());
  t.ok(await world.isReadable(ledgerId, 20), 'recovered');
  t.equal(world.cluster.bookie('b2').isFenced(ledgerId), true);
  world.cluster.bookie('b2').forget(ledgerId, 11);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: true });
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: no spare for a lost bookie → fails and says so; with one it goes on', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 10 });
  world.cluster.kill('b2');
  const { repair } = await repairing(world);
  const failed = await world.run(repair(ledgerId));
  t.match(failed, { outcome: 'failed', problems: [{ code: 'REPAIR_NO_TARGET', message: /b2 .*start another one/ }] });
  world.cluster.addBookie('b9');
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.same((await world.ensemble(ledgerId)).sort(), ['b1', 'b3', 'b9']);
});

t.test('repair: the record is changed only after all entries are on the target (R17)', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 50 });
  const ensemble = await world.ensemble(ledgerId);
  const spare = world.cluster.bookie(otherThan(ensemble));
  world.cluster.kill(ensemble[0] as string);
  spare.intercept = (request) => (request === 'append' ? 'IO_ERROR' : undefined);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'failed', problems: [{ code: 'REPAIR_TARGET_FAILED' }] });
  t.same(await world.ensemble(ledgerId), ensemble);
});

t.test('repair: an entry that no replica can give → fails with its number; the record stays', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 50 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  world.cluster.bookie(ensemble[1] as string).forget(ledgerId, 17);
  world.cluster.bookie(ensemble[2] as string).damage(ledgerId, 17);
  const { repair } = await repairing(world);
  const outcome = await world.run(repair(ledgerId));
  t.equal(outcome.outcome, 'failed');
  const text = outcome.outcome === 'failed' ? outcome.problems.map(({ message }) => message).join('\n') : '';
  t.match(text, /entry 17 of ledger/);
  t.match(text, new RegExp(`${ensemble[2]}: DIGEST_MISMATCH`));
  t.same(await world.ensemble(ledgerId), ensemble);
});

t.test('repair: a replica gives damaged entries → they come from the other one', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 50 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  for (const id of [0, 7, 8, 49]) world.cluster.bookie(ensemble[1] as string).damage(ledgerId, id);
  for (const id of [9, 10]) world.cluster.bookie(ensemble[2] as string).damage(ledgerId, id);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  world.cluster.kill(ensemble[1] as string);
  world.cluster.kill(ensemble[2] as string);
  t.ok(await world.isReadable(ledgerId, 50), 'from the copies alone');
});

t.test('repair: damaged entries, found by reading → written anew in their place', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 50 });
  const [first] = await world.ensemble(ledgerId);
  world.cluster.bookie(first as string).damage(ledgerId, 12);
  const { repair, copied } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: false }, 'a list does not show it');
  t.match(await world.run(repair(ledgerId, { readPercent: 100 })), { outcome: 'whole', isChanged: true });
  t.equal(copied.entries, 1);
  t.match(await world.run(repair(ledgerId, { readPercent: 100 })), { outcome: 'whole', isChanged: false });
});

t.test('repair: filling up in place does not help → a spare takes the place', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 20 });
  const ensemble = await world.ensemble(ledgerId);
  const bad = world.cluster.bookie(ensemble[0] as string);
  bad.forget(ledgerId, 5);
  bad.refuseAppends = 'READ_ONLY';
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.same(await world.ensemble(ledgerId), ensemble.with(0, otherThan(ensemble)));
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: an empty ledger on a lost bookie → gets a new home (BOOKKEEPER-742)', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 0 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[2] as string);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole', isChanged: true });
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: deleted before → done; deleted while it is copied → done', async (t) => {
  const world = new RepairWorld();
  const { repair, tools } = await repairing(world);
  t.same(await world.run(repair(777 as LedgerId)), { outcome: 'deleted' });
  const ledgerId = await world.ledger({ count: 30 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  const onCopied = () => void tools.records.delete(ledgerId).catch(() => undefined);
  t.same(await world.run(repair(ledgerId, { onCopied })), { outcome: 'deleted' });
});

t.test('repair: another took the place meanwhile → its choice stays', async (t) => {
  const world = new RepairWorld({ bookiesCount: 6 });
  const ledgerId = await world.ledger({ count: 30 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  const one = await repairing(world);
  const two = await repairing(world);
  const outcomes = await world.run(Promise.all([one.repair(ledgerId), two.repair(ledgerId)]));
  for (const outcome of outcomes) t.match(outcome, { outcome: 'whole' });
  t.same(await world.holes(ledgerId), []);
  const history = (await world.run(world.admin.records.read(ledgerId)))?.version;
  t.ok((history as number) <= 3, 'the place was given away once');
});

t.test('repair: the bookie is missing from the part that is still written → left alone, its writer not disturbed', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const writerNode = world.addNode();
  const ledgerId = await world.ledger({ count: 10, isOpen: true, node: writerNode });
  world.cluster.kill('b3');
  const { repair } = await repairing(world);
  const version = (await world.run(world.admin.records.read(ledgerId)))?.version;
  t.match(await world.run(repair(ledgerId, { closesOpen: true })), { outcome: 'open', missing: ['b3'], hasSpare: false });
  t.equal((await world.metadata(ledgerId)).state, 'OPEN', 'closing it would help nobody');
  t.equal((await world.run(world.admin.records.read(ledgerId)))?.version, version);
});

t.test('repair: the writer is dead and there is a spare → recovered, closed, repaired', async (t) => {
  const world = new RepairWorld();
  const writerNode = world.addNode();
  const ledgerId = await world.ledger({ count: 10, isOpen: true, node: writerNode });
  await world.run(writerNode.client.close());
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[1] as string);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'open', missing: [ensemble[1]], hasSpare: true });
  t.match(await world.run(repair(ledgerId, { closesOpen: true })), { outcome: 'whole', isChanged: true });
  t.match(await world.metadata(ledgerId), { state: 'CLOSED', lastEntryId: 9 });
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: older parts of an open ledger → repaired, the live part untouched; its writer goes on', async (t) => {
  const world = new RepairWorld({ bookiesCount: 5 });
  const node = world.addNode();
  const writer = await world.run(node.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('secret') }));
  for (let i = 0; i < 5; i++) writer.push(Buffer.from(`ledger ${writer.ledgerId} entry ${i}`));
  await world.until(() => writer.lastAddConfirmed === 4, 1_000);
  const first = await world.ensemble(writer.ledgerId);
  world.cluster.kill(first[0] as string);
  for (let i = 5; i < 10; i++) writer.push(Buffer.from(`ledger ${writer.ledgerId} entry ${i}`));
  await world.until(() => writer.lastAddConfirmed === 9, 20_000);
  await world.until(async () => (await world.admin.records.read(writer.ledgerId))?.metadata.segments.length === 2, 20_000);
  const live = await world.ensemble(writer.ledgerId, 1);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(writer.ledgerId)), { outcome: 'whole', isChanged: true });
  t.same(await world.holes(writer.ledgerId), []);
  t.same(await world.ensemble(writer.ledgerId, 1), live);
  for (let i = 10; i < 15; i++) writer.push(Buffer.from(`ledger ${writer.ledgerId} entry ${i}`));
  t.ok(await world.until(() => writer.lastAddConfirmed === 14, 5_000));
  t.match(await world.run(writer.close()), { lastEntryId: 14 }, 'its close is not in conflict (BOOKKEEPER-112)');
  t.ok(await world.isReadable(writer.ledgerId, 15));
});

t.test('repair: the target gets new disks before the record is changed → the record does not name it', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 40 });
  const ensemble = await world.ensemble(ledgerId);
  const spare = otherThan(ensemble);
  world.cluster.kill(ensemble[0] as string);
  const { repair } = await repairing(world);
  let isWiped = false;
  const onCopied = () => {
    if (isWiped) return;
    isWiped = true;
    world.cluster.bookie(spare).wipe();
    world.cluster.register(spare);
  };
  const outcome = await world.run(repair(ledgerId, { onCopied }));
  t.match(outcome, { outcome: 'failed', problems: [{ code: 'REPAIR_TARGET_FAILED', message: /it was replaced/ }] });
  t.same(await world.ensemble(ledgerId), ensemble);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' }, 'the next time on its new disks');
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: broken off and begun again → goes on with the same spare, what it has is not copied twice', async (t) => {
  const world = new RepairWorld({ bookiesCount: 8 });
  const ledgerId = await world.ledger({ count: 15_000 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  const { repair, copied } = await repairing(world);
  const targets = new Map<string, BookieId>();
  const stop = new AbortController();
  const brokenOff = await world.rejection(
    repair(ledgerId, {
      targets,
      stop: stop.signal,
      onCopied: ({ entries }) => {
        copied.entries += entries;
        stop.abort();
      },
    }),
  );
  t.match(brokenOff, { code: 'REPAIR_STOPPED' });
  t.ok(copied.entries > 0 && copied.entries < 15_000, `${copied.entries} copied`);
  t.match(await world.run(repair(ledgerId, { targets })), { outcome: 'whole' });
  t.equal(copied.entries, 15_000);
  t.equal((await world.ensemble(ledgerId))[0], [...targets.values()][0]);
});

t.test('repair: the store’s answer to the change is lost → it is found out, the ledger is whole', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = new RepairWorld({ seed });
    const ledgerId = await world.ledger({ count: 20 });
    const ensemble = await world.ensemble(ledgerId);
    world.cluster.kill(ensemble[0] as string);
    const node = world.addNode();
    const tools = await world.tools(node);
    node.session.setFaults({ lostReplies: 300, lostRequests: 100, delayMsMax: 10 });
    const presence = (bookieId: BookieId): Presence => (world.cluster.registry.get(bookieId) === undefined ? 'gone' : 'up');
    const request = { ledgerId, presence, isAvoided: () => false, closesOpen: false, stop: new AbortController().signal };
    let outcome: RepairOutcome | undefined;
    for (let i = 0; i < 30 && outcome?.outcome !== 'whole'; i++) {
      outcome = await world.run(repairLedger(tools, request).catch(() => undefined));
    }
    t.equal(outcome?.outcome, 'whole', `seed ${seed}`);
    t.same(await world.holes(ledgerId), []);
  }
});

t.test('repair: a bookie that is up and cannot tell → not whole, nothing copied', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const [first] = await world.ensemble(ledgerId);
  world.listReplies.set(first as string, { code: 'IO_ERROR', runs: [] });
  const { repair, copied } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'failed', problems: [{ code: 'REPAIR_MEMBER_UNKNOWN' }] });
  t.equal(copied.entries, 0);
});

t.test('repair: a bookie that is away, and that nobody has called lost → waited for by others, here it is no matter', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const ensemble = await world.ensemble(ledgerId);
  world.cluster.kill(ensemble[0] as string);
  const { repair } = await repairing(world);
  const presence = (bookieId: BookieId): Presence => (world.cluster.registry.get(bookieId) === undefined ? 'away' : 'up');
  t.same(await world.run(repair(ledgerId, { presence })), { outcome: 'whole', isChanged: false });
  t.same(await world.ensemble(ledgerId), ensemble);
});

t.test('repair: a busy target → asked again until it takes the copies', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 30 });
  const ensemble = await world.ensemble(ledgerId);
  const spare = world.cluster.bookie(otherThan(ensemble));
  world.cluster.kill(ensemble[0] as string);
  let refusals = 0;
  spare.intercept = (request) => (request === 'append' && refusals++ < 5 ? 'TOO_MANY_REQUESTS' : undefined);
  const { repair } = await repairing(world);
  t.match(await world.run(repair(ledgerId)), { outcome: 'whole' });
  t.same(await world.holes(ledgerId), []);
});

t.test('repair: a record that does not tell its password → refused, not guessed', async (t) => {
  const world = new RepairWorld();
  const ledgerId = await world.ledger({ count: 10 });
  const { records } = world.admin;
  const stored = await world.run(records.read(ledgerId));
  const { repair, tools } = await repairing(world);
  const [lost] = await world.ensemble(ledgerId);
  world.cluster.kill(lost as string);
  const read = tools.records.read.bind(tools.records);
  tools.records.read = async (id) => {
    const found = await read(id);
    return found && { ...found, metadata: { ...found.metadata, namesNoDigest: true } };
  };
  t.ok(stored);
  t.match(await world.run(repair(ledgerId)), { outcome: 'failed', problems: [{ code: 'REPAIR_NEEDS_PASSWORD' }] });
});
