import type { Expected, MemoryFaults, MemoryTree, MetadataStore, PutOptions, PutResult, SessionState, Versioned, Watch } from '@daybook/metadata';
import { SimClock, type SimRandom } from '@daybook/runtime/sim';

export interface NodeSessionOptions {
  tree: MemoryTree;
  /** The clock of the process: it hears of nothing while it is paused or dead. */
  clock: SimClock;
  random: SimRandom;
  faults: Partial<MemoryFaults>;
  sessionTimeoutMs: number;
}

/**
 * A process's session with the metadata store. The session itself lives at the store's side, on a clock of its own: when the process stops or stands still,
 * it expires there, and the process learns of that when it can.
 */
export class NodeSession implements MetadataStore {
  readonly inner: ReturnType<MemoryTree['openSession']>;
  readonly #clock: SimClock;
  #seen: SessionState;

  constructor({ tree, clock, random, faults, sessionTimeoutMs }: NodeSessionOptions) {
    this.#clock = clock;
    this.inner = tree.openSession({ clock: new SimClock(clock.queue, { name: `${clock.name} session` }), random, faults, sessionTimeoutMs });
    this.#seen = this.inner.session;
    this.inner.onSession((state) =>
      clock.deliver(() => {
        this.#seen = state;
      }),
    );
  }

  get sessionTimeoutMs(): number {
    return this.inner.sessionTimeoutMs;
  }

  get session(): SessionState {
    return this.#seen;
  }

  onSession(listener: (state: SessionState) => void): Watch {
    return this.inner.onSession((state) => this.#clock.deliver(() => listener(state)));
  }

  get(path: string): Promise<Versioned | undefined> {
    return this.#heard(this.inner.get(path));
  }

  put(path: string, value: Uint8Array, expected: Expected, options?: PutOptions): Promise<PutResult> {
    return this.#heard(this.inner.put(path, value, expected, options));
  }

  delete(path: string, expected: number | 'any'): Promise<void> {
    return this.#heard(this.inner.delete(path, expected));
  }

  children(path: string): Promise<string[]> {
    return this.#heard(this.inner.children(path));
  }

  watch(path: string, listener: () => void): Watch {
    let isStopped = false;
    const watch = this.inner.watch(path, () =>
      this.#clock.deliver(() => {
        if (!isStopped) listener();
      }),
    );
    return {
      stop: () => {
        isStopped = true;
        watch.stop();
      },
    };
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  #heard<T>(outcome: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      outcome.then(
        (value) => this.#clock.deliver(() => resolve(value)),
        (error: unknown) => this.#clock.deliver(() => reject(error)),
      );
    });
  }
}
