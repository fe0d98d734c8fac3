import { below } from '@daybook/runtime';
import { noDiskFaults, type SimRandom } from '@daybook/runtime/sim';
import type { World } from './world.js';

/** How often each thing goes wrong, per virtual second; drawn per seed, some of them zero. */
export interface FaultPlan {
  readonly powerCut: number;
  readonly killBookie: number;
  readonly diskTrouble: number;
  readonly failedSync: number;
  /** Chance that a restarted bookie cannot read something. */
  readonly badStart: number;
  /** Bits that flip in entry logs and their indexes, of one bookie only: a seed with it has no ledger with Qa 1. */
  readonly bitRot: number;
  readonly partition: number;
  /** A client and a bookie do not reach each other for a moment. */
  readonly flicker: number;
  readonly slowLink: number;
  readonly sessionLoss: number;
  /** The metadata store as a whole. */
  readonly storeAway: number;
  readonly killClient: number;
  readonly pauseClient: number;
  readonly pauseBookie: number;
  readonly clockJump: number;
  /** Of everything, while it lasts. */
  readonly network: { delayMsMax: number; lossChance: number; duplicateChance: number; resetChance: number; flipChance: number };
  readonly metadata: { delayMsMax: number; lostRequests: number; lostReplies: number; watchDelayMsMax: number };
  readonly disk: { stallChance: number; readFailChance: number; writeFailChance: number };
}

export const noFaultPlan: FaultPlan = {
  powerCut: 0,
  killBookie: 0,
  diskTrouble: 0,
  failedSync: 0,
  badStart: 0,
  bitRot: 0,
  partition: 0,
  flicker: 0,
  slowLink: 0,
  sessionLoss: 0,
  storeAway: 0,
  killClient: 0,
  pauseClient: 0,
  pauseBookie: 0,
  clockJump: 0,
  network: { delayMsMax: 1, lossChance: 0, duplicateChance: 0, resetChance: 0, flipChance: 0 },
  metadata: { delayMsMax: 2, lostRequests: 0, lostReplies: 0, watchDelayMsMax: 0 },
  disk: { stallChance: 0, readFailChance: 0, writeFailChance: 0 },
};

/** Nothing fails but clients and brokers. */
export function isCalm(plan: FaultPlan): boolean {
  return JSON.stringify({ ...plan, killClient: 0 }) === JSON.stringify(noFaultPlan);
}

export function drawFaults(random: SimRandom): FaultPlan {
  if (random.chance(0.1)) return { ...noFaultPlan, killClient: random.chance(0.7) ? random.between(0.1, 0.6) : 0 };
  // Of its own, so that the other draws of known seeds stay as they are.
  const flips = random.fork('flips');
  const outages = random.fork('outages');
  const rate = (max: number) => (random.chance(0.5) ? 0 : random.between(max / 10, max));
  const often = (max: number) => (random.chance(0.6) ? 0 : random.between(0, max));
  return {
    powerCut: rate(0.3),
    killBookie: rate(0.3),
    diskTrouble: rate(0.3),
    failedSync: rate(0.15),
    badStart: often(0.4),
    bitRot: random.chance(0.25) ? random.between(0.1, 1) : 0,
    partition: rate(0.4),
    flicker: rate(3),
    slowLink: rate(0.3),
    sessionLoss: rate(0.3),
    storeAway: outages.chance(0.25) ? outages.between(0.05, 0.3) : 0,
    killClient: rate(0.3),
    pauseClient: rate(0.3),
    pauseBookie: rate(0.2),
    clockJump: rate(0.2),
    network: {
      delayMsMax: random.chance(0.5) ? 1 : random.between(1, 60),
      lossChance: often(0.05),
      duplicateChance: often(0.2),
      resetChance: often(0.03),
      flipChance: flips.chance(0.3) ? flips.between(0, 0.1) : 0,
    },
    metadata: {
      delayMsMax: random.chance(0.5) ? 2 : 2 + below(random, 150),
      lostRequests: below(random, 3) === 0 ? below(random, 80) : 0,
      lostReplies: below(random, 3) === 0 ? below(random, 80) : 0,
      watchDelayMsMax: below(random, 2) === 0 ? below(random, 1500) : 0,
    },
    disk: { stallChance: often(0.01), readFailChance: often(0.02), writeFailChance: often(0.0005) },
  };
}

/** Does what the plan says, until it is stopped; then everything is mended. */
export class Nemesis {
  readonly #world: World;
  readonly #random: SimRandom;
  readonly #plan: FaultPlan;
  #isStopped = false;

  constructor(world: World, plan: FaultPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#random = world.queue.random.fork('nemesis');
  }

