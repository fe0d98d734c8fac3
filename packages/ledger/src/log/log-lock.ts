import { type MetadataStore, metadataErrors, paths, sequenceOfPath, type Watch } from '@daybook/metadata';
import type { Clock, Random } from '@daybook/runtime';
import { logErrors } from './errors.js';

export interface AcquireLock {
  store: MetadataStore;
  clock: Clock;
  random: Random;
  /** The log's. */
  name: string;
  /** Who asks, for people. */
  owner: string;
  /** How long to wait for the present owner; 0 gives up at once. */
  waitMs: number;
  stop?: AbortSignal;
}

/** The right to write to a log, as long as the session lasts. It keeps owners polite; what keeps the data whole is fencing. */
export interface LogLock {
  readonly isHeld: boolean;
  /** Called once, when the session is lost; at once when it is lost already. */
  onLost(listener: () => void): void;
  /** May be called more than once. */
  release(): Promise<void>;
}

const attemptsMax = 4;

/** Queues up as an ephemeral sequential key: the lowest has the lock. Rejects with `LOG_LOCKED` after `waitMs`. */
export async function acquireLock(options: AcquireLock): Promise<LogLock> {
  const member = new LockMember(options);
  try {
    await member.enter();
    await member.waitForTurn();
    return member;
  } catch (error) {
    await member.release();
    throw error;
  }
}

class LockMember implements LogLock {
  readonly #options: AcquireLock;
  readonly #keys: ReturnType<typeof paths.log>;
  readonly #prefix: string;
  readonly #session: Watch;
  readonly #listeners: (() => void)[] = [];
  #path: string | undefined;
  #isLost = false;
  #isReleased = false;

  constructor(options: AcquireLock) {
    const { store, random, name, owner } = options;
    this.#options = options;
    this.#keys = paths.log(name);
    // The token tells our own key from others when the answer that names it is lost.
    this.#prefix = this.#keys.lockMember(owner, Buffer.from(random.bytes(8)).toString('hex'));
    this.#session = store.onSession((session) => {
      if (session === 'lost' || session === 'closed') this.#lose();
    });
  }

  get isHeld(): boolean {
    return this.#path !== undefined && !this.#isLost && !this.#isReleased;
  }

  onLost(listener: () => void): void {
    if (this.#isLost) listener();
    else this.#listeners.push(listener);
  }

  async enter(): Promise<void> {
    const { store, owner } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        this.#path = (await store.put(this.#prefix, Buffer.from(owner), 'absent', { ephemeral: true, sequential: true })).path;
        return;
      } catch (error) {
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= attemptsMax) throw error;
        this.#path = await this.#findOwn();
        if (this.#path !== undefined) return;
      }
    }
  }

  async waitForTurn(): Promise<void> {
    const { store, clock, waitMs, name, stop } = this.#options;
    const startMs = clock.monoMs();
    let changed = new AbortController();
    const wake = () => changed.abort();
    const watch = store.watch(this.#keys.lock, wake);
    stop?.addEventListener('abort', wake);
    try {
      for (;;) {
        changed = new AbortController();
        const ahead = await this.#firstAhead();
        if (this.#isLost) throw logErrors.LOCK_LOST(name);
        if (ahead === undefined) return;
        const waitedMs = Math.round(clock.monoMs() - startMs);
        if (waitedMs >= waitMs || stop?.aborted) {
          const owner = (await store.get(ahead))?.value.toString() || 'another writer';
          throw logErrors.LOCKED(name, owner, waitedMs);
        }
        await clock.sleep(waitMs - waitedMs, changed.signal);
      }
    } finally {
      watch.stop();
      stop?.removeEventListener('abort', wake);
    }
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#session.stop();
    if (this.#isLost) return;
    const { clock, store } = this.#options;
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      try {
        // It may be there although nobody ever told us its number.
        const path = this.#path ?? (await this.#findOwn());
        if (path !== undefined) await store.delete(path, 'any');
        return;
      } catch (error) {
        // Gone already, or it goes with the session.
        if (metadataErrors.NOT_FOUND.is(error) || metadataErrors.CLOSED.is(error)) return;
        if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
        await clock.sleep(50 * 2 ** attempt);
      }
    }
  }

  async #findOwn(): Promise<string | undefined> {
    const members = await this.#options.store.children(this.#keys.lock);
    return members.map((part) => `${this.#keys.lock}/${part}`).find((path) => path.startsWith(this.#prefix));
  }

  /** The key that has the lock now; undefined when it is ours. */
  async #firstAhead(): Promise<string | undefined> {
    const members = (await this.#options.store.children(this.#keys.lock)).map((part) => `${this.#keys.lock}/${part}`);
    const first = members.reduce<string | undefined>(
      (lowest, path) => (lowest === undefined || numberOf(path) < numberOf(lowest) ? path : lowest),
      undefined,
    );
    if (!members.includes(this.#path ?? '')) this.#lose();
    return first === this.#path ? undefined : first;
  }

  #lose(): void {
    if (this.#isLost || this.#isReleased) return;
    this.#isLost = true;
    for (const listener of this.#listeners) listener();
  }
}

function numberOf(path: string): number {
  return sequenceOfPath(path, path.slice(0, -10)) ?? Number.POSITIVE_INFINITY;
}
