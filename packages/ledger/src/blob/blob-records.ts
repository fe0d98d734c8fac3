import { type MetadataStore, metadataErrors, nameOfPart, paths } from '@daybook/metadata';
import { type BlobRecord, decodeBlob, decodeUpload, encodeBlob, encodeTombstone, encodeUpload, type UploadRecord } from './blob-format.js';

/** What is at a name: a blob, a tombstone, or nothing. */
export interface BlobPlace {
  readonly blob: BlobRecord | undefined;
  readonly deletedAtMs: number | undefined;
  /** What a change must name. */
  readonly expected: number | 'absent';
}

export interface Stored<T> {
  readonly record: T;
  readonly version: number;
}

const unknownMax = 3;

/** The keys of blobs and uploads. A lost answer to a write is settled by reading, where that can tell. */
export class BlobRecords {
  readonly #store: MetadataStore;

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  async readBlob(name: string): Promise<BlobPlace> {
    const path = paths.blob(name);
    const found = await this.#store.get(path);
    if (found === undefined) return { blob: undefined, deletedAtMs: undefined, expected: 'absent' };
    const record = decodeBlob(found.value, path);
    if ('deletedAtMs' in record) return { blob: undefined, deletedAtMs: record.deletedAtMs, expected: found.version };
    return { blob: record, deletedAtMs: undefined, expected: found.version };
  }

  /** False when the place has changed. */
  writeBlob(name: string, blob: BlobRecord, expected: BlobPlace['expected']): Promise<boolean> {
    return this.#put(paths.blob(name), encodeBlob(blob), expected);
  }

  /** False when the place has changed. */
  buryBlob(name: string, deletedAtMs: number, expected: BlobPlace['expected']): Promise<boolean> {
    return this.#put(paths.blob(name), encodeTombstone({ deletedAtMs }), expected);
  }

  async removeTombstone(name: string, expected: BlobPlace['expected']): Promise<void> {
    if (expected !== 'absent') await this.#delete(paths.blob(name), expected);
  }

  /** Sorted; tombstones too. */
  async listBlobs(): Promise<string[]> {
    const parts = await this.#store.children(paths.blobs);
    return parts
      .map(nameOfPart)
      .filter((name) => name !== undefined)
      .sort();
  }

  async readUpload(uploadId: string): Promise<Stored<UploadRecord> | undefined> {
    const path = paths.blobUpload(uploadId);
    const found = await this.#store.get(path);
    return found && { record: decodeUpload(found.value, path), version: found.version };
  }

  /** The version written; undefined when it is not at the expected one any more. */
  async writeUpload(uploadId: string, upload: UploadRecord, expected: number | 'absent'): Promise<number | undefined> {
    const isWritten = await this.#put(paths.blobUpload(uploadId), encodeUpload(upload), expected);
    return isWritten ? (expected === 'absent' ? 0 : expected + 1) : undefined;
  }

  /** Whatever is there: the way of a blob out. */
  async writeRemoval(uploadId: string, upload: UploadRecord): Promise<void> {
    await this.#put(paths.blobUpload(uploadId), encodeUpload(upload), 'any');
  }

  deleteUpload(uploadId: string, expected: number | 'any'): Promise<boolean> {
    return this.#delete(paths.blobUpload(uploadId), expected);
  }

  async listUploads(): Promise<string[]> {
    return this.#store.children(paths.blobUploads);
  }

  async #put(path: string, value: Buffer, expected: number | 'absent' | 'any'): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.put(path, value, expected);
        return true;
      } catch (error) {
        if (metadataErrors.BAD_VERSION.is(error) || metadataErrors.EXISTS.is(error)) {
          // After an unknown outcome this may be our own.
          return attempt > 1 && (await this.#isThere(path, value, expected));
        }
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= unknownMax) throw error;
      }
    }
  }

  async #isThere(path: string, value: Buffer, expected: number | 'absent' | 'any'): Promise<boolean> {
    const found = await this.#store.get(path);
    const version = expected === 'absent' ? 0 : expected === 'any' ? found?.version : expected + 1;
    return found !== undefined && found.version === version && found.value.equals(value);
  }

  /** True when it is gone. */
  async #delete(path: string, expected: number | 'any'): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.delete(path, expected);
        return true;
      } catch (error) {
        if (metadataErrors.NOT_FOUND.is(error)) return true;
        if (metadataErrors.BAD_VERSION.is(error)) return false;
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= unknownMax) throw error;
      }
    }
  }
}