  start(): void {
    const { network, metadata, disk } = this.#plan;
    this.#world.network.faults = { delayMsMin: 0.1, ...network };
    this.#world.setMetadataFaults(metadata);
    for (const bookie of this.#world.bookies) bookie.disk.setFaults({ ...noDiskFaults, ...disk });
    this.#world.onBookieGone = (bookie) =>
      this.#later(this.#random.between(50, 6_000), () => {
        if (this.#random.chance(this.#plan.badStart)) bookie.disk.failNextRead(1 + below(this.#random, 2));
        bookie.start();
        // Somewhere in the middle of the start.
        if (this.#random.chance(this.#plan.badStart)) this.#later(this.#random.between(0, 5), () => bookie.disk.failNextRead());
      });
    const { clients, bookies } = this.#world;
    this.#repeat(this.#plan.powerCut, () => this.#any(bookies)?.crash());
    this.#repeat(this.#plan.killBookie, () => this.#any(bookies)?.kill());
    this.#repeat(this.#plan.diskTrouble, () => this.#troubleDisk());
    this.#repeat(this.#plan.failedSync, () => this.#any(bookies)?.disk.failNextSync());
    const rotten = this.#plan.bitRot === 0 ? undefined : this.#any(bookies);
    this.#world.rotten = rotten?.name;
    this.#repeat(this.#plan.bitRot, () => {
      if (rotten?.disk.flipRandomBit((path) => /\.(log|idx)$/.test(path))) this.#note(`a bit of ${rotten.name} flips`);
    });
    this.#repeat(this.#plan.partition, () => this.#partition());
    this.#repeat(this.#plan.flicker, () => this.#flicker());
    this.#repeat(this.#plan.slowLink, () => this.#slowLink());
    this.#repeat(this.#plan.sessionLoss, () => this.#loseSession());
    this.#repeat(this.#plan.storeAway, () => this.#storeGoesAway());
    this.#repeat(this.#plan.killClient, () => this.#killClient());
    this.#repeat(this.#plan.pauseClient, () => this.#pauseClient());
    this.#repeat(this.#plan.pauseBookie, () => this.#pauseBookie());
    this.#repeat(this.#plan.clockJump, () => this.#any([...clients, ...bookies])?.clock.jumpWall(this.#random.between(-100_000, 100_000)));
  }

  /** No fault any more, and everybody is up. */
  heal(): void {
    this.#isStopped = true;
    const world = this.#world;
    world.history.note('nemesis', 'heal');
    world.network.healAll();
    if (world.tree.isAway) world.tree.comeBack();
    world.setMetadataFaults({ delayMsMax: 2, lostRequests: 0, lostReplies: 0, watchDelayMsMax: 0 });
    world.onBookieGone = (bookie) => world.queue.schedule(500, () => bookie.start(), `${bookie.name} restart`);
    for (const client of world.clients) {
      client.resume();
      if (client.state === 'on') client.session?.inner.resume();
      else if (client.state === 'off') client.start();
    }
    for (const bookie of world.bookies) {
      bookie.disk.setFaults(noDiskFaults);
      bookie.disk.setCapacityBytes(Number.MAX_SAFE_INTEGER);
      bookie.disk.failNextSync(0);
      bookie.disk.failNextRead(0);
      bookie.clock.resume();
      // A bookie that could not read something when it started goes without that until somebody starts it again.
      if (this.#plan.badStart > 0 || this.#plan.disk.readFailChance > 0 || this.#plan.diskTrouble > 0) bookie.kill();
      if (bookie.state === 'off') bookie.start();
      else bookie.session?.inner.resume();
    }
  }

  #repeat(perSecond: number, task: () => void): void {
    if (perSecond === 0) return;
    const waitMs = -Math.log(1 - this.#random.fraction()) * (1000 / perSecond);
    this.#later(waitMs, () => {
      task();
      this.#repeat(perSecond, task);
    });
  }

  #later(delayMs: number, task: () => void): void {
    this.#world.queue.schedule(
      delayMs,
      () => {
        if (!this.#isStopped) task();
      },
      'nemesis',
    );
  }

  #any<T>(items: readonly T[]): T | undefined {
    return items[below(this.#random, items.length)];
  }

  #note(text: string): void {
    this.#world.history.note('nemesis', text);
  }

  #troubleDisk(): void {
    const bookie = this.#any(this.#world.bookies);
    if (bookie === undefined) return;
    const choice = this.#random.fraction();
    const durationMs = this.#random.between(100, 5_000);
    if (choice < 0.4) {
      this.#note(`${bookie.name} disk stalls`);
      bookie.disk.stallFor(durationMs);
    } else if (choice < 0.7) {
      this.#note(`${bookie.name} disk slow`);
      bookie.disk.setFaults({ writeMs: { from: 5, to: 40 }, readMs: { from: 5, to: 40 }, syncMs: { from: 20, to: 120 } });
      const { writeMs, readMs, syncMs } = noDiskFaults;
      this.#later(durationMs, () => bookie.disk.setFaults({ writeMs, readMs, syncMs }));
    } else if (choice < 0.85) {
      this.#note(`${bookie.name} disk full`);
      bookie.disk.setCapacityBytes(0);
      this.#later(durationMs, () => bookie.disk.setCapacityBytes(Number.MAX_SAFE_INTEGER));
    } else bookie.disk.failNextRead(1 + below(this.#random, 3));
  }

  #partition(): void {
    const names = [...this.#world.bookies, ...this.#world.clients].map((node) => node.name);
    const lonely = this.#any(names) as string;
    const isOneWay = this.#random.chance(0.4);
    const isIncoming = this.#random.chance(0.5);
    const others = names.filter((name) => name !== lonely && this.#random.chance(0.7));
    this.#note(`${lonely} cut off from ${others.join(',')}${isOneWay ? (isIncoming ? ' (hears nothing)' : ' (is not heard)') : ''}`);
    const { network } = this.#world;
    for (const other of others) {
      if (!isOneWay || isIncoming) network.cut(other, lonely);
      if (!isOneWay || !isIncoming) network.cut(lonely, other);
    }
    this.#later(this.#random.between(50, 6_000), () => {
      for (const other of others) {
        network.heal(other, lonely);
        network.heal(lonely, other);
      }
    });
  }

  #flicker(): void {
    const { clients, bookies, network } = this.#world;
    const [client, bookie] = [this.#any(clients)?.name as string, this.#any(bookies)?.name as string];
    network.cut(client, bookie);
    network.cut(bookie, client);
    this.#later(this.#random.between(20, 1_500), () => {
      network.heal(client, bookie);
      network.heal(bookie, client);
    });
  }

  #slowLink(): void {
    const from = this.#any([...this.#world.clients, ...this.#world.bookies])?.name as string;
    const to = this.#any([...this.#world.bookies, ...this.#world.clients])?.name as string;
    this.#note(`${from} > ${to} slow`);
    const link = this.#world.network.link(from, to);
    link.slowedByMs = this.#random.between(20, 1_500);
    this.#later(this.#random.between(100, 8_000), () => {
      link.slowedByMs = 0;
    });
  }

  #loseSession(): void {
    const node = this.#any([...this.#world.clients, ...this.#world.bookies]);
    const session = node?.session?.inner;
    if (node === undefined || session === undefined || node.clock.state !== 'running') return;
    if (this.#random.chance(0.3)) {
      this.#note(`${node.name} session expires`);
      session.expire();
      return;
    }
    this.#note(`${node.name} session cut`);
    session.suspend();
    const { clock } = node;
    this.#later(this.#random.between(50, this.#world.sessionTimeoutMs * 2), () => {
      if (clock.state === 'running') session.resume();
    });
  }

  /** For longer than sessions last, too: they go on when it is back. */
  #storeGoesAway(): void {
    const { tree, sessionTimeoutMs } = this.#world;
    if (tree.isAway) return;
    this.#note('the metadata store goes away');
    tree.goAway();
    this.#later(this.#random.between(50, sessionTimeoutMs * 2), () => {
      this.#note('the metadata store is back');
      tree.comeBack();
    });
  }

  #killClient(): void {
    const client = this.#any(this.#world.clients);
    if (client?.state !== 'on') return;
    client.kill();
    this.#later(this.#random.between(50, 5_000), () => client.start());
  }

  /** SIGSTOP: sometimes for longer than anybody's patience. */
  #pauseClient(): void {
    const client = this.#any(this.#world.clients);
    if (client === undefined || client.state !== 'on') return;
    client.pause();
    const { clock } = client;
    const durationMs = this.#random.chance(0.5) ? this.#random.between(50, 3_000) : this.#random.between(3_000, 15_000);
    this.#later(durationMs, () => {
      if (client.clock === clock) client.resume();
    });
  }

  #pauseBookie(): void {
    const bookie = this.#any(this.#world.bookies);
    if (bookie === undefined || bookie.state !== 'up') return;
    const { clock, session } = bookie;
    clock.pause();
    const durationMs = this.#random.between(50, 6_000);
    this.#later(this.#world.sessionTimeoutMs / 2, () => {
      if (clock.state === 'paused') session?.inner.suspend();
    });
    this.#later(durationMs, () => {
      if (clock.state !== 'paused') return;
      clock.resume();
      session?.inner.resume();
    });
  }
}
