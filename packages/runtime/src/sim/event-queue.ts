import { EventHeap, type SimEvent } from './event-heap.js';
import { SimRandom } from './random.js';
import { Trace } from './trace.js';

export interface RunOptions {
  /** Runs what is due up to this moment (inclusive), then stands at it, idle or not. */
  untilMs?: number;
  /** Runs until nothing is due any more; the default when neither `untilMs` nor `until` is given. */
  untilIdle?: boolean;
  /** Stops after the event that makes this true. */
  until?: () => boolean;
  /** More events than this are taken for an endless loop. */
  eventsMax?: number;
}

/** A simulated run that cannot go on. Its text ends with the last lines of the trace. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
}

/**
 * Simulated time, shared by all nodes of a world: takes the next event, runs it, then lets one macrotask pass so that all promises
 * settle. Nothing else may make things happen, hence one seed gives one trace.
 */
export class EventQueue {
  readonly seed: number | string;
  /** The root of all chance in the world: fork it by name. */
  readonly random: SimRandom;
  readonly trace: Trace;
  readonly #heap = new EventHeap();
  #nowMs = 0;
  #sequence = 0;
  #cancelledCount = 0;
  #eventsCount = 0;
  #running = false;
  #driven = false;

  constructor({ seed, traceLinesMax = 400 }: { seed: number | string; traceLinesMax?: number }) {
    this.seed = seed;
    this.random = new SimRandom(seed);
    this.trace = new Trace({ linesMax: traceLinesMax });
  }

  /** Simulated milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events still due. */
  get pendingCount(): number {
    return this.#heap.size - this.#cancelledCount;
  }

  /** Events run so far. */
  get eventsCount(): number {
    return this.#eventsCount;
  }

  /** Calls `task` in `delayMs` (0: after what is already due now). The label is what the trace shows. */
  schedule(delayMs: number, task: () => void, label: string): SimEvent {
    const event: SimEvent = { atMs: this.#nowMs + Math.max(0, delayMs), sequence: this.#sequence++, label, task };
    this.#heap.push(event);
    if (this.#driven && !this.#running) this.#pump();
    return event;
  }

  cancel(event: SimEvent): void {
    if (event.task === undefined) return;
    event.task = undefined;
    this.#cancelledCount++;
    if (this.#cancelledCount > 1000 && this.#cancelledCount > this.#heap.size / 2) {
      this.#heap.sweep();
      this.#cancelledCount = 0;
    }
  }

  /** Runs events; see {@link RunOptions}. Rejects when an event throws. */
  run(options: RunOptions = {}): Promise<void> {
    if (this.#running || this.#driven) throw new SimulationFailure('the queue is running already');
    const untilMs = options.untilMs ?? Number.POSITIVE_INFINITY;
    const endless = this.#eventsCount + (options.eventsMax ?? 20_000_000);
    this.#running = true;
    return new Promise<void>((resolve, reject) => {
      const end = () => {
        resolve();
        return false;
      };
      const fail = (text: string, cause?: unknown) => {
        reject(this.failure(text, cause));
        return false;
      };
      repeat(() => {
        if (options.until?.()) return end();
        if (this.#eventsCount >= endless) return fail(`still not idle after ${options.eventsMax ?? 20_000_000} events`);
        try {
          return this.#step(untilMs) || end();
        } catch (error) {
          return fail(`an event failed: ${(error as Error).message}`, error);
        }
      });
    }).finally(() => {
      this.#running = false;
      if (Number.isFinite(untilMs) && options.until === undefined) this.#nowMs = Math.max(this.#nowMs, untilMs);
    });
  }

  /** Runs for this much simulated time. */
  runFor(durationMs: number): Promise<void> {
    return this.run({ untilMs: this.#nowMs + durationMs });
  }

  /** Runs until `promise` is settled and gives its outcome. Fails when nothing is left that could settle it, or past `withinMs`. */
  async complete<T>(promise: Promise<T>, { withinMs = 3_600_000 }: { withinMs?: number } = {}): Promise<T> {
    let settled = false;
    const mark = () => {
      settled = true;
    };
    promise.then(mark, mark);
    const deadlineMs = this.#nowMs + withinMs;
    await this.run({ until: () => settled, untilMs: deadlineMs });
    if (!settled) {
      throw this.failure(
        this.pendingCount === 0 ? 'nothing is due any more, but the promise is still pending' : `still pending after ${withinMs} ms`,
      );
    }
    return promise;
  }

  /** Runs whatever becomes due as soon as it does, until `stop`: for tests to which time does not matter. */
  drive(): { stop(): void } {
    if (this.#running || this.#driven) throw new SimulationFailure('the queue is running already');
    this.#driven = true;
    this.#pump();
    return {
      stop: () => {
        this.#driven = false;
      },
    };
  }

  /** An error that carries what one needs to replay and understand it. */
  failure(text: string, cause?: unknown): SimulationFailure {
    const lines = this.trace.lastLines(40).map((line) => `  ${line}`);
    return new SimulationFailure(`${text}\nseed ${this.seed}, simulated time ${this.#nowMs} ms, the last events:\n${lines.join('\n')}`, { cause });
  }

  #pump(): void {
    this.#running = true;
    repeat(() => {
      this.#running = this.#driven && this.#step(Number.POSITIVE_INFINITY);
      return this.#running;
    });
  }

  /** Runs one event; false when none is due until then. */
  #step(untilMs: number): boolean {
    for (;;) {
      const event = this.#heap.peek();
      if (event === undefined || event.atMs > untilMs) return false;
      this.#heap.pop();
      if (event.task === undefined) {
        this.#cancelledCount--;
        continue;
      }
      const task = event.task;
      event.task = undefined;
      this.#nowMs = event.atMs;
      this.#eventsCount++;
      this.trace.recordEvent(event);
      task();
      return true;
    }
  }
}

const macrotasksMax = 64;

/**
 * Calls `turn` for as long as it returns true, each time in a macrotask of its own, hence when all promises are settled. Several
 * macrotasks are asked for at once: going around Node's whole loop for each of them cost more than most events.
 */
function repeat(turn: () => boolean): void {
  let asked = 1;
  let due = 0;
  let isOver = false;
  const ask = () => {
    // biome-ignore lint/style/noRestrictedGlobals: the real macrotasks behind all simulated time.
    for (due = 0; due < asked; due++) setImmediate(once);
  };
  const once = () => {
    due--;
    if (isOver) return;
    isOver = !turn();
    if (isOver || due > 0) return;
    asked = Math.min(2 * asked, macrotasksMax);
    ask();
  };
  ask();
}
