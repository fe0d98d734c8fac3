import { type AutoRecoveryOptions, startAutoRecovery } from '@daybook/ledger/repair';
import { below } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import { repairBookieLimits } from './bookie-node.js';
import { Repair } from './checkers/repair.js';
import type { Script } from './client-node.js';
import { followerScript } from './cluster-workload.js';
import { drawLog, drawWorkload } from './ledger-world.js';
import { logScript } from './log-workload.js';
import { Losses, operatorScript, partsOf } from './losses.js';
import { drawFaults, Nemesis } from './nemesis.js';
import { countCopies, settle, verify } from './settle.js';
import { Directory, expected, ledgerScript } from './workload.js';
import { World, type WorldOptions } from './world.js';

const safetyMs = { from: 4_000, to: 15_000 };
/** From the last fault until everything has all its copies: periodic checks, grace for open ledgers, back-offs, one after another. */
const repairedMs = 300_000;
/** What was recovered or repaired is left alone for 30 s; some rounds after that. */
const collectedMs = 60_000;

/** The world of ledgers with everything that repairs: auditors, replication workers, an operator; and with disks that are lost whole. */
export async function runClusterWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  const { random } = world;
  world.ledgers.isRepaired = true;
  world.bookieLimits = repairBookieLimits;
  world.collectsGarbage = random.fork('garbage').chance(0.5);
  world.claims.collectsGarbage = world.collectsGarbage;
  const racks = random.fork('racks');
  if (racks.chance(0.3)) world.racksCount = 2 + below(racks, 2);
  const repair = world.history.add(new Repair(world.history, world.claims));
  world.onWiped = (bookie) => repair.wiped(bookie);
  const losses = new Losses(world, repair);
  const bookiesCount = 4 + below(random, 2);
  for (let i = 1; i <= bookiesCount; i++) world.addBookie(`b${i}`);
  const directory = new Directory();
  const plan = { ...drawFaults(random.fork('faults')), bitRot: 0 };
  // One bookie may be lost, and its copies need a place.
  const workload = { ...drawWorkload(random, { bookiesCount: bookiesCount - 1, ackQuorumMin: 2 }), ledgersMax: 3 + below(random, 10) };
  if (random.chance(0.3)) world.clientOptions = { ...world.clientOptions, explicitLacInterval: random.between(20, 500) };
  const clientsCount = 1 + below(random, 2);
  for (let i = 1; i <= clientsCount; i++) world.addClient(`c${i}`, ledgerScript(world, directory, workload));
  if (random.chance(0.7)) world.addClient('f1', followerScript(world, directory, workload));
  const log = random.chance(0.7) ? undefined : drawLog(random.fork('log'), workload);
  if (log !== undefined) for (let i = 1; i <= 2; i++) world.addClient(`br${i}`, logScript(world, log));
  const repairs = { ...drawRepair(random), ...(world.racksCount > 0 && drawPlacementRepair(racks)) };
  for (let i = 1; i <= 1 + below(random, 2); i++) world.addClient(`ar${i}`, autoRecoveryScript(repairs), { isService: true });
  world.addClient('operator', operatorScript(losses), { isService: true });
  await world.boot();
  const nemesis = new Nemesis(world, plan);
  for (const client of world.clients) client.start();
  nemesis.start();
  losses.start(random.chance(0.2) ? 0 : random.between(0.3, 2));
  await world.runUntil(() => false, random.between(safetyMs.from, safetyMs.to));
  nemesis.heal();
  world.phase = 'liveness';
  await settle(world);
  await verify(world, directory, log);
  await awaitRepair(world, repair, losses);
  await awaitCollection(world);
  await countCopies(world, 'write quorum');
  return world;
}

function drawRepair(random: SimRandom): AutoRecoveryOptions {
  return {
    lostBookieRecoveryDelaySeconds: random.chance(0.5) ? 0 : 1 + below(random, 4),
    auditorPeriodicBookieCheckIntervalMs: 10_000,
    auditorPeriodicCheckIntervalMs: random.chance(0.5) ? 0 : 30_000,
    auditorLedgerVerificationPercentage: random.chance(0.5) ? 0 : 100,
    auditorReplicasCheckIntervalMs: 10_000,
    openLedgerRereplicationGracePeriodMs: random.between(500, 8_000),
    lockReleaseOfFailedLedgerGracePeriodMs: 4_000,
    rwRereplicateBackoffMs: 500,
    repairRoundsMax: 10_000,
  };
}

function drawPlacementRepair(random: SimRandom): AutoRecoveryOptions {
  return { auditorPeriodicPlacementPolicyCheckIntervalMs: 3_000, repairedPlacementPolicyNotAdheringBookieEnable: random.chance(0.6) };
}

function autoRecoveryScript(options: AutoRecoveryOptions): Script {
  return async (run) => {
    for (;;) {
      try {
        await startAutoRecovery(partsOf(run), options);
        break;
      } catch (error) {
        expected(error);
        await run.clock.sleep(300);
      }
    }
    // Works until the process ends.
    await new Promise(() => undefined);
  };
}

/** What is deleted, or belongs to others for long enough, is gone from every bookie. */
async function awaitCollection(world: World): Promise<void> {
  if (!world.collectsGarbage || world.isOver) return;
  const left = (): string[] =>
    world.bookies.flatMap(({ name, bookie }) => {
      const ledgerIds = [...(bookie?.ledgerIds() ?? [])].filter((ledgerId) => isGarbage(world, name, ledgerId));
      return ledgerIds.length === 0 ? [] : [`ledgers ${ledgerIds.join(', ')} on ${name}`];
    });
  for (const endMs = world.queue.nowMs + collectedMs; world.queue.nowMs < endMs && !world.isOver; ) {
    if (left().length === 0) return;
    await world.runUntil(() => false, 1_000);
  }
  if (!world.isOver && left().length > 0) world.history.violate('liveness', `garbage is not collected in ${collectedMs} ms: ${left().join('; ')}`);
}

function isGarbage(world: World, bookie: string, ledgerId: number): boolean {
  const { isDeleted, record } = world.ledgers.get(ledgerId);
  if (record === undefined) return isDeleted;
  return record.state === 'CLOSED' && !record.segments.some(({ ensemble }) => ensemble.includes(bookie));
}

async function awaitRepair(world: World, repair: Repair, losses: Losses): Promise<void> {
  if (world.isOver) return;
  const open = (): string[] => [
    ...(losses.lost === undefined ? [] : [`${losses.lost.name} is lost`]),
    ...world.bookies.flatMap(({ name, state }) => (state === 'up' ? [] : [`${name} is ${state}`])),
    ...[...repair.marks].map((ledgerId) => `ledger ${ledgerId} is marked`),
    ...[...repair.locks].map((ledgerId) => `ledger ${ledgerId} is locked`),
    ...repair.missing('write quorum', () => -1),
  ];
  for (const endMs = world.queue.nowMs + repairedMs; world.queue.nowMs < endMs && !world.isOver; ) {
    if (open().length === 0) return;
    // Some entries are there although nobody was told.
    if (repair.missing('write quorum', () => -1).length > 0) for (const bookie of world.bookies) void world.inspect(bookie);
    await world.runUntil(() => false, 1_000);
  }
  if (!world.isOver) world.history.violate('liveness', `not repaired ${repairedMs} ms after the last fault: ${open().slice(0, 8).join('; ')}`);
}
