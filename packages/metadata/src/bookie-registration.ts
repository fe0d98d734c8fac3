import { type Clock, isWorthRetrying, type Logger } from '@daybook/runtime';
import { encodeBookieRecord } from './bookie-record.js';
import type { RegisteredBookie } from './bookie-registry.js';
import { outlastEarlierSession } from './earlier-session.js';
import { clusterErrors, metadataErrors } from './errors.js';
import type { MetadataStore, Watch } from './metadata-store.js';
import { paths } from './paths.js';

export interface RegistrationOptions {
  clock: Clock;
  logger?: Pick<Logger, 'info' | 'warn'>;
  /** After a lost session somebody else has taken the bookie's id: the bookie must stop. */
  onFailure?: (error: Error) => void;
}

/** A bookie's presence in the cluster. */
export interface BookieRegistration {
  /** False between a lost session and the new registration. */
  readonly isRegistered: boolean;
  /** Resolves when everybody can see it; goes on trying while the store is away. */
  setWritable(isWritable: boolean): Promise<void>;
  /** Removes the key (or leaves that to the end of the session when the store is away). */
  close(): Promise<void>;
}

/**
 * Registers `bookie` by an ephemeral key, and again after each lost session. When another session holds its key, waits for as long as that of an earlier
 * process can last, then rejects with `CLUSTER_BOOKIE_ID_TAKEN`.
 */
export async function registerBookie(store: MetadataStore, bookie: RegisteredBookie, options: RegistrationOptions): Promise<BookieRegistration> {
  const registration = new StoredRegistration(store, bookie, options);
  await registration.start();
  return registration;
}

const retryMs = 500;

class StoredRegistration implements BookieRegistration {
  readonly #store: MetadataStore;
  readonly #bookie: RegisteredBookie;
  readonly #options: RegistrationOptions;
  readonly #stop = new AbortController();
  #isWritable: boolean;
  #isRegistered = false;
  /** One change of the keys at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #session: Watch | undefined;
  #wasLost = false;

  constructor(store: MetadataStore, bookie: RegisteredBookie, options: RegistrationOptions) {
    this.#store = store;
    this.#bookie = bookie;
    this.#options = options;
    this.#isWritable = bookie.isWritable;
  }

  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  async start(): Promise<void> {
    this.#session = this.#store.onSession((state) => {
      if (state === 'lost') {
        this.#wasLost = true;
        this.#isRegistered = false;
      } else if (state === 'connected' && this.#wasLost) {
        this.#wasLost = false;
        this.#registerAgain();
      }
    });
    try {
      await this.#inTurn(() => this.#apply());
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  setWritable(isWritable: boolean): Promise<void> {
    this.#isWritable = isWritable;
    return this.#inTurn(() => this.#applyWithPatience());
  }

  async close(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#session?.stop();
    await this.#last.catch(() => undefined);
    this.#isRegistered = false;
    try {
      for (const path of this.#paths()) await this.#removeOwn(path);
    } catch (error) {
      if (!metadataErrors.UNAVAILABLE.is(error) && !metadataErrors.CLOSED.is(error)) throw error;
    }
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const done = this.#last.then(task, task);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #registerAgain(): void {
    this.#inTurn(() => this.#applyWithPatience()).then(
      () => this.#options.logger?.info({ bookieId: this.#bookie.bookieId }, 'registered again after a lost metadata session'),
      (error) => {
        if (!this.#stop.signal.aborted) this.#options.onFailure?.(error);
      },
    );
  }

  async #applyWithPatience(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#apply();
        return;
      } catch (error) {
        if (!isWorthRetrying(error) || clusterErrors.BOOKIE_ID_TAKEN.is(error)) throw error;
        this.#options.logger?.warn({ bookieId: this.#bookie.bookieId, err: error }, 'cannot register now, trying again');
        await this.#options.clock.sleep(retryMs, this.#stop.signal);
      }
    }
  }

  /** The new key first, then the old one away: during the switch the bookie is in both lists, never in none. */
  async #apply(): Promise<void> {
    const [wanted, other] = this.#paths();
    await this.#waitForOthers(other);
    await this.#put(wanted);
    await this.#removeOwn(other);
    this.#isRegistered = true;
  }

  #paths(): [wanted: string, other: string] {
    const { bookieId } = this.#bookie;
    const both: [string, string] = [paths.availableBookie(bookieId), paths.readOnlyBookie(bookieId)];
    return this.#isWritable ? both : [both[1], both[0]];
  }

  async #put(path: string): Promise<void> {
    const value = encodeBookieRecord(this.#bookie);
    for (;;) {
      try {
        await this.#store.put(path, value, 'absent', { ephemeral: true });
        return;
      } catch (error) {
        if (!metadataErrors.EXISTS.is(error)) throw error;
      }
      const found = await this.#store.get(path);
      if (found?.ownEphemeral && found.value.equals(value)) return;
      if (found?.ownEphemeral) await this.#removeOwn(path);
      else await this.#waitForOthers(path);
    }
  }

  async #removeOwn(path: string): Promise<void> {
    const found = await this.#store.get(path);
    if (!found?.ownEphemeral) return;
    try {
      await this.#store.delete(path, found.version);
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error)) throw error;
    }
  }

  async #waitForOthers(path: string): Promise<void> {
    const { clock } = this.#options;
    const beganMs = clock.monoMs();
    if (await outlastEarlierSession(this.#store, path, { clock, stop: this.#stop.signal })) return;
    throw clusterErrors.BOOKIE_ID_TAKEN(this.#bookie.bookieId, Math.round(clock.monoMs() - beganMs));
  }
}
