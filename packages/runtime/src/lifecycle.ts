import { defineErrors } from './errors.js';

export const lifecycleErrors = defineErrors('LIFECYCLE', {
  CLOSED: { retry: 'never', text: (name: string) => `${name} was not started: everything is being closed` },
});

/** Something with a beginning and an end. `close` may be called only after `start` resolved, and once. */
export interface LifecyclePart {
  readonly name: string;
  start?(): Promise<void> | void;
  close(): Promise<void> | void;
}

/**
 * Starts parts in order and closes them in reverse. `close` may be called at any time and more than once: a start under way is waited for
 * and its part closed, later starts are refused. A part whose close fails does not keep the others open.
 */
export class Lifecycle implements AsyncDisposable {
  readonly #started: LifecyclePart[] = [];
  #starting: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  /** Starts one part after all before it. When it fails, everything started so far is closed and its error is thrown. */
  start(part: LifecyclePart): Promise<void> {
    const result = this.#starting.then(() => this.#startNow(part));
    this.#starting = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  /** For what is started already: only its close. */
  onClose(name: string, close: () => Promise<void> | void): void {
    if (this.#closed !== undefined) throw lifecycleErrors.CLOSED(name);
    this.#started.push({ name, close });
  }

  /** Rejects with the first failure, or an AggregateError of several, after all parts were closed. */
  close(): Promise<void> {
    this.#closed ??= this.#starting.then(() => this.#closeAll());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #startNow(part: LifecyclePart): Promise<void> {
    if (this.#closed !== undefined) throw lifecycleErrors.CLOSED(part.name);
    try {
      await part.start?.();
    } catch (error) {
      // The failed start is what matters; a close that fails in its wake is only a consequence.
      await this.#closeAll().catch(() => undefined);
      this.#closed ??= Promise.resolve();
      throw error;
    }
    this.#started.push(part);
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let part = this.#started.pop(); part !== undefined; part = this.#started.pop()) {
      try {
        await part.close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts failed to close`);
  }
}
