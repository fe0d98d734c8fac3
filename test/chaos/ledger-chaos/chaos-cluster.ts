import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import { ChildProgram, DaybookProcess, freePort, pause, until } from '../processes.js';
import { TcpProxy } from '../tcp-proxy.js';

export const sessionTimeoutMs = 4_000;

const writerProgram = fileURLToPath(new URL('./writer-program.js', import.meta.url));
const readerProgram = fileURLToPath(new URL('./reader-program.js', import.meta.url));

const unreachable = /metadata store cannot be reached/;

/** A process that is started again, as something new, whenever it was ended. */
export class ChaosNode {
  readonly name: string;
  readonly #make: (life: number) => ChildProgram;
  readonly #readyText: string | undefined;
  #child: ChildProgram | undefined;
  #lives = 0;
  /** Ends that nobody asked for. */
  readonly crashes: string[] = [];
  #isExpectedToEnd = true;
  /** Where it tells of itself over HTTP. */
  httpUrl = '';

  constructor(name: string, make: (life: number) => ChildProgram, readyText?: string) {
    this.name = name;
    this.#make = make;
    this.#readyText = readyText;
  }

  get isRunning(): boolean {
    return this.#child?.isRunning === true;
  }

  get output(): string {
    return this.#child?.output ?? '';
  }

  /** Tries again as long as ZooKeeper is away: then it ends at once, and whoever watches over services starts it again. */
  async start(): Promise<void> {
    const beganMs = performance.now();
    while (!(await this.#tryToStart())) {
      if (!unreachable.test(this.output) || performance.now() - beganMs > 60_000) throw new Error(`${this.name} did not start: ${this.output}`);
      await pause(500);
    }
  }

  async #tryToStart(): Promise<boolean> {
    const child = this.#make(++this.#lives);
    this.#child = child;
    const text = this.#readyText;
    this.#isExpectedToEnd = text !== undefined;
    void child.ended().then(() => {
      if (!this.#isExpectedToEnd && this.#child === child)
        this.crashes.push(`${this.name} ended by itself (${child.exitCode}): ${child.output.slice(-800)}`);
    });
    if (text === undefined) return true;
    await until(`${this.name} is ready`, 60_000, () => !child.isRunning || child.output.includes(text));
    this.#isExpectedToEnd = false;
    this.httpUrl = /http:\/\/[\d.]+:\d+/.exec(child.output)?.[0] ?? '';
    return child.isRunning;
  }

  /** Tries to start it where it must not start; resolves to what it said about that. */
  async startsNot(): Promise<string> {
    const child = this.#make(++this.#lives);
    this.#child = child;
    this.#isExpectedToEnd = true;
    await until(`${this.name} refuses to start`, 30_000, () => !child.isRunning);
    return child.output;
  }

  async kill(): Promise<void> {
    this.#isExpectedToEnd = true;
    this.#child?.resume();
    await this.#child?.kill9();
  }

  pause(): void {
    this.#child?.pause();
  }

  resume(): void {
    this.#child?.resume();
  }

  /** After an end that nobody asked for, as whoever watches over services does it. */
  async restartIfEnded(): Promise<boolean> {
    if (this.isRunning) return false;
    await this.start();
    return true;
  }
}

/** A bookie process and the proxy through which all others reach it. */
export interface ChaosBookie {
  bookieId: string;
  folder: string;
  port: number;
  httpPort: number;
  proxy: TcpProxy;
  node: ChaosNode;
  /** Settings of its next starts. */
  settings: Record<string, number | boolean>;
}

export interface ClusterOptions {
  folder: string;
  bookiesCount: number;
  writersCount: number;
  readersCount: number;
  seed: number;
}

/** ZooKeeper, bookies behind proxies, autorecovery, writers and readers; each a process of its own. */
export class ChaosCluster {
  readonly zookeeper: ZooKeeperServer;
  readonly metadata: string;
  readonly bookies: ChaosBookie[] = [];
  readonly autorecovery: ChaosNode[] = [];
  readonly writers: ChaosNode[] = [];
  readonly readers: ChaosNode[] = [];
  readonly logFolder: string;
  readonly #options: ClusterOptions;

