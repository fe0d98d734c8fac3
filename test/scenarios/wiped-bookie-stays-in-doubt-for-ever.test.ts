import { startAutoRecovery } from '@daybook/ledger/repair';
import t from 'tap';
import { RealBookies } from './real-bookies.js';

const password = Buffer.from('secret');
const sizes = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password };
const names = ['b1', 'b2', 'b3'];

t.test(
  '#2612 a bookie lost its disks, and nobody tells it when its word counts again → its ledgers come back, and each of them ends the doubt',
  async (t) => {
    const world = new RealBookies();
    for (const name of names) await world.start(name);
    const owner = await world.process();
    const closed = await world.run(owner.ledgers.create(sizes));
    for (let i = 0; i < 20; i++) await world.run(closed.append(Buffer.from(`entry ${i}`)));
    await world.run(closed.close());
    const live = await world.run(owner.ledgers.create(sizes));
    await world.run(live.append(Buffer.from('entry 0')));
    const autoRecovery = await world.run(startAutoRecovery(await world.process(), { openLedgerRereplicationGracePeriodMs: 5_000 }));
    await world.queue.runFor(1_000);

    await world.stop('b1');
    world.loseDisks('b1');
    await world.start('b1', { dataIntegrityChecking: true });
    t.match(world.bookie('b1').status(), { isLimbo: true, isReadOnly: true });
    const doubt = await world.run(world.bookie('b1').service.listEntries(closed.ledgerId));
    t.equal(doubt.code, 'UNKNOWN_LEDGER_STATE');

    t.ok(await world.until(() => world.have(names, closed.ledgerId, 20), 60_000), 'with no spare: the copies are back where they were');
    t.ok(
      await world.until(async () => world.bookie('b1').status().limboLedgersCount === 1, 30_000),
      'what is left is the ledger that is being written',
    );
    t.equal(world.bookie('b1').isReadOnly, false);
    const next = await world.run(owner.ledgers.create(sizes));
    t.ok(next.metadata.segments[0]?.ensemble.includes(world.bookie('b1').identity.bookieId), 'new ledgers have three bookies again');
    await world.run(next.append(Buffer.from('entry 0')));

    await world.run(live.append(Buffer.from('entry 1')));
    await world.run(live.close());
    t.ok(await world.until(async () => !world.bookie('b1').status().isLimbo, 400_000), 'closed by its writer, copied, and over');
    t.ok(await world.have(names, live.ledgerId, 2));
    await world.stop('b1');
    await world.start('b1');
    t.match(world.bookie('b1').status(), { isLimbo: false, isReadOnly: false }, 'for good');
    await world.run(autoRecovery.close());
  },
);
