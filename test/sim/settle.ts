import type { LedgerId } from '@daybook/proto';
import { checkCopies } from './checkers/copies.js';
import type { ClientRun } from './client-node.js';
import { type LogWorkload, lastReader } from './log-workload.js';
import { type Directory, expected, lookAt } from './workload.js';
import type { World } from './world.js';

/** Longer than all time-outs of a client one after another. */
const livenessMs = 90_000;

/** I17, I18: bookies are back, everybody finishes. */
export async function settle(world: World): Promise<void> {
  if (world.isOver) return;
  const bookies = () => world.bookies.filter((bookie) => !bookie.isLost);
  const clients = () => world.clients.filter((client) => !client.isService && client.state !== 'done');
  const isUp = await world.runUntil(() => bookies().every((bookie) => bookie.state === 'up'), livenessMs);
  if (!isUp && !world.isOver) {
    const down = bookies()
      .filter((bookie) => bookie.state !== 'up')
      .map((bookie) => `${bookie.name} ${bookie.state}`);
    world.history.violate('liveness', `not up ${livenessMs} ms after everything was mended: ${down.join(', ')}`);
  }
  const isDone = await world.runUntil(() => clients().length === 0, livenessMs);
  if (!isDone && !world.isOver) {
    const left = clients().map((client) => client.name);
    world.history.violate('I18', `work not finished ${livenessMs} ms after everything was mended: ${left.join(', ')}`);
  }
}

/** Every ledger can be recovered and read. */
export async function verify(world: World, directory: Directory, log: LogWorkload | undefined): Promise<void> {
  if (world.isOver) return;
  const left = new Set(directory.ledgerIds);
  const script = async (run: ClientRun): Promise<void> => {
    while (left.size > 0) {
      for (const ledgerId of left) {
        if ((await lookAt(world, run, ledgerId, true)) || (await isGone(run, ledgerId))) left.delete(ledgerId);
      }
      await run.clock.sleep(500);
    }
  };
  const verifier = world.addClient('verifier', script);
  verifier.start();
  const isDone = await world.runUntil(() => verifier.state === 'done', livenessMs);
  if (!isDone && !world.isOver) world.history.violate('I17', `ledgers that cannot be recovered and read: ${[...left].join(', ')}`);
  if (log !== undefined && !world.isOver) {
    const reader = world.addClient('reader', lastReader(world, log));
    reader.start();
    const isRead = await world.runUntil(() => reader.state === 'done', livenessMs);
    if (!isRead && !world.isOver) world.history.violate('I17', 'the log cannot be taken over and read');
  }
}

/** The bookies themselves are asked what they have. */
export async function countCopies(world: World, needed?: 'write quorum'): Promise<void> {
  if (world.isOver) return;
  let isChecked = false;
  void checkCopies(world, needed).then(() => {
    isChecked = true;
  });
  const isOk = await world.runUntil(() => isChecked, livenessMs);
  if (!isOk && !world.isOver) world.history.violate('liveness', 'bookies do not answer');
}

async function isGone(run: ClientRun, ledgerId: number): Promise<boolean> {
  try {
    await run.client.metadata(ledgerId as LedgerId);
    return false;
  } catch (error) {
    expected(error);
    return error.code === 'LEDGER_NOT_FOUND';
  }
}
