import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Answer = Readonly<Record<string, unknown>>;

/** A process that measures what it is told, see ledger-turns.ts. */
export class TurnWorker {
  readonly #child: ChildProcess;
  /** Keeps those that nobody has asked for yet: whoever is busy with a bookie's end must not miss an answer. */
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<void>;
  #errors = '';

  constructor(command: string, words: readonly string[]) {
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr?.on('data', (part: Buffer) => {
      this.#errors = (this.#errors + part.toString('utf8')).slice(-4_000);
    });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
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
    for (;;) {
      const { value: line, done } = await this.#lines.next();
      if (done === true) throw new Error(`the worker ended: ${this.#errors}`);
      // A library may have something to say as well.
      if (!line.startsWith('{')) continue;
      const answer = JSON.parse(line) as Answer;
      if ('error' in answer) throw new Error(String(answer.error));
      return answer;
    }
  }

  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
