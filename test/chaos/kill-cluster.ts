import { Acknowledger, findLosses, Publisher, readAll } from './clients.js';
import {
  type ChildProgram,
  type ClusterMember,
  clusterMembers,
  DaybookProcess,
  isHealthy,
  pause,
  startPrinted,
  temporaryFolder,
  until,
} from './processes.js';

export interface KillClusterResult {
  problems: string[];
  acknowledged: number;
  /** The longest time without an acknowledgement after each event. */
  gapsMs: Record<string, number>;
}

const namespace = 'persistent/public/default';
const topic = `${namespace}/chaos`;
/** A light load with always something under way: the point is what happens to it, not how much it is. */
const unansweredMax = 8;
const sessionTimeoutMs = 5_000;

/**
 * Three bookies, two brokers, ZooKeeper, each a real process. Under load, one after the other: kill -9 of a bookie, of the broker that owns the topic while that
 * bookie is away, and of ZooKeeper. Afterwards every acknowledged message is there, in order.
 */
export async function killCluster(log: (line: string) => void): Promise<KillClusterResult> {
  const world = new World(log);
  try {
    await world.start();
    await world.killBookie();
    await world.killOwner();
    await world.restartDead();
    await world.killZooKeeper();
    return await world.check();
  } finally {
    await world.end();
  }
}

class World {
  readonly #log: (line: string) => void;
  readonly #folder = temporaryFolder();
  readonly #cluster: DaybookProcess;
  readonly #restarted: ChildProgram[] = [];
  readonly #result: KillClusterResult = { problems: [], acknowledged: 0, gapsMs: {} };
  #members: ClusterMember[] = [];
  #publisher: Publisher | undefined;
  #acknowledger: Acknowledger | undefined;
  readonly #dead: { name: string; pid: number }[] = [];

  constructor(log: (line: string) => void) {
    this.#log = log;
    this.#cluster = new DaybookProcess(['cluster', '--bookies', '3', '--brokers', '2', '--port', '0', '--data', this.#folder.path]);
  }

