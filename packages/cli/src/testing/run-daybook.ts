import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const daybook = fileURLToPath(new URL('../../bin/daybook.js', import.meta.url));

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  errors: string;
}

/** The environment without settings of whoever runs the tests. */
export function plainEnvironment(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('DAYBOOK_'));
  return { ...Object.fromEntries(others), ...own };
}

/** The real command as a process; killed with the test process at the latest. */
export class Daybook {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  #output = '';
  #errors = '';

  constructor(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, [daybook, ...words], { stdio: ['pipe', 'pipe', 'pipe'], env: plainEnvironment(environment) });
    this.#child = child;
    child.stdout.on('data', (part: Buffer) => {
      this.#output += part.toString('utf8');
    });
    child.stderr.on('data', (part: Buffer) => {
      this.#errors += part.toString('utf8');
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, output: this.#output, errors: this.#errors }));
    });
    const kill = (): boolean => child.kill('SIGKILL');
    process.once('exit', kill);
    void this.ended.then(() => process.off('exit', kill));
  }

  get output(): string {
    return this.#output;
  }

  /** Resolves to what a group of `pattern` matched in the output; rejects when the process ends before. */
  async printed(pattern: RegExp): Promise<string> {
    let isEnded = false;
    void this.ended.then(() => {
      isEnded = true;
    });
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found !== null) return found[1] ?? found[0];
      if (isEnded) throw new Error(`ended without printing ${pattern}: ${this.#output}${this.#errors}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  input(text: string): void {
    this.#child.stdin?.end(text);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child.kill(signal);
    return await this.ended;
  }
}

export async function runDaybook(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const daybook = new Daybook(words, environment);
  daybook.input('');
  return await daybook.ended;
}

export function temporaryFolder(t: { teardown(task: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'daybook-cli-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}
