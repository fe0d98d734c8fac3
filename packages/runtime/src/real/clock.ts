import type { Clock, Timer } from '../clock.js';

/** Node's timers take a signed 32-bit delay and fire at once beyond it. */
const timerMsMax = 2_147_483_647;

/** The process's own time. `sleep` keeps the process alive (somebody awaits it); `after` does not. */
export class RealClock implements Clock {
  wallMs(): number {
    return Date.now();
  }

  monoMs(): number {
    return performance.now();
  }

  after(delayMs: number, task: () => void): Timer {
    return new RealTimer(delayMs, task);
  }

  endOfTurn(task: () => void): void {
    setImmediate(task);
  }

  sleep(delayMs: number, stop?: AbortSignal): Promise<void> {
    if (stop?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        stop?.removeEventListener('abort', done);
        resolve();
      };
      const timer = new RealTimer(delayMs, done, true);
      stop?.addEventListener('abort', done, { once: true });
    });
  }
}

class RealTimer implements Timer {
  readonly #task: () => void;
  readonly #keepAlive: boolean;
  #handle: NodeJS.Timeout;

  constructor(delayMs: number, task: () => void, keepAlive = false) {
    this.#task = task;
    this.#keepAlive = keepAlive;
    this.#handle = this.#wait(delayMs);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  #wait(delayMs: number): NodeJS.Timeout {
    const handle =
      delayMs <= timerMsMax
        ? setTimeout(this.#task, Math.max(0, delayMs))
        : setTimeout(() => {
            this.#handle = this.#wait(delayMs - timerMsMax);
          }, timerMsMax);
    return this.#keepAlive ? handle : handle.unref();
  }
}
