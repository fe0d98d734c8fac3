import type { BookieId, LedgerId } from '@daybook/proto';
import t from 'tap';
import { repairLedger } from './ledger-repair.js';
import { RepairWorld } from './testing/repair-world.js';

/** It has forgotten everything, knows that it may have, and takes nothing but copies. */
function forget(world: RepairWorld, name: string): void {
  const bookie = world.cluster.bookie(name);
  bookie.loseMemory();
  bookie.isInLimbo = true;
  world.cluster.register(name, { isWritable: false });
}

async function repair(world: RepairWorld, ledgerId: LedgerId) {
  const tools = await world.tools();
  const request = { ledgerId, presence: () => 'up' as const, isAvoided: () => false, closesOpen: false, stop: new AbortController().signal };
  return world.run(repairLedger(tools, request));
}

t.test('repair: a bookie in limbo → filled up where it is, read-only or not, with a spare or without; the record stays', async (t) => {
  for (const bookiesCount of [3, 4]) {
    const world = new RepairWorld({ bookiesCount });
    const ledgerId = await world.ledger({ count: 60 });
    const before = await world.metadata(ledgerId);
    const [forgetful] = await world.ensemble(ledgerId);
    forget(world, forgetful as string);
    t.same(await repair(world, ledgerId), { outcome: 'whole', isChanged: true });
    t.same(await world.holes(ledgerId), []);
    t.same(await world.metadata(ledgerId), before);
    t.same(await repair(world, ledgerId), { outcome: 'whole', isChanged: false }, 'nothing is missing any more, though it is still in limbo');
  }
});

t.test('repair: a bookie in limbo is in the part that is still written to → open, until its writer has closed it', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 5, isOpen: true });
  forget(world, 'b1');
  const outcome = await repair(world, ledgerId);
  t.match(outcome, { outcome: 'open', hasSpare: false, problem: { code: 'REPAIR_LEDGER_OPEN' } });
});

t.test(
  'autorecovery: a bookie comes back in limbo → closed ledgers are filled up, dead writers’ ones closed first, live ones left alone',
  async (t) => {
    const world = new RepairWorld({ bookiesCount: 4 });
    const dying = world.addNode();
    const closed = await world.ledger({ count: 20 });
    const dead = await world.ledger({ count: 10, isOpen: true, node: dying });
    await world.run(dying.client.close());
    const live = await world.run(
      world.admin.client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('secret') }),
    );
    await world.run(live.append(Buffer.from('a')));
    const daemon = await world.autoRecovery();
    await world.runFor(500);
    const [forgetful] = await world.ensemble(dead);
    world.cluster.kill(forgetful as string);
    world.cluster.bookie(forgetful as string).start();
    world.cluster.bookie(forgetful as string).wipe();
    forget(world, forgetful as string);
    await world.run(live.append(Buffer.from('b')));
    t.ok(await world.until(() => daemon.worker.workingCount > 0, 10_000));
    await world.runFor(40_000);
    t.match(await world.metadata(dead), { state: 'CLOSED', lastEntryId: 9 });
    t.ok(await world.areWhole([closed, dead], 60_000));
    t.equal((await world.metadata(live.ledgerId)).state, 'OPEN');
    await world.run(live.append(Buffer.from('c')));
    t.notOk((await world.ensemble(live.ledgerId, live.metadata.segments.length - 1)).includes(forgetful as string));
    await world.run(live.close());
    await world.run(daemon.close());
  },
);

t.test('auditor: a new one, and a bookie has been in limbo for a while → what it lacks is marked and filled up', async (t) => {
  const world = new RepairWorld({ bookiesCount: 3 });
  const ledgerId = await world.ledger({ count: 20 });
  forget(world, 'b2');
  const daemon = await world.autoRecovery({ auditorPeriodicCheckIntervalMs: 0, auditorReplicasCheckIntervalMs: 0 });
  t.ok(await world.areWhole([ledgerId], 20_000));
  t.ok((await world.ensemble(ledgerId)).includes('b2' as BookieId));
  await world.run(daemon.close());
});
