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
      const turn = () => {
        if (options.until?.()) return resolve();
        if (this.#eventsCount >= endless) return reject(this.failure(`still not idle after ${options.eventsMax ?? 20_000_000} events`));
        try {
          if (!this.#step(untilMs)) return resolve();
        } catch (error) {
          return reject(this.failure(`an event failed: ${(error as Error).message}`, error));
        }
        settleThen(turn);
      };
      settleThen(turn);
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
    const turn = () => {
      if (this.#driven && this.#step(Number.POSITIVE_INFINITY)) settleThen(turn);
      else this.#running = false;
    };
    settleThen(turn);
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

function settleThen(turn: () => void): void {
  // biome-ignore lint/style/noRestrictedGlobals: the one real macrotask behind all simulated time.
  setImmediate(turn);
}
