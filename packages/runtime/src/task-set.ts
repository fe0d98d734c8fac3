/** Background work of one owner: nothing floats, everything is joined in `close`. */
export class TaskSet implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #onError: (error: unknown, name: string) => void;

  /** `onError` is told of each task that rejects, with the name it was run by. */
  constructor(onError: (error: unknown, name: string) => void) {
    this.#onError = onError;
  }

  /** Aborts when `close` is called. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  get count(): number {
    return this.#running.size;
  }

  /** Runs a task beside its caller; false (and not run) once closing. The task must end soon after `stop` aborts. */
  run(name: string, task: (stop: AbortSignal) => Promise<void>): boolean {
    if (this.#stop.signal.aborted) return false;
    const running: Promise<void> = this.#guard(name, task).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return true;
  }

  /** Resolves when all tasks running now have ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Tells all tasks to stop and waits for their end. */
  async close(): Promise<void> {
    this.#stop.abort();
    while (this.#running.size > 0) await this.idle();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #guard(name: string, task: (stop: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await task(this.#stop.signal);
    } catch (error) {
      this.#onError(error, name);
    }
  }
}
