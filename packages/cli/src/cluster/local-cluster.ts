import type { Lifecycle } from '@daybook/runtime';
import { cliErrors } from '../errors.js';
import { choosePorts } from './choose-ports.js';
import type { ClusterFolder, ClusterMember } from './cluster-folder.js';
import { type MemberPlan, type MemberRole, planMembers } from './cluster-plan.js';
import { GuardedZooKeeper } from './guarded-zookeeper.js';
import { endText, MemberProcess } from './member-process.js';

export interface LocalClusterOptions {
  bookiesCount: number;
  /** 0: only storage. */
  brokersCount: number;
  host: string;
  /** 0: free ones. */
  firstBrokerPort: number;
  /** Of a running ZooKeeper; without one the cluster starts its own. */
  metadata?: string | undefined;
  settings: Readonly<Record<string, string>>;
  environment: Readonly<Record<string, string | undefined>>;
  logFormat?: string | undefined;
  logLevel?: string | undefined;
}

export interface StartedCluster {
  members: readonly ClusterMember[];
  metadata: string;
}

/** The members of a cluster as child processes. Closing the life cycle it was given ends them, in order. */
export class LocalCluster {
  /** Rejects when all members have ended. */
  readonly isGone: Promise<never>;
  readonly #folder: ClusterFolder;
  readonly #lifecycle: Lifecycle;
  readonly #print: (line: string) => void;
  readonly #alive: Record<MemberRole, Set<string>> = { zookeeper: new Set(), bookie: new Set(), broker: new Set() };
  #isEnding = false;
  #isReady = false;
  #fail: (error: Error) => void = () => undefined;

  constructor(folder: ClusterFolder, lifecycle: Lifecycle, print: (line: string) => void) {
    this.#print = print;
    this.#folder = folder;
    this.#lifecycle = lifecycle;
    this.isGone = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.isGone.catch(() => undefined);
  }

  /** Resolves when all members are ready and listed in `cluster.json`. */
  async start(options: LocalClusterOptions): Promise<StartedCluster> {
    const folder = this.#folder;
    folder.removeMembers();
    const ports = await choosePorts(folder, options);
    const metadata = options.metadata ?? `zk://127.0.0.1:${ports.zookeeper}/daybook`;
    const plans = planMembers({ ...options, folder: folder.path, metadata, ports });
    const members: ClusterMember[] = [];
    if (options.metadata === undefined) members.push(await this.#startZooKeeper(ports.zookeeper));
    const processes = [...(await this.#startMembers('bookie', plans)), ...(await this.#startMembers('broker', plans))];
    members.push(...(await Promise.all(processes.map((member) => this.#whenReady(member)))));
    await this.#lifecycle.start({
      name: 'list of members',
      start: () => folder.writeMembers(members),
      close: () => this.#end(async () => folder.removeMembers()),
    });
    this.#isReady = true;
    return { members, metadata };
  }

  async #startZooKeeper(port: number): Promise<ClusterMember> {
    const folder = this.#folder;
    const name = 'zookeeper';
    let zookeeper: GuardedZooKeeper | undefined;
    const start = async (): Promise<void> => {
      zookeeper = await GuardedZooKeeper.start({ dataDirectory: folder.data(name), port, logFile: folder.logFile(name) });
    };
    await this.#lifecycle.start({ name, start, close: () => this.#end(async () => await zookeeper?.stop()) });
    const { server } = zookeeper as unknown as GuardedZooKeeper;
    const member: ClusterMember = { role: name, pid: server.pid ?? -1, address: server.address };
    this.#alive.zookeeper.add(name);
    void server.ended().then((end) => this.#memberEnded({ role: name, name }, member.pid, endText(end), server.command));
    this.#tell(name, member);
    return member;
  }

  /** All of one role; they end together. */
  async #startMembers(role: MemberProcess['plan']['role'], plans: readonly MemberPlan[]): Promise<MemberProcess[]> {
    const members: MemberProcess[] = [];
    const start = (): void => {
      for (const plan of plans) if (plan.role === role) members.push(new MemberProcess(plan, this.#folder.logFile(plan.name)));
    };
    const stop = async (): Promise<void> => void (await Promise.all(members.map((member) => member.stop())));
    await this.#lifecycle.start({ name: `${role}s`, start, close: () => this.#end(stop) });
    for (const { plan, pid, ended } of members) {
      this.#alive[role].add(plan.name);
      void ended.then((end) => this.#memberEnded(plan, pid, endText(end), ['daybook', ...plan.arguments]));
    }
    return members;
  }

  /** From now on members that end are no news. */
  #end(stop: () => Promise<void>): Promise<void> {
    this.#isEnding = true;
    return stop();
  }

  async #whenReady(member: MemberProcess): Promise<ClusterMember> {
    const address = await member.ready;
    const { role, name } = member.plan;
    const row: ClusterMember = { role, pid: member.pid, address };
    this.#tell(name, row);
    return row;
  }

  #tell(name: string, { role, pid, address }: ClusterMember): void {
    this.#print(`${name.padEnd(12)} ${role.padEnd(9)}  pid ${String(pid).padEnd(7)}  ${address}`);
  }

  #memberEnded({ role, name }: { role: MemberRole; name: string }, pid: number, how: string, command: readonly string[]): void {
    if (this.#isEnding) return;
    this.#print(`${name} (pid ${pid}) ${how}; the rest goes on. Its log: ${this.#folder.logFile(name)}`);
    this.#print(`  to start it again: ${command.map(quoted).join(' ')}`);
    this.#alive[role].delete(name);
    if (this.#isReady && Object.values(this.#alive).every((names) => names.size === 0))
      this.#fail(cliErrors.CLUSTER_GONE(`${this.#folder.path}/logs`));
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
