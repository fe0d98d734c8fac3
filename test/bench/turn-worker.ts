import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';

export type Answer = Readonly<Record<string, unknown>>;

/** A process that measures what it is told, see ledger-turns.ts. */
export class TurnWorker {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #ended: Promise<void>;
  #errors = '';

  constructor(command: string, words: readonly string[]) {
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr?.on('data', (part: Buffer) => {
      this.#errors = (this.#errors + part.toString('utf8')).slice(-4_000);
    });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    this.#ended = new Promise((resolve) => child.once('exit', () => resolve()));
    process.once('exit', () => child.kill('SIGKILL'));
  }

  /** Rejects when it answers with an error, or ends. */
  async ask(line: string): Promise<Answer> {
    this.#child.stdin?.write(`${line}\n`);
    return await this.answer();
  }

  /** The next answer to what was asked already. */
  async answer(): Promise<Answer> {
    const line = await new Promise<string>((resolve, reject) => {
      const failed = (): void => reject(new Error(`the worker ended: ${this.#errors}`));
      this.#child.once('exit', failed);
      const heard = (text: string): void => {
        // A library may have something to say as well.
        if (!text.startsWith('{')) return;
        this.#lines.off('line', heard);
        this.#child.off('exit', failed);
        resolve(text);
      };
      this.#lines.on('line', heard);
    });
    const answer = JSON.parse(line) as Answer;
    if ('error' in answer) throw new Error(String(answer.error));
    return answer;
  }

  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
