import { numbered, password, pushAll, SimWorld } from '@daybook/ledger/testing';
import t from 'tap';
import { openLedger, recover } from './open-ledger.js';

/** Acknowledged by two of three bookies; one of the two has lost its disks since, the other one is silent. */
async function wiped({ isInLimbo }: { isInLimbo: boolean }) {
  const world = new SimWorld({ delayMs: 1 });
  const { writer, told, ensemble } = await openLedger(world);
  const [neverHad, forgetful, silent] = ensemble.map((name) => world.cluster.bookie(name));
  if (neverHad === undefined || forgetful === undefined || silent === undefined) throw new Error('three bookies');
  neverHad.refuseAppends = 'IO_ERROR';
  pushAll(writer, numbered(3));
  await world.runFor(50);
  const acknowledged = told.confirmed;
  forgetful.loseMemory();
  forgetful.isInLimbo = isInLimbo;
  silent.stall();
  return { world, ledgerId: writer.ledgerId, acknowledged, silent };
}

t.test('#2612 a bookie with wiped disks says "nothing here", and acknowledged entries are cut off → in limbo it does not know', async (t) => {
  const { world, ledgerId, acknowledged, silent } = await wiped({ isInLimbo: true });
  t.equal(acknowledged, 2);
  const opening = world.cluster.connect().client.openWithRecovery(ledgerId, { password });
  t.equal((await world.rejection(opening)).code, 'LEDGER_RECOVERY_FAILED');
  silent.resume();
  t.equal((await recover(world, ledgerId)).lastAddConfirmed, 2);
});

t.test('#2612 its "nothing was ever confirmed" is believed by readers → in limbo it does not count', async (t) => {
  const { world, ledgerId } = await wiped({ isInLimbo: true });
  const reader = await world.run(world.cluster.connect().client.openWithoutRecovery(ledgerId, { password }));
  t.equal((await world.rejection(reader.readLastAddConfirmed())).code, 'LEDGER_LAC_UNKNOWN');
});

t.test('#2612 what limbo is for: without it two honest-looking negatives are a proof', async (t) => {
  const { world, ledgerId } = await wiped({ isInLimbo: false });
  t.equal((await recover(world, ledgerId)).lastAddConfirmed, -1);
});
