import { type BookieId, parseJson, stringifyJson } from '@daybook/proto';
import { DaybookError, type Logger } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import type { MetadataStore, Versioned } from './metadata-store.js';
import { paths } from './paths.js';

/** Where a bookie stands: Pulsar's BookieInfo. */
export interface BookieRack {
  /** `/region/rack` or `/rack`. */
  readonly rack: string;
  readonly hostname: string;
}

/** By group, then by bookie id: what Pulsar keeps at `/bookies` and serves as `/admin/v2/bookies/racks-info`. */
export type BookieRacks = Readonly<Record<string, Readonly<Record<string, BookieRack>>>>;

/** Everything that is known; nothing when it was never set. Rejects with `METADATA_CORRUPT` for what is not such a record. */
export async function readBookieRacks(store: MetadataStore): Promise<BookieRacks> {
  return decodeRacks(await store.get(paths.bookieRacks));
}

/** Replaces the record by what `change` makes of it, by compare-and-set; `change` may run more than once. */
export async function updateBookieRacks(store: MetadataStore, change: (racks: BookieRacks) => BookieRacks): Promise<BookieRacks> {
  for (;;) {
    const stored = await store.get(paths.bookieRacks);
    const racks = change(decodeRacks(stored));
    try {
      await store.put(paths.bookieRacks, Buffer.from(stringifyJson(racks)), stored?.version ?? 'absent');
      return racks;
    } catch (error) {
      if (!metadataErrors.BAD_VERSION.is(error) && !metadataErrors.EXISTS.is(error)) throw error;
    }
  }
}

/** `racks` with `bookieId` in `group` and in no other. */
export function withBookieRack(racks: BookieRacks, group: string, bookieId: BookieId, rack: BookieRack): BookieRacks {
  const others = withoutBookieRack(racks, bookieId);
  return { ...others, [group]: { ...others[group], [bookieId]: rack } };
}

/** Groups that become empty are left out. */
export function withoutBookieRack(racks: BookieRacks, bookieId: BookieId): BookieRacks {
  const groups = Object.entries(racks).map(([group, bookies]) => {
    const rest = Object.entries(bookies).filter(([id]) => id !== bookieId);
    return [group, Object.fromEntries(rest)] as const;
  });
  return Object.fromEntries(groups.filter(([, bookies]) => Object.keys(bookies).length > 0));
}

export function bookieRackOf(racks: BookieRacks, bookieId: BookieId): BookieRack | undefined {
  for (const bookies of Object.values(racks)) if (Object.hasOwn(bookies, bookieId)) return bookies[bookieId];
  return undefined;
}

function decodeRacks(stored: Versioned | undefined): BookieRacks {
  if (stored === undefined || stored.value.length === 0) return {};
  let value: unknown;
  try {
    value = parseJson(stored.value.toString('utf8'));
  } catch (error) {
    if (!(error instanceof DaybookError) && !(error instanceof SyntaxError)) throw error;
    throw metadataErrors.CORRUPT(paths.bookieRacks, 'it is no JSON', { cause: error });
  }
  const groups = Object.entries(asObject(value, 'the record')).map(([group, bookies]) => {
    const entries = Object.entries(asObject(bookies, `group ${group}`)).map(
      ([id, info]) => [id, asRack(asObject(info, `bookie ${id}`), id)] as const,
    );
    return [group, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(groups);
}

function asRack(info: Record<string, unknown>, id: string): BookieRack {
  if (typeof info.rack !== 'string') throw metadataErrors.CORRUPT(paths.bookieRacks, `bookie ${id} has no rack`);
  return { rack: info.rack, hostname: typeof info.hostname === 'string' ? info.hostname : '' };
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw metadataErrors.CORRUPT(paths.bookieRacks, `${what} is not an object`);
}

/** Where bookies stand, kept current by a watch; answers from memory. */
export interface BookieTopology {
  /** As it was set (`/region/rack`, `/rack`); undefined when nobody said. */
  locationOf(bookieId: BookieId): string | undefined;
  /** All bookies that somebody placed, up or not. */
  bookieIds(): readonly BookieId[];
  close(): void;
}

/** Resolves with the first reading. A record that cannot be read later leaves the last one in force. */
export async function createBookieTopology(store: MetadataStore, options: { logger?: Pick<Logger, 'warn'> } = {}): Promise<BookieTopology> {
  const topology = new StoredTopology(store, options.logger);
  await topology.start();
  return topology;
}

class StoredTopology implements BookieTopology {
  readonly #store: MetadataStore;
  readonly #logger: Pick<Logger, 'warn'> | undefined;
  #racks = new Map<string, string>();
  #watch: { stop(): void } | undefined;
  #readingsCount = 0;

  constructor(store: MetadataStore, logger: Pick<Logger, 'warn'> | undefined) {
    this.#store = store;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    this.#watch = this.#store.watch(paths.bookieRacks, () => void this.#refresh());
    try {
      this.#take(await readBookieRacks(this.#store));
    } catch (error) {
      if (!metadataErrors.CORRUPT.is(error)) {
        this.close();
        throw error;
      }
      this.#logger?.warn({ err: error }, 'the racks of bookies cannot be read: all count as one rack');
    }
  }

  locationOf(bookieId: BookieId): string | undefined {
    return this.#racks.get(bookieId);
  }

  bookieIds(): readonly BookieId[] {
    return [...this.#racks.keys()] as BookieId[];
  }

  close(): void {
    this.#watch?.stop();
  }

  async #refresh(): Promise<void> {
    const reading = ++this.#readingsCount;
    try {
      const racks = await readBookieRacks(this.#store);
      if (reading === this.#readingsCount) this.#take(racks);
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      // After an outage the watch calls again.
      this.#logger?.warn({ err: error }, 'the racks of bookies cannot be read: going on with what was known');
    }
  }

  #take(racks: BookieRacks): void {
    const bookies = Object.values(racks).flatMap((group) => Object.entries(group));
    this.#racks = new Map(bookies.map(([id, { rack }]) => [id, rack]));
  }
}