  async start(): Promise<void> {
    await until('the cluster is ready', 60_000, () => {
      if (!this.#cluster.isRunning) throw new Error(`the cluster did not start: ${this.#cluster.output}`);
      return /The cluster is ready/.test(this.#cluster.output);
    });
    this.#members = clusterMembers(this.#folder.path);
    await this.#call('PUT', `${topic}/subscription/acked`, '"earliest"');
    this.#publisher = new Publisher(this.#socketUrls(`producer/${topic}`), 0, unansweredMax);
    this.#acknowledger = new Acknowledger(this.#socketUrls(`consumer/${topic}/acked`));
    await until('messages are acknowledged', 20_000, () => this.#load.published.length > 1_000);
  }

  /** No error reaches the client, publishing goes on, and new topics can be made although only two of three bookies are left. */
  async killBookie(): Promise<void> {
    const errorsBefore = this.#load.errors.length + this.#load.disconnects.length;
    const killedMs = this.#kill('bookie', 0);
    await pause(2_000);
    const newTopic = `${namespace}/made-with-two-bookies`;
    const publisher = new Publisher(this.#socketUrls(`producer/${newTopic}`), 0, 1);
    await until('a new topic takes messages while a bookie is away', 10_000, () => publisher.published.length >= 10);
    publisher.stop();
    this.#note('a bookie was killed', killedMs);
    const unexpected = [...this.#load.errors, ...this.#load.disconnects].slice(errorsBefore);
    for (const text of unexpected) this.#result.problems.push(`the client noticed that a bookie was killed: ${text}`);
  }

  /** The other broker takes the topic over: it recovers the last ledger from the two bookies that are left. */
  async killOwner(): Promise<void> {
    const { httpUrl } = (await this.#call('GET', `/lookup/v2/topic/${topic}`)) as { httpUrl: string };
    const owner = this.#brokers.findIndex(({ address }) => httpUrl.endsWith(address));
    const killedMs = this.#kill('broker', owner);
    await until('publishing goes on after the owner was killed', 30_000, () => this.#load.countSince(killedMs + 500) > 100);
    this.#note('the owner broker was killed', killedMs);
  }

  async restartDead(): Promise<void> {
    for (const { name, pid } of this.#dead.splice(0)) {
      const command = await this.#commandAfter(pid);
      this.#restarted.push(startPrinted(command));
      this.#log(`${name} is started again`);
    }
    for (const { address } of this.#brokers) await until(`${address} answers again`, 30_000, () => isHealthy(`http://${address}`));
    await until('all bookies are registered again', 30_000, async () => {
      const { bookies } = (await this.#call('GET', '/admin/v2/bookies/all')) as { bookies: unknown[] };
      return bookies.length === 3;
    });
  }

  async killZooKeeper(): Promise<void> {
    const killedMs = this.#kill('zookeeper', 0);
    await pause(2_000);
    await this.restartDead();
    const restartedMs = performance.now();
    await until('publishing goes on after ZooKeeper is back', sessionTimeoutMs + 30_000, () => this.#load.countSince(restartedMs) > 500);
    this.#note('ZooKeeper was killed', killedMs);
    const publisher = new Publisher(this.#socketUrls(`producer/${namespace}/made-after-all`), 0, 1);
    await until('a new topic takes messages after all of it', 20_000, () => publisher.published.length >= 10);
    publisher.stop();
  }

  async check(): Promise<KillClusterResult> {
    this.#load.stop();
    const { published } = this.#load;
    this.#result.acknowledged = published.length;
    for (const [index, url] of this.#socketUrls(`reader/${topic}?messageId=earliest`).entries()) {
      const stored = await readAll(url);
      this.#log(`broker ${index + 1}: ${stored.length} messages stored, ${published.length} acknowledged`);
      this.#result.problems.push(...findLosses(published, stored).slice(0, 20));
    }
    await until('the consumer got every acknowledged message', 30_000, () => {
      const received = new Set(this.#acknowledger?.received);
      return published.every(({ number }) => received.has(number));
    });
    return this.#result;
  }

  async end(): Promise<void> {
    this.#publisher?.stop();
    this.#acknowledger?.stop();
    await this.#cluster.stop();
    for (const program of this.#restarted) await program.kill9();
    this.#folder.remove();
  }

  get #load(): Publisher {
    return this.#publisher as Publisher;
  }

  get #brokers(): ClusterMember[] {
    return this.#members.filter(({ role }) => role === 'broker');
  }

  #socketUrls(path: string): string[] {
    return this.#brokers.map(({ address }) => `ws://${address}/ws/v2/${path}`);
  }

  /** A REST call to any broker that answers. */
  async #call(method: string, path: string, body?: string): Promise<unknown> {
    let failure: unknown;
    for (const { address } of this.#brokers) {
      try {
        const url = `http://${address}${path.startsWith('/') ? '' : '/admin/v2/'}${path}`;
        const init = {
          method,
          signal: AbortSignal.timeout(10_000),
          ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
        };
        const response = await fetch(url, init);
        const text = await response.text();
        if (response.ok) return text === '' ? undefined : JSON.parse(text);
        failure = new Error(`${method} ${url}: ${response.status} ${text}`);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  #kill(role: ClusterMember['role'], index: number): number {
    const { pid } = this.#members.filter((member) => member.role === role)[index] as ClusterMember;
    this.#dead.push({ name: `${role} ${index + 1}`, pid });
    process.kill(pid, 'SIGKILL');
    this.#log(`${role} ${index + 1} (pid ${pid}) is killed after ${this.#load.published.length} acknowledged messages`);
    return performance.now();
  }

  /** What the cluster says how to start a dead member again. */
  async #commandAfter(pid: number): Promise<string> {
    const pattern = new RegExp(`\\(pid ${pid}\\) was ended by SIGKILL.*\\n +to start it again: (.*)\\n`);
    await until(`the cluster tells that ${pid} was killed`, 10_000, () => pattern.test(this.#cluster.output));
    return pattern.exec(this.#cluster.output)?.[1] as string;
  }

  #note(event: string, sinceMs: number): void {
    const gapMs = Math.round(this.#load.longestGapMs(sinceMs));
    this.#result.gapsMs[event] = gapMs;
    this.#log(`${event}: the longest time without an acknowledgement was ${gapMs} ms`);
  }
}
