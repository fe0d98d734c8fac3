import { asBookieId, type BookieId, bookieId, protoErrors } from '@daybook/proto';
import type { Clock, Logger, Timer } from '@daybook/runtime';
import { decodeBookieRecord } from './bookie-record.js';
import type { MetadataStore, Watch } from './metadata-store.js';
import { paths } from './paths.js';

/** A bookie that is up, as it registered itself. */
export interface RegisteredBookie {
  bookieId: BookieId;
  /** Where its gRPC service listens, `host:port`; empty when it runs in this process. */
  address: string;
  /** Where its HTTP service listens, `host:port`; empty without one. */
  httpAddress: string;
  /** Identity of its disks, new whenever they are formatted: another incarnation under the same id is another bookie. */
  incarnation: string;
  isWritable: boolean;
}

/** Who is up. Kept current by watches; `list` answers from memory. */
export interface BookieRegistry {
  /** All bookies known to be up right now, sorted by id. */
  list(): readonly RegisteredBookie[];
  get(bookieId: BookieId): RegisteredBookie | undefined;
  /** Asks the store, for what must not rest on a list that may be a moment old. */
  isRegistered?(bookieId: BookieId): Promise<boolean>;
  /** Ids of all bookies that joined the cluster and were not sent away, up or not; for texts that say who is missing. */
  joined?(): readonly BookieId[];
  /** Called after each change of the list. */
  onChange(listener: () => void): { stop(): void };
  close(): void;
}

export interface BookieRegistryOptions {
  clock: Clock;
  logger?: Pick<Logger, 'warn'>;
}

/**
 * The bookies that are registered in `store`. Resolves with the first complete list; rejects when the store cannot give one.
 *
 * "I cannot see it" is not "it is gone": while the store does not answer, the last list stays. A listing that is suddenly empty is believed only when a second
 * one, a while later, is empty too. A bookie in both lists is on its way between them and counts as read-only.
 */
export async function createBookieRegistry(store: MetadataStore, options: BookieRegistryOptions): Promise<BookieRegistry> {
  const registry = new StoredBookieRegistry(store, options);
  await registry.start();
  return registry;
}

/** Between a failed reading, or an empty one, and the next. */
const readAgainMs = 1_000;

class StoredBookieRegistry implements BookieRegistry {
  readonly #store: MetadataStore;
  readonly #clock: Clock;
  readonly #logger: Pick<Logger, 'warn'> | undefined;
  readonly #listeners = new Set<{ listener: () => void }>();
  readonly #watches: Watch[] = [];
  #bookies: readonly RegisteredBookie[] = [];
  #byId = new Map<string, RegisteredBookie>();
  #joined: readonly BookieId[] = [];
  #state: 'idle' | 'reading' | 'reading, changed meanwhile' | 'closed' = 'idle';
  #timer: Timer | undefined;
  /** When the listing became empty, while the list known before is kept. */
  #emptySinceMs: number | undefined;

  constructor(store: MetadataStore, { clock, logger }: BookieRegistryOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    const changed = () => void this.#refresh();
    this.#state = 'reading';
    for (const path of [paths.availableBookies, paths.readOnlyBookies, paths.cookies]) this.#watches.push(this.#store.watch(path, changed));
    try {
      this.#take(await this.#read());
    } catch (error) {
      this.close();
      throw error;
    }
    this.#endReading();
  }

  list(): readonly RegisteredBookie[] {
    return this.#bookies;
  }

  get(bookieId: BookieId): RegisteredBookie | undefined {
    return this.#byId.get(bookieId);
  }

  async isRegistered(bookieId: BookieId): Promise<boolean> {
    const places = [paths.availableBookie(bookieId), paths.readOnlyBookie(bookieId)];
    return (await Promise.all(places.map((path) => this.#store.get(path)))).some((record) => record !== undefined);
  }

  joined(): readonly BookieId[] {
    return this.#joined;
  }

  onChange(listener: () => void): { stop(): void } {
    const entry = { listener };
    this.#listeners.add(entry);
    return { stop: () => void this.#listeners.delete(entry) };
  }

  close(): void {
    this.#state = 'closed';
    this.#timer?.cancel();
    for (const watch of this.#watches) watch.stop();
    this.#listeners.clear();
  }

  async #refresh(): Promise<void> {
    if (this.#state === 'closed') return;
    if (this.#state !== 'idle') {
      this.#state = 'reading, changed meanwhile';
      return;
    }
    this.#state = 'reading';
    this.#timer?.cancel();
    const bookies = await this.#readIfPossible();
    if (this.#isClosed()) return;
    if (bookies !== undefined && (bookies.length > 0 || this.#isEmptyForLong())) this.#take(bookies);
    else this.#timer = this.#clock.after(readAgainMs, () => void this.#refresh());
    this.#endReading();
  }

  async #readIfPossible(): Promise<RegisteredBookie[] | undefined> {
    try {
      return await this.#read();
    } catch (error) {
      this.#logger?.warn({ err: error }, 'the list of bookies cannot be read: going on with the last one');
      return undefined;
    }
  }

  #endReading(): void {
    const isStale = this.#state === 'reading, changed meanwhile';
    this.#state = 'idle';
    if (isStale) void this.#refresh();
  }

  #isEmptyForLong(): boolean {
    const nowMs = this.#clock.monoMs();
    this.#emptySinceMs ??= nowMs;
    return this.#bookies.length === 0 || nowMs - this.#emptySinceMs >= readAgainMs;
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #take(bookies: readonly RegisteredBookie[]): void {
    this.#emptySinceMs = undefined;
    const isSame = JSON.stringify(bookies) === JSON.stringify(this.#bookies);
    this.#bookies = bookies;
    this.#byId = new Map(bookies.map((bookie) => [bookie.bookieId, bookie]));
    if (!isSame) for (const { listener } of [...this.#listeners]) listener();
  }

  async #read(): Promise<RegisteredBookie[]> {
    const { availableBookies, readOnlyBookies, cookies } = paths;
    const lists = [availableBookies, readOnlyBookies, cookies].map((path) => this.#store.children(path));
    const [available = [], readOnly = [], joined = []] = await Promise.all(lists);
    this.#joined = joined.flatMap((name) => asBookieId(name) ?? []);
    const readOnlyIds = new Set(readOnly);
    const ids = new Set([...available.filter((name) => name !== 'readonly'), ...readOnly]);
    const found = await Promise.all([...ids].sort().map((id) => this.#readOne(id, !readOnlyIds.has(id))));
    return found.filter((bookie) => bookie !== undefined);
  }

  async #readOne(id: string, isWritable: boolean): Promise<RegisteredBookie | undefined> {
    try {
      const known = bookieId(id);
      const record = await this.#store.get(isWritable ? paths.availableBookie(known) : paths.readOnlyBookie(known));
      // Gone since the listing: the watch brings us back.
      return record && decodeBookieRecord(known, record.value, isWritable);
    } catch (error) {
      if (!(error instanceof RangeError) && !protoErrors.SERVICE_INFO_MALFORMED.is(error)) throw error;
      this.#logger?.warn({ bookieId: id, err: error }, 'this bookie has a registration that cannot be read, and is left out');
      return undefined;
    }
  }
}