  private constructor(zookeeper: ZooKeeperServer, options: ClusterOptions) {
    this.zookeeper = zookeeper;
    this.metadata = `zk://${zookeeper.address}/daybook`;
    this.logFolder = join(options.folder, 'logged');
    this.#options = options;
    mkdirSync(this.logFolder, { recursive: true });
    process.once('exit', this.#killZooKeeper);
  }

  readonly #killZooKeeper = (): void => {
    try {
      if (this.zookeeper.pid !== undefined) process.kill(this.zookeeper.pid, 'SIGKILL');
    } catch {
      // It is dead already.
    }
  };

  static async start(options: ClusterOptions): Promise<ChaosCluster> {
    const cluster = new ChaosCluster(await ZooKeeperServer.start(), options);
    try {
      for (let i = 1; i <= options.bookiesCount; i++) await cluster.addBookie(`b${i}`);
      await cluster.#startClients();
      return cluster;
    } catch (error) {
      await cluster.end();
      throw error;
    }
  }

  /** With an empty folder of its own. */
  async addBookie(bookieId: string): Promise<ChaosBookie> {
    const folder = join(this.#options.folder, bookieId);
    const port = await freePort();
    const httpPort = await freePort();
    const proxy = await TcpProxy.start(() => port);
    const words = ['bookie', '--metadata', this.metadata, '--data', folder, '--bookie-id', bookieId];
    const at = ['--port', String(port), '--http-port', String(httpPort), '--advertised-address', `127.0.0.1:${proxy.port}`];
    const settings = { metadataSessionTimeoutMs: sessionTimeoutMs, flushIntervalMs: 1_000, gcWaitTime: 5_000, journalMaxSizeMB: 16 };
    const node = new ChaosNode(bookieId, () => new DaybookProcess([...words, ...at, ...setting(bookie.settings)]), 'is ready: gRPC');
    const bookie: ChaosBookie = { bookieId, folder, port, httpPort, proxy, node, settings };
    this.bookies.push(bookie);
    await node.start();
    return bookie;
  }

  /** Its disk is empty afterwards; the process is dead. */
  async wipe(bookie: ChaosBookie): Promise<void> {
    await bookie.node.kill();
    rmSync(bookie.folder, { recursive: true, force: true });
  }

  /** Runs a command of the shell to its end. */
  async shell(...words: string[]): Promise<{ isDone: boolean; output: string }> {
    const child = new DaybookProcess(['shell', ...words, '--metadata', this.metadata]);
    await child.ended();
    return { isDone: child.exitCode === 0, output: child.output };
  }

  async end(): Promise<void> {
    for (const { node, proxy } of this.bookies) {
      await node.kill();
      await proxy.close();
    }
    for (const node of [...this.writers, ...this.readers, ...this.autorecovery]) await node.kill();
    await this.zookeeper.stop();
    process.off('exit', this.#killZooKeeper);
  }

  async #startClients(): Promise<void> {
    const { writersCount, readersCount, seed, bookiesCount } = this.#options;
    const settings = setting({
      metadataSessionTimeoutMs: sessionTimeoutMs,
      lostBookieRecoveryDelay: 2,
      openLedgerRereplicationGracePeriod: 3_000,
      auditorReplicasCheckInterval: 15,
      rwRereplicateBackoffMs: 1_000,
      lockReleaseOfFailedLedgerGracePeriod: 10_000,
    });
    for (let i = 1; i <= 2; i++) {
      const words = ['autorecovery', '--metadata', this.metadata, '--http-port', '0', ...settings];
      this.autorecovery.push(new ChaosNode(`autorecovery ${i}`, () => new DaybookProcess(words), 'is ready'));
    }
    for (let i = 1; i <= writersCount; i++) {
      const words = (life: number) => [
        writerProgram,
        this.metadata,
        join(this.logFolder, `writer-${i}-${life}.txt`),
        String(seed + i * 1_000 + life),
        String(bookiesCount),
      ];
      this.writers.push(new ChaosNode(`writer ${i}`, (life) => new ChildProgram(process.execPath, words(life))));
    }
    for (let i = 1; i <= readersCount; i++) {
      const words = (life: number) => [
        readerProgram,
        this.metadata,
        this.logFolder,
        join(this.logFolder, `reader-${i}-${life}.txt`),
        String(seed + i * 2_000 + life),
      ];
      this.readers.push(new ChaosNode(`reader ${i}`, (life) => new ChildProgram(process.execPath, words(life))));
    }
    for (const node of [...this.autorecovery, ...this.writers, ...this.readers]) await node.start();
  }
}

function setting(settings: Readonly<Record<string, number | boolean>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
}
