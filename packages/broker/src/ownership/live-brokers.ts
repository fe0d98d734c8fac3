import { type MetadataStore, metadataErrors, paths, type Watch } from '@daybook/metadata';
import { encodeRecord } from '../policies/records.js';

/** Which brokers are up: each holds an ephemeral key with its id, `host:port` of its HTTP service. */
export class LiveBrokers {
  readonly #store: MetadataStore;
  readonly #brokerId: string;

  constructor(store: MetadataStore, brokerId: string) {
    this.#store = store;
    this.#brokerId = brokerId;
  }

  /** Makes this broker one of them, for as long as the metadata session lasts. */
  async register(record: Record<string, unknown>): Promise<void> {
    const path = paths.broker(this.#brokerId);
    await claimEphemeral(this.#store, path, record, () => true);
  }

  async leave(): Promise<void> {
    const path = paths.broker(this.#brokerId);
    if ((await this.#store.get(path))?.ownEphemeral) await this.#store.delete(path, 'any');
  }

  /** Ids, sorted. */
  list(): Promise<string[]> {
    return this.#store.children(paths.brokers);
  }

  watch(listener: () => void): Watch {
    return this.#store.watch(paths.brokers, listener);
  }
}

/**
 * Puts an ephemeral key. Held by this session already (a reply got lost): fine. Held by another one: `mayReplace` decides whether that is a previous life of the
 * same holder, which has not timed out yet; otherwise its record is returned. Undefined: the key is ours.
 */
export async function claimEphemeral(
  store: MetadataStore,
  path: string,
  record: Record<string, unknown>,
  mayReplace: (holder: Buffer) => boolean,
): Promise<Buffer | undefined> {
  for (;;) {
    try {
      await store.put(path, encodeRecord(record), 'absent', { ephemeral: true });
      return undefined;
    } catch (error) {
      if (!metadataErrors.EXISTS.is(error)) throw error;
    }
    const found = await store.get(path);
    if (found?.ownEphemeral) return undefined;
    if (found === undefined) continue;
    if (!mayReplace(found.value)) return found.value;
    try {
      await store.delete(path, found.version);
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.BAD_VERSION.is(error)) throw error;
    }
  }
}
