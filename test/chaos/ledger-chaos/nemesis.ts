import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerId } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import type { View } from '../lose-bookie.js';
import { pause } from '../processes.js';
import type { ChaosBookie, ChaosCluster, ChaosNode } from './chaos-cluster.js';
import { sessionTimeoutMs } from './chaos-cluster.js';
import { acknowledgedIn } from './logged.js';
import { below, chaosPassword, oneOf } from './shared.js';

interface Fault {
  name: string;
  /** Held until it is healed; nobody else touches it meanwhile. */
  target: object;
  begin(): Promise<void> | void;
  holdMs: number;
  heal(): Promise<void> | void;
}

export interface NemesisOptions {
  cluster: ChaosCluster;
  view: View;
  random: () => number;
  /** Bookies that may be out of order at a time. */
  bookiesMax: number;
  log(line: string): void;
}

/** Does one bad thing after another, two at a time, and heals each after a while. */
export class Nemesis {
  readonly counts: Record<string, number> = {};
  /** What could not be healed. */
  readonly problems: string[] = [];
  readonly #options: NemesisOptions;
  readonly #busy = new Set<object>();
  #isStopped = true;
  #hands: Promise<void>[] = [];

  constructor(options: NemesisOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isStopped = false;
    this.#hands = [this.#act(), this.#act()].map((hand) => hand.catch((error: unknown) => void this.problems.push(String(error))));
  }

  /** Resolves when everything is healed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#hands);
  }

  /** Not to be touched until `task` is over. */
  async leavingAlone<T>(target: object, task: () => Promise<T>): Promise<T> {
    this.#busy.add(target);
    try {
      return await task();
    } finally {
      this.#busy.delete(target);
    }
  }

  async #act(): Promise<void> {
    const { random, log } = this.#options;
    while (!this.#isStopped) {
      await this.#restartEnded();
      const fault = this.#draw();
      if (fault !== undefined) {
        await this.leavingAlone(fault.target, async () => {
          this.counts[fault.name.split(':')[0] as string] = (this.counts[fault.name.split(':')[0] as string] ?? 0) + 1;
          log(`${fault.name} for ${fault.holdMs} ms`);
          await fault.begin();
          await this.#hold(fault.holdMs);
          await fault.heal();
        });
      }
      await this.#hold(200 + below(random, 1_500));
    }
  }

  async #hold(ms: number): Promise<void> {
    for (let waitedMs = 0; waitedMs < ms && !this.#isStopped; waitedMs += 50) await pause(50);
  }

  /** As whoever watches over services does it. */
  async #restartEnded(): Promise<void> {
    const { cluster, log } = this.#options;
    for (const node of [...cluster.bookies.map(({ node }) => node), ...cluster.autorecovery, ...cluster.writers, ...cluster.readers]) {
      const target = cluster.bookies.find((bookie) => bookie.node === node) ?? node;
      if (this.#busy.has(target) || node.isRunning) continue;
      log(`${node.name} has ended by itself and is started again`);
      await this.leavingAlone(target, () => node.restartIfEnded());
    }
  }

  #draw(): Fault | undefined {
    const { random, cluster } = this.#options;
    const kind = below(random, 12);
    if (kind === 0) return this.#killZooKeeper();
    if (kind === 1) return this.#free(cluster.autorecovery, (node) => this.#kill(node, node, 'autorecovery killed'));
    if (kind === 2) return this.#free(cluster.writers, (node) => this.#kill(node, node, 'writer killed'));
    if (kind === 3) return this.#free(cluster.writers, (node) => this.#stopWriter(node));
    if (kind === 4) return this.#takeOver();
    return this.#freeBookie((bookie) => {
      if (kind <= 6) return this.#kill(bookie, bookie.node, 'bookie killed');
      if (kind <= 8) return this.#stop(bookie, bookie.node, 'bookie stopped');
      return this.#cut(bookie);
    });
  }

  #free<T extends object>(all: readonly T[], make: (target: T) => Fault): Fault | undefined {
    const free = all.filter((each) => !this.#busy.has(each));
    return free.length === 0 ? undefined : make(oneOf(this.#options.random, free));
  }

  #freeBookie(make: (bookie: ChaosBookie) => Fault): Fault | undefined {
    const { cluster, bookiesMax } = this.#options;
    const busy = cluster.bookies.filter((bookie) => this.#busy.has(bookie)).length;
    return busy >= bookiesMax ? undefined : this.#free(cluster.bookies, make);
  }

  #kill(target: object, node: ChaosNode, what: string): Fault {
    return {
      name: `${what}: ${node.name}`,
      target,
      holdMs: below(this.#options.random, 4_000),
      begin: () => node.kill(),
      heal: () => node.start(),
    };
  }

  #stop(target: object, node: ChaosNode, what: string): Fault {
    // Mostly for longer than its session lasts.
    const holdMs = 1_000 + below(this.#options.random, 2 * sessionTimeoutMs);
    return { name: `${what}: ${node.name}`, target, holdMs, begin: () => node.pause(), heal: () => node.resume() };
  }

  /** While it cannot see it, somebody else recovers one of its ledgers. */
  #stopWriter(node: ChaosNode): Fault {
    const fault = this.#stop(node, node, 'writer stopped');
    return {
      ...fault,
      begin: async () => {
        node.pause();
        await this.#recoverOne();
      },
    };
  }

  #takeOver(): Fault {
    return { name: 'ledger taken from its writer', target: {}, holdMs: 0, begin: () => this.#recoverOne(), heal: () => undefined };
  }

  async #recoverOne(): Promise<void> {
    const { cluster, view, random, log } = this.#options;
    const newest = [...acknowledgedIn(cluster.logFolder).keys()].sort((a, b) => a - b).slice(-6);
    if (newest.length === 0) return;
    const ledgerId = oneOf(random, newest) as LedgerId;
    try {
      const reader = await view.client.openWithRecovery(ledgerId, { password: chaosPassword });
      appendFileSync(join(cluster.logFolder, 'recoverer-1.txt'), `e ${ledgerId} ${reader.lastAddConfirmed}\n`);
      await reader.close();
      log(`ledger ${ledgerId} was recovered: it ends at ${reader.lastAddConfirmed}`);
    } catch (error) {
      log(`ledger ${ledgerId} could not be recovered right now: ${errorCode(error) ?? String(error)}`);
    }
  }

  #killZooKeeper(): Fault | undefined {
    const { zookeeper } = this.#options.cluster;
    if (this.#busy.has(zookeeper)) return undefined;
    const holdMs = below(this.#options.random, sessionTimeoutMs + 2_000);
    return { name: 'ZooKeeper killed', target: zookeeper, holdMs, begin: () => zookeeper.kill9(), heal: () => zookeeper.restart() };
  }

  #cut(bookie: ChaosBookie): Fault {
    const { random } = this.#options;
    const cut = oneOf(random, ['both', 'to-server', 'to-client', 'reset'] as const);
    return {
      name: `network cut (${cut}): ${bookie.bookieId}`,
      target: bookie,
      holdMs: 500 + below(random, 9_000),
      begin: () => bookie.proxy.set(cut),
      heal: () => bookie.proxy.set('none'),
    };
  }
}
