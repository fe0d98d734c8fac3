import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Answer = Readonly<Record<string, unknown>>;

/** A process that measures what it is told, see ledger-turns.ts. */
export class TurnWorker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  /** Answers that nobody has asked for yet: whoever is busy with a bookie's end must not miss one. */
  readonly #answers: string[] = [];
  #onChange: (() => void) | undefined;
  #isEnded = false;
  #errors = '';

  constructor(command: string, words: readonly string[]) {
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr?.on('data', (part: Buffer) => {
      this.#errors = (this.#errors + part.toString('utf8')).slice(-4_000);
    });
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      // A library may have something to say as well.
      if (line.startsWith('{')) this.#answers.push(line);
      this.#onChange?.();
    });
    this.#child = child;
    this.#ended = new Promise((resolve) =>
      child.once('exit', () => {
        this.#isEnded = true;
        this.#onChange?.();
        resolve();
      }),
    );
    process.once('exit', () => child.kill('SIGKILL'));
  }

  /** Rejects when it answers with an error, or ends. */
  async ask(line: string): Promise<Answer> {
    this.#child.stdin?.write(`${line}\n`);
    return await this.answer();
  }

  /** The next answer to what was asked already. One call at a time. */
  async answer(): Promise<Answer> {
    while (this.#answers.length === 0) {
      if (this.#isEnded) throw new Error(`the worker ended: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
    const answer = JSON.parse(this.#answers.shift() as string) as Answer;
    if ('error' in answer) throw new Error(String(answer.error));
    return answer;
  }

  async kill9(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
