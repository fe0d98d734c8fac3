import { Lifecycle } from '@daybook/runtime';
import { RealDisk } from '@daybook/runtime/real';
import type { ClusterOptions } from '../cluster.js';
import { cliErrors } from '../errors.js';
import { endWithParent, untilAskedToEnd } from '../life.js';
import { choosePorts } from './choose-ports.js';
import { ClusterFolder, type ClusterMember } from './cluster-folder.js';
import { type ClusterRequest, type MemberPlan, type MemberRole, planMembers } from './cluster-plan.js';
import { GuardedZooKeeper } from './guarded-zookeeper.js';
import { endText, MemberProcess } from './member-process.js';

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

/** Starts everything, then runs until it is asked to end or nothing is left that could work. */
export async function runCluster(options: ClusterOptions): Promise<void> {
  endWithParent();
  const folder = new ClusterFolder(options.data);
  const lifecycle = new Lifecycle();
  try {
    const lock = await new RealDisk().lock(folder.path);
    lifecycle.onClose('folder', () => lock.release());
    folder.removeMembers();
    const cluster = new LocalCluster(folder, lifecycle);
    const isAsked = untilAskedToEnd();
    const isStarted = cluster.start(options);
    isStarted.catch(() => undefined); // Told by the race below, or of no interest any more.
    await Promise.race([isAsked, isStarted.then(() => Promise.race([isAsked, cluster.isGone]))]);
    print('Ending all members ...');
  } finally {
    await lifecycle.close();
  }
}

class LocalCluster {
  /** Rejects when all brokers or all bookies have ended. */
  readonly isGone: Promise<never>;
  readonly #folder: ClusterFolder;
  readonly #lifecycle: Lifecycle;
  readonly #alive: Record<MemberRole, Set<string>> = { zookeeper: new Set(), bookie: new Set(), broker: new Set() };
  #isEnding = false;
  #isReady = false;
  #fail: (error: Error) => void = () => undefined;

  constructor(folder: ClusterFolder, lifecycle: Lifecycle) {
    this.#folder = folder;
    this.#lifecycle = lifecycle;
    this.isGone = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.isGone.catch(() => undefined);
  }

  async start(options: ClusterOptions): Promise<void> {
    const startMs = performance.now();
    const { host, bookies: bookiesCount, brokers: brokersCount } = options;
    const folder = this.#folder;
    const ports = await choosePorts(folder, { host, bookiesCount, brokersCount, firstBrokerPort: options.port });
    const metadata = options.metadata ?? `zk://127.0.0.1:${ports.zookeeper}/daybook`;
    const plans = planMembers({ ...requestOf(options), folder: folder.path, metadata, ports });
    const members: ClusterMember[] = [];
    if (options.metadata === undefined) members.push(await this.#startZooKeeper(ports.zookeeper));
    const processes = [...this.#startMembers('bookie', plans), ...this.#startMembers('broker', plans)];
    members.push(...(await Promise.all(processes.map((member) => this.#whenReady(member)))));
    folder.writeMembers(members);
    this.#lifecycle.onClose('list of members', () => {
      this.#isEnding = true;
      folder.removeMembers();
    });
    this.#isReady = true;
    const brokers = members.filter(({ role }) => role === 'broker').map(({ address }) => `http://${address}`);
    print(`The cluster is ready after ${((performance.now() - startMs) / 1000).toFixed(1)} s: brokers ${brokers.join(' ')}, metadata ${metadata}`);
    print(`Members are listed in ${folder.membersFile}. Ctrl-C ends all of them.`);
  }

  async #startZooKeeper(port: number): Promise<ClusterMember> {
    const folder = this.#folder;
    const name = 'zookeeper';
    const zookeeper = await GuardedZooKeeper.start({ dataDirectory: folder.data(name), port, logFile: folder.logFile(name) });
    this.#lifecycle.onClose(name, () => {
      this.#isEnding = true;
      return zookeeper.stop();
    });
    const { pid = -1, address, command } = zookeeper.server;
    void zookeeper.server.ended().then((end) => this.#memberEnded({ role: name, name }, pid, endText(end), command));
    const member: ClusterMember = { role: name, pid, address };
    tell(name, member);
    return member;
  }

  /** All of one role; they end together. */
  #startMembers(role: MemberProcess['plan']['role'], plans: readonly MemberPlan[]): MemberProcess[] {
    const ofRole = plans.filter((plan) => plan.role === role);
    const members = ofRole.map((plan) => new MemberProcess(plan, this.#folder.logFile(plan.name)));
    this.#lifecycle.onClose(`${role}s`, async () => {
      this.#isEnding = true;
      await Promise.all(members.map((member) => member.stop()));
    });
    for (const { plan, pid, ended } of members) {
      this.#alive[role].add(plan.name);
      void ended.then((end) => this.#memberEnded(plan, pid, endText(end), ['daybook', ...plan.arguments]));
    }
    return members;
  }

  async #whenReady(member: MemberProcess): Promise<ClusterMember> {
    const address = await member.ready;
    const { role, name } = member.plan;
    const row: ClusterMember = { role, pid: member.pid, address };
    tell(name, row);
    return row;
  }

  #memberEnded({ role, name }: { role: MemberRole; name: string }, pid: number, how: string, command: readonly string[]): void {
    if (this.#isEnding) return;
    print(`${name} (pid ${pid}) ${how}; the rest goes on. Its log: ${this.#folder.logFile(name)}`);
    print(`  to start it again: ${command.map(quoted).join(' ')}`);
    this.#alive[role].delete(name);
    if (this.#isReady && role !== 'zookeeper' && this.#alive[role].size === 0) this.#fail(cliErrors.CLUSTER_GONE(`${this.#folder.path}/logs`));
  }
}

function tell(name: string, { role, pid, address }: ClusterMember): void {
  print(`${name.padEnd(12)} ${role.padEnd(9)}  pid ${String(pid).padEnd(7)}  ${address}`);
}

function requestOf(options: ClusterOptions): Omit<ClusterRequest, 'folder' | 'metadata' | 'ports'> {
  const { host, bookies: bookiesCount, brokers: brokersCount, set: settings, logFormat, logLevel } = options;
  return { bookiesCount, brokersCount, host, settings, environment: process.env, logFormat, logLevel };
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
