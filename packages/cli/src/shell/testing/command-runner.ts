import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../../testing/run-daybook.js';

const loop = fileURLToPath(new URL('./command-loop.js', import.meta.url));
const endOfCommand = '<end of command>';

export interface CommandResult {
  code: number;
  output: string;
  errors: string;
}

/** The real command line in one child process, one command at a time. */
export class CommandRunner {
  readonly #child: ChildProcess;
  #output = '';
  #errors = '';
  #isGone = false;
  #changed: () => void = () => undefined;

  constructor(environment: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [loop], { stdio: 'pipe', env: plainEnvironment(environment) });
    this.#child.stdout?.on('data', (part: Buffer) => {
      this.#output += part.toString('utf8');
      this.#changed();
    });
    this.#child.stderr?.on('data', (part: Buffer) => {
      this.#errors += part.toString('utf8');
      this.#changed();
    });
    this.#child.once('close', () => {
      this.#isGone = true;
      this.#changed();
    });
    process.once('exit', () => this.#child.kill('SIGKILL'));
  }

  async run(words: readonly string[]): Promise<CommandResult> {
    this.#output = '';
    this.#errors = '';
    this.#child.stdin?.write(`${JSON.stringify(words)}\n`);
    for (;;) {
      const [output, code] = this.#output.split(endOfCommand);
      const [errors, rest] = this.#errors.split(endOfCommand);
      if (code?.endsWith('\n') && rest !== undefined) return { code: Number(code), output: output as string, errors: errors as string };
      if (this.#isGone) throw new Error(`the process ended in ${words.join(' ')}: ${this.#output}${this.#errors}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  async end(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin?.end();
    if (!this.#isGone) await gone;
  }
}
