import type { Clock, Timer } from '../clock.js';
import type { EventQueue } from './event-queue.js';

export interface SimClockOptions {
  /** The node's name in the trace. */
  name?: string;
  /** Wall time when the world began. */
  wallStartMs?: number;
}

const year2030Ms = 1_893_456_000_000;

/**
 * Time as one run of one node sees it, and the switch of that run: `stop` is kill -9 (nothing of this run happens any more),
 * `pause` and `resume` are SIGSTOP and SIGCONT (time goes on, what was due happens late). A restarted node gets a new clock.
 */
export class SimClock implements Clock {
  readonly queue: EventQueue;
  readonly name: string;
  readonly #label: string;
  readonly #turnLabel: string;
  #wallOffsetMs: number;
  #state: 'running' | 'paused' | 'stopped' = 'running';
  #held: (() => void)[] = [];
  /** Held tasks that are scheduled since the node was resumed. */
  #returningCount = 0;

  constructor(queue: EventQueue, { name = 'node', wallStartMs = year2030Ms }: SimClockOptions = {}) {
    this.queue = queue;
    this.name = name;
    this.#label = `${name} timer`;
    this.#turnLabel = `${name} turn`;
    this.#wallOffsetMs = wallStartMs;
  }

  get state(): 'running' | 'paused' | 'stopped' {
    return this.#state;
  }

  wallMs(): number {
    return Math.floor(this.#wallOffsetMs + this.queue.nowMs);
  }

  monoMs(): number {
    return this.queue.nowMs;
  }

  after(delayMs: number, task: () => void): Timer {
    return this.#schedule(delayMs, task, this.#label);
  }

  endOfTurn(task: () => void): void {
    this.#schedule(0, task, this.#turnLabel);
  }

  sleep(delayMs: number, stop?: AbortSignal): Promise<void> {
    if (stop?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        stop?.removeEventListener('abort', done);
        if (this.#state !== 'stopped') resolve();
      };
      const timer = this.after(delayMs, done);
      stop?.addEventListener('abort', done, { once: true });
    });
  }

  /** Lets the outside world (disk, network) hand something to this node: at once, when it is resumed, or never. */
  deliver(task: () => void): void {
    if (this.#state === 'paused') this.#held.push(task);
    else if (this.#returningCount > 0) this.#return(task);
    else if (this.#state === 'running') task();
  }

  /** kill -9: no timer, no delivery and no sleep of this run ends any more. */
  stop(): void {
    this.queue.trace.record(this.queue.nowMs, this.name, 'stop');
    this.#state = 'stopped';
    this.#held = [];
  }

  pause(): void {
    if (this.#state !== 'running') return;
    this.queue.trace.record(this.queue.nowMs, this.name, 'pause');
    this.#state = 'paused';
  }

  /** What became due meanwhile happens now, in its order, each in an own turn. */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.queue.trace.record(this.queue.nowMs, this.name, 'resume');
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    for (const task of held) this.#return(task);
  }

  /** Nothing overtakes what was held back while the node stood still. */
  #return(task: () => void): void {
    this.#returningCount++;
    const taken = () => {
      this.#returningCount--;
      if (this.#state === 'running') task();
      else if (this.#state === 'paused') this.#held.push(task);
    };
    this.queue.schedule(0, taken, this.#label);
  }

  /** Somebody sets the node's clock forward or back; the monotonic time does not notice. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  #schedule(delayMs: number, task: () => void, label: string): Timer {
    let cancelled = false;
    const held = () => {
      if (!cancelled) task();
    };
    const event = this.queue.schedule(delayMs, () => this.deliver(held), label);
    return {
      cancel: () => {
        cancelled = true;
        this.queue.cancel(event);
      },
    };
  }
}
