import { type MetadataStore, metadataErrors, type Versioned } from '@daybook/metadata';

/** Stored JSON objects. A record that is none was not written by a broker: `METADATA_CORRUPT`. */
export function decodeRecord(path: string, { value }: Versioned): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value.toString('utf8'));
  } catch (error) {
    throw metadataErrors.CORRUPT(path, 'it is no JSON', { cause: error });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw metadataErrors.CORRUPT(path, 'it is no JSON object');
  return parsed as Record<string, unknown>;
}

export function encodeRecord(record: unknown): Buffer {
  return Buffer.from(JSON.stringify(record), 'utf8');
}

/** Undefined when there is none; an empty value is a mere parent and counts as none. */
export async function readRecord(store: MetadataStore, path: string): Promise<{ record: Record<string, unknown>; version: number } | undefined> {
  const found = await store.get(path);
  if (found === undefined || found.value.length === 0) return undefined;
  return { record: decodeRecord(path, found), version: found.version };
}

/** Creates a record; false when there is one. A mere parent at the path becomes the record. */
export async function createRecord(store: MetadataStore, path: string, record: unknown): Promise<boolean> {
  try {
    await store.put(path, encodeRecord(record), 'absent');
    return true;
  } catch (error) {
    if (!metadataErrors.EXISTS.is(error)) throw error;
  }
  const found = await store.get(path);
  if (found === undefined || found.value.length > 0) return false;
  return replace(store, path, record, found.version);
}

/** Changes a record by compare-and-set, again when somebody else was faster; false when there is none (any more). */
export async function changeRecord(
  store: MetadataStore,
  path: string,
  change: (record: Record<string, unknown>) => Record<string, unknown>,
): Promise<boolean> {
  for (;;) {
    const found = await readRecord(store, path);
    if (found === undefined) return false;
    if (await replace(store, path, change(found.record), found.version)) return true;
  }
}

async function replace(store: MetadataStore, path: string, record: unknown, version: number): Promise<boolean> {
  try {
    await store.put(path, encodeRecord(record), version);
    return true;
  } catch (error) {
    if (metadataErrors.BAD_VERSION.is(error)) return false;
    throw error;
  }
}
