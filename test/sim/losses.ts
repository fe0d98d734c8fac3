import { cancelDecommission, decommissionBookie, openRepairTools, type RepairTools } from '@daybook/ledger/repair';
import { type BookieId, bookieId } from '@daybook/proto';
import { below, DaybookError } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import type { BookieNode } from './bookie-node.js';
import type { Repair } from './checkers/repair.js';
import type { ClientRun, Script } from './client-node.js';
import { expected } from './workload.js';
import type { World } from './world.js';

/**
 * Whole disks that are lost, and bookies that are taken away, one at a time: the next one only when all that was committed has its Qa copies again and nothing
 * names the last one. That is what Daybook claims to survive.
 */
export class Losses {
  readonly #world: World;
  readonly #repair: Repair;
  readonly #random: SimRandom;
  /** Of its own, so that the other draws of known seeds stay as they are. */
  readonly #limbo: SimRandom;
  readonly #limboShare: number;
  lost: BookieNode | undefined;
  count = 0;

  constructor(world: World, repair: Repair) {
    this.#world = world;
    this.#repair = repair;
    this.#random = world.queue.random.fork('losses');
    this.#limbo = world.queue.random.fork('limbo');
    // The way out of limbo needs the listing of ledgers, which bookies have where they collect garbage.
    this.#limboShare = world.collectsGarbage ? 0.5 : 0;
  }

  /** Loses a bookie now and then; `rate` per second. */
  start(rate: number): void {
    if (rate === 0) return;
    const next = () => {
      if (this.#world.phase !== 'safety') return;
      if (this.lost === undefined && this.#mayLose()) this.#lose();
      this.#world.queue.schedule(this.#random.between(100, 2_000 / rate), next, 'losses');
    };
    this.#world.queue.schedule(this.#random.between(500, 3_000), next, 'losses');
  }

  /** Nothing names it any more: it comes back with empty disks. When that does not work out, it is drained once more. */
  drained(): void {
    const { lost } = this;
    if (lost === undefined) return;
    lost.isRetired = false;
    if (lost.state !== 'off') return;
    this.#world.history.note(lost.name, 'comes back with empty disks');
    // Also disks on which it has begun to start: its cookie is deleted.
    lost.wipe();
    lost.start();
  }

  /** It is up, and not drained any more. */
  isBack(): void {
    const { lost } = this;
    if (lost === undefined) return;
    this.lost = undefined;
    lost.isLost = false;
    if (lost.mayStartEmpty) this.#world.claims.isBack(lost.name);
    lost.mayStartEmpty = false;
    this.#world.history.note(lost.name, 'is back');
  }

  #mayLose(): boolean {
    return this.#repair.missing('ack quorum', (ledgerId) => this.#world.ledgers.get(ledgerId).acknowledged).length === 0;
  }

  #lose(): void {
    const { bookies } = this.#world;
    const bookie = bookies[below(this.#random, bookies.length)] as BookieNode;
    this.lost = bookie;
    this.count++;
    bookie.isLost = true;
    // Some are taken away with their disks; some start on empty ones because their operator says so; the others begin to, and must refuse.
    if (this.#limbo.chance(this.#limboShare)) {
      this.#world.history.note(bookie.name, 'may start without its disks');
      bookie.mayStartEmpty = true;
      bookie.wipe();
      bookie.start();
    } else if (this.#random.chance(0.3)) {
      bookie.isRetired = true;
      this.#world.history.note(bookie.name, 'is taken away');
      if (bookie.state !== 'off') bookie.kill();
    } else {
      bookie.wipe();
      if (this.#random.chance(0.3)) bookie.isRetired = true;
      bookie.start();
    }
  }
}

export async function repairTools(run: ClientRun): Promise<RepairTools> {
  for (;;) {
    try {
      return await openRepairTools(partsOf(run));
    } catch (error) {
      expected(error);
      await run.clock.sleep(300);
    }
  }
}

export function partsOf({ clock, random, store, records, registry, pool, topology, client, logger, name }: ClientRun) {
  return { clock, random, store, records, registry, bookies: pool, topology, ledgers: client, logger, name };
}

/** Drains what is lost; begins again after each crash of its own. */
export function operatorScript(losses: Losses): Script {
  return async (run) => {
    const tools = await repairTools(run);
    for (;;) {
      const { lost } = losses;
      if (lost?.mayStartEmpty === true) {
        if (lost.state === 'up' && lost.bookie?.status().isLimbo === false) losses.isBack();
      } else if (lost?.state === 'up') await backAgain(run, tools, losses, bookieId(lost.name));
      else if (lost?.state === 'off') await drain(run, tools, losses, bookieId(lost.name));
      await run.clock.sleep(500);
    }
  };
}

/** It has started on its empty disks, which it may only when nothing names it any more: the draining, should its end have got lost, is over. */
async function backAgain(run: ClientRun, tools: RepairTools, losses: Losses, id: BookieId): Promise<void> {
  try {
    await cancelDecommission(tools, id);
    if (run.isAlive) losses.isBack();
  } catch (error) {
    expected(error);
  }
}

async function drain(run: ClientRun, tools: RepairTools, losses: Losses, id: BookieId): Promise<void> {
  try {
    await decommissionBookie({ ...tools, logger: run.logger }, { bookieId: id });
    if (run.isAlive) losses.drained();
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    run.note(`${id} not drained yet: ${error.message}`);
  }
}
