import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const daybook = fileURLToPath(new URL('../../../packages/cli/bin/daybook.js', import.meta.url));

// Each process that a test starts listens for its end.
process.setMaxListeners(100);

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A TCP port of 127.0.0.1 that is free right now. */
export async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'daybook-chaos-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A process; ended by its own pid, at the latest with this one. */
export class ChildProgram {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #output = '';
  constructor(command: string, words: readonly string[]) {
    this.#child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (part: Buffer): void => {
      this.#output = (this.#output + part.toString('utf8')).slice(-20_000);
    };
    this.#child.stdout?.on('data', keep);
    this.#child.stderr?.on('data', keep);
    const killWithThis = (): boolean => this.#child.kill('SIGKILL');
    process.once('exit', killWithThis);
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => {
        process.off('exit', killWithThis);
        resolve();
      });
    });
  }
  get pid(): number {
    return this.#child.pid ?? -1;
  }
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
  /** By itself, or null. */
  get exitCode(): number | null {
    return this.#child.exitCode;
  }
  /** The last 20,000 characters it printed. */
  get output(): string {
    return this.#output;
  }
  /** Resolves when it has ended, by whatever cause. */
  ended(): Promise<void> {
    return this.#ended;
  }
  /** SIGSTOP: its connections stay open, nothing is answered. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }
  resume(): void {
    this.#child.kill('SIGCONT');
  }
  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}

/** One `daybook` process. */
export class DaybookProcess extends ChildProgram {
  constructor(words: readonly string[]) {
    super(process.execPath, [daybook, ...words]);
  }
}

/** Runs a command as `daybook cluster` prints it. */
export function startPrinted(command: string): ChildProgram {
  const [program = '', ...words] = command.split(' ');
  return program === 'daybook' ? new DaybookProcess(words) : new ChildProgram(program, words);
}

/** Polls until `probe` is true; rejects with `what` after `timeoutMs`. Resolves to how long it took. */
export async function until(what: string, timeoutMs: number, probe: () => Promise<boolean> | boolean): Promise<number> {
  const began = performance.now();
  while (!(await probe())) {
    if (performance.now() - began > timeoutMs) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await pause(20);
  }
  return performance.now() - began;
}

export async function isHealthy(base: string): Promise<boolean> {
  try {
    return (await fetch(`${base}/admin/v2/brokers/health`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

export interface ClusterMember {
  role: 'zookeeper' | 'bookie' | 'broker';
  pid: number;
  address: string;
}

export function clusterMembers(folder: string): ClusterMember[] {
  return JSON.parse(readFileSync(join(folder, 'cluster.json'), 'utf8')) as ClusterMember[];
}
