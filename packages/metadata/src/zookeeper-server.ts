import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ZooKeeperServerOptions {
  /** Where its data and log go; a temporary folder, removed by `stop`, when left out. */
  dataDirectory?: string;
  /** Default: a free one. */
  port?: number;
  /** Its unit of time: sessions last from 2 to 20 of them. */
  tickMs?: number;
  /** Longest session that clients may ask for; default 60 s. */
  sessionTimeoutMsMax?: number;
  /** Where its output is appended; default `zookeeper.out` in its data folder. */
  logFile?: string;
  /** In a process group of its own: Ctrl-C in a terminal does not reach it. Default false. */
  isDetached?: boolean;
}

/** How a process ended: by its own exit code or by a signal. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A single ZooKeeper server as a child process on 127.0.0.1, for tests and for local clusters. */
export class ZooKeeperServer {
  readonly port: number;
  readonly dataDirectory: string;
  readonly #installation: ZooKeeperInstallation;
  readonly #logFile: string;
  readonly #isDetached: boolean;
  readonly #removesData: boolean;
  #process: ChildProcess | undefined;

  private constructor(installation: ZooKeeperInstallation, at: { port: number; dataDirectory: string }, options: ZooKeeperServerOptions) {
    this.#installation = installation;
    this.port = at.port;
    this.dataDirectory = at.dataDirectory;
    this.#logFile = options.logFile ?? join(at.dataDirectory, 'zookeeper.out');
    this.#isDetached = options.isDetached ?? false;
    this.#removesData = options.dataDirectory === undefined;
  }

  /** Resolves when the server answers. Rejects with a text for people when ZooKeeper or Java is missing. */
  static async start(options: ZooKeeperServerOptions = {}): Promise<ZooKeeperServer> {
    const found = await findZooKeeper();
    if ('missing' in found) throw new Error(found.missing);
    const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'daybook-zookeeper-')));
    await mkdir(join(dataDirectory, 'data'), { recursive: true });
    const port = options.port ?? (await freePort());
    await writeFile(join(dataDirectory, 'zoo.cfg'), configuration(dataDirectory, port, options));
    await writeFile(join(dataDirectory, 'log4j.properties'), logging);
    const server = new ZooKeeperServer(found, { port, dataDirectory }, options);
    try {
      await server.#spawn();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** What starts it, word by word; also by hand. */
  get command(): readonly string[] {
    const { java, classPath } = this.#installation;
    const memory = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
    const settings = ['-Dzookeeper.admin.enableServer=false', '-Dzookeeper.jmx.log4j.disable=true', '-Djava.net.preferIPv4Stack=true'];
    const log = `-Dlog4j.configuration=file:${join(this.dataDirectory, 'log4j.properties')}`;
    const main = 'org.apache.zookeeper.server.ZooKeeperServerMain';
    return [java, ...memory, ...settings, log, '-cp', classPath, main, join(this.dataDirectory, 'zoo.cfg')];
  }

  /** Resolves when the process has ended, by whatever cause; at once when it does not run. */
  ended(): Promise<ProcessEnd> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      return Promise.resolve({ code: child?.exitCode ?? null, signal: child?.signalCode ?? null });
    }
    return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  }

  /** Ends it at once, as a crash would; its data stays. */
  async kill9(): Promise<void> {
    this.#process?.kill('SIGKILL');
    await this.ended();
  }

  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Starts it again on the same port and data (ending it first when it runs). */
  async restart(): Promise<void> {
    await this.kill9();
    await this.#spawn();
  }

  async stop(): Promise<void> {
    this.resume();
    this.#process?.kill('SIGKILL');
    await this.ended();
    if (this.#removesData) await rm(this.dataDirectory, { recursive: true, force: true });
  }

  async #spawn(): Promise<void> {
    const log = await open(this.#logFile, 'a');
    const [java, ...words] = this.command as [string, ...string[]];
    const child = spawn(java, words, { stdio: ['ignore', log.fd, log.fd], cwd: this.dataDirectory, detached: this.#isDetached });
    this.#process = child;
    const spawned = new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    await log.close();
    await spawned;
    for (let waitedMs = 0; waitedMs < startMsMax; waitedMs += pollMs) {
      if (child.exitCode !== null || child.signalCode !== null) break;
      if (await this.#answers()) return;
      await sleep(pollMs);
    }
    const output = (await readFile(this.#logFile, 'utf8')).slice(-2_000);
    throw new Error(`the ZooKeeper server did not start on ${this.address}; the end of its output:\n${output}`);
  }

  /** Its own health word: `srvr` is answered once it serves. */
  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: this.port });
      let answer = '';
      socket.setTimeout(1_000, () => socket.destroy());
      socket.on('connect', () => socket.write('srvr'));
      socket.on('data', (chunk) => {
        answer += chunk.toString();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(answer.includes('Mode:')));
    });
  }
}

export interface ZooKeeperInstallation {
  java: string;
  classPath: string;
}

/** Where ZooKeeper is on this machine, or what to do about it. `DAYBOOK_ZOOKEEPER_CLASSPATH` and `DAYBOOK_JAVA` override the search. */
export async function findZooKeeper(): Promise<ZooKeeperInstallation | { missing: string }> {
  const java = process.env.DAYBOOK_JAVA ?? 'java';
  const hasJava = await new Promise<boolean>((resolve) => execFile(java, ['-version'], (error) => resolve(error === null)));
  if (!hasJava) return { missing: `ZooKeeper needs Java, and "${java}" does not run. ${howToInstall}` };
  const classPath = process.env.DAYBOOK_ZOOKEEPER_CLASSPATH;
  if (classPath !== undefined) return { java, classPath };
  const jars = '/usr/share/java';
  const exists = await access(join(jars, 'zookeeper.jar')).then(
    () => true,
    () => false,
  );
  if (!exists) return { missing: `there is no ${jars}/zookeeper.jar. ${howToInstall}` };
  // zookeeper.jar names its dependencies in its manifest, all but the one that writes the log.
  return { java, classPath: ['zookeeper.jar', 'slf4j-log4j12.jar', 'log4j-1.2.jar'].map((jar) => join(jars, jar)).join(':') };
}

const howToInstall =
  'Install it (Debian: apt-get install zookeeper default-jre-headless), or set DAYBOOK_ZOOKEEPER_CLASSPATH to the jars of a ZooKeeper 3.8 or newer.';
const startMsMax = 30_000;
const pollMs = 50;

function configuration(dataDirectory: string, port: number, options: ZooKeeperServerOptions): string {
  return `${[
    `dataDir=${join(dataDirectory, 'data')}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    `tickTime=${options.tickMs ?? 1_000}`,
    `maxSessionTimeout=${options.sessionTimeoutMsMax ?? 60_000}`,
    'maxClientCnxns=0',
    'admin.enableServer=false',
    '4lw.commands.whitelist=srvr',
    'autopurge.purgeInterval=1',
    'autopurge.snapRetainCount=3',
  ].join('\n')}\n`;
}

const logging = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} %m%n
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
