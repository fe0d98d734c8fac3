import { metadataErrors } from './errors.js';
import type { MetadataStore } from './metadata-store.js';

/**
 * Removes an ephemeral key of this session that has this value; one that is gone, is another by now or was never ours is fine. Rejects with
 * `METADATA_UNAVAILABLE`: then nobody knows.
 */
export async function deleteOwnKey(store: MetadataStore, path: string, value: Buffer): Promise<void> {
  try {
    const found = await store.get(path);
    if (found?.ownEphemeral && found.value.equals(value)) await store.delete(path, found.version);
  } catch (error) {
    if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.BAD_VERSION.is(error)) throw error;
  }
}
