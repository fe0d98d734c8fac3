import { below } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import { type LogWorkload, logScript } from './log-workload.js';
import { drawFaults, isCalm, Nemesis } from './nemesis.js';
import { countCopies, settle, verify } from './settle.js';
import { Directory, type LedgerWorkload, ledgerScript, type Quorum } from './workload.js';
import { World, type WorldOptions } from './world.js';

const quorums: readonly (readonly [ensembleSize: number, writeQuorumSize: number, ackQuorumSize: number])[] = [
  [3, 3, 2],
  [3, 2, 2],
  [5, 3, 2],
  [4, 3, 2],
  [2, 2, 2],
  [2, 2, 1],
  [3, 3, 3],
  [1, 1, 1],
];

const safetyMs = { from: 4_000, to: 25_000 };

/** Bookies, and clients that write, read and recover each other's ledgers. */
export async function runLedgerWorld(options: WorldOptions): Promise<World> {
  const world = new World(options);
  const { random } = world;
  const bookiesCount = 3 + below(random, 3);
  for (let i = 1; i <= bookiesCount; i++) world.addBookie(`b${i}`);
  const directory = new Directory();
  const plan = drawFaults(random.fork('faults'));
  const workload = drawWorkload(random, { bookiesCount, ackQuorumMin: plan.bitRot > 0 ? 2 : 1 });
  const clientsCount = 1 + below(random, 3);
  for (let i = 1; i <= clientsCount; i++) world.addClient(`c${i}`, ledgerScript(world, directory, workload));
  const log = drawLog(random.fork('log'), workload);
  if (log !== undefined) for (let i = 1; i <= 2; i++) world.addClient(`br${i}`, logScript(world, log));
  await world.boot();
  world.log.isCalm = isCalm(plan);
  const nemesis = new Nemesis(world, plan);
  for (const client of world.clients) client.start();
  nemesis.start();
  await world.runUntil(() => false, random.between(safetyMs.from, safetyMs.to));
  nemesis.heal();
  world.phase = 'liveness';
  await settle(world);
  await verify(world, directory, log);
  await countCopies(world);
  return world;
}

export function drawWorkload(random: SimRandom, { bookiesCount, ackQuorumMin }: { bookiesCount: number; ackQuorumMin: number }): LedgerWorkload {
  const possible: Quorum[] = quorums
    .filter(([ensembleSize, , ackQuorumSize]) => ensembleSize <= bookiesCount && ackQuorumSize >= ackQuorumMin)
    .map(([ensembleSize, writeQuorumSize, ackQuorumSize]) => ({ ensembleSize, writeQuorumSize, ackQuorumSize }));
  // Few kinds in one seed, so that they meet.
  const chosen = Array.from({ length: 1 + below(random, 3) }, () => possible[below(random, possible.length)] as Quorum);
  return {
    quorums: chosen,
    thinkMsMax: [60, 200, 600][below(random, 3)] as number,
    burstMax: [2, 6, 15][below(random, 3)] as number,
    payloadBytesMax: [60, 600, 3000][below(random, 3)] as number,
    ledgersMax: 4 + below(random, 26),
  };
}

export function drawLog(random: SimRandom, { quorums: possible, thinkMsMax }: LedgerWorkload): LogWorkload | undefined {
  if (random.chance(0.35)) return undefined;
  return {
    name: 'public/default/persistent/topic',
    quorum: possible[0] as Quorum,
    thinkMsMax,
    burstMax: [2, 8, 20][below(random, 3)] as number,
    payloadBytesMax: [20, 300, 2000][below(random, 3)] as number,
    entriesPerLedgerMax: [5, 30, 1000][below(random, 3)] as number,
    tenureMsMax: [800, 4_000, 12_000][below(random, 3)] as number,
  };
}
