import type { MetadataStore } from '@daybook/metadata';
import { type Clock, type Logger, type Random, silentLogger } from '@daybook/runtime';
import type { LedgerClient } from '../ledger-api.js';
import type {
  BlobContent,
  BlobInfo,
  BlobRange,
  BlobStore,
  BlobUpload,
  ByteSource,
  ListBlobsOptions,
  PutBlobOptions,
  UploadInfo,
} from './blob-api.js';
import { deleteBlob, settleUpload } from './blob-commit.js';
import type { BlobLabels, BlobRecord, UploadRecord } from './blob-format.js';
import { type BlobStoreOptions, blobStoreOptions, checkedLabels } from './blob-options.js';
import { readBlob } from './blob-reader.js';
import { BlobRecords } from './blob-records.js';
import { LedgerBlobUpload, type UploadDependencies } from './blob-upload.js';
import { blobErrors } from './errors.js';
import { takeOverUpload } from './resume-upload.js';

export interface BlobStoreDependencies {
  store: MetadataStore;
  ledgers: LedgerClient;
  clock: Clock;
  random: Random;
  logger?: Logger;
  options?: Partial<BlobStoreOptions>;
}

/** Blobs on ledgers: docs/internals/blob-store.md. */
export function createBlobStore(dependencies: BlobStoreDependencies): BlobStore {
  return new LedgerBlobStore(dependencies);
}

const listCountMax = 1_000;
const readsAtOnce = 32;
/** Well above any session time-out of a metadata store. */
const tombstoneMsMin = 60 * 60 * 1000;

class LedgerBlobStore implements BlobStore {
  readonly #d: UploadDependencies;
  readonly #random: Random;
  readonly #logger: Logger;

  constructor({ store, ledgers, clock, random, logger = silentLogger, options }: BlobStoreDependencies) {
    this.#d = { records: new BlobRecords(store), ledgers, clock, options: blobStoreOptions(options), nowMs: () => clock.wallMs() };
    this.#random = random;
    this.#logger = logger;
  }

  async put(name: string, source: ByteSource, options: PutBlobOptions = {}): Promise<BlobInfo> {
    const upload = await this.beginUpload(name, options);
    options.onUpload?.(upload.uploadId);
    try {
      await upload.write(source);
    } catch (error) {
      // The store's failures leave what is there, to be resumed; the source's leave nothing.
      if (!blobErrors.INTERRUPTED.is(error)) {
        await upload.abort().catch((failure) => this.#logger.warn({ uploadId: upload.uploadId, error: failure }, 'aborted upload is removed later'));
      }
      throw error;
    }
    return upload.finish();
  }

  async beginUpload(name: string, options: BlobLabels = {}): Promise<BlobUpload> {
    const nowMs = this.#d.nowMs();
    const uploadId = Buffer.from(this.#random.bytes(16)).toString('hex');
    const record: UploadRecord = {
      state: 'uploading',
      name,
      chunkBytes: this.#d.options.chunkBytes,
      startedAtMs: nowMs,
      touchedAtMs: nowMs,
      ...checkedLabels(options),
      parts: [],
      checkedChunks: 0,
      checkedCrc32c: 0,
      bytes: 0,
    };
    // Also finds out whether the name can be one.
    await this.#d.records.readBlob(name);
    const version = await this.#d.records.writeUpload(uploadId, record, 'absent');
    if (version === undefined) throw blobErrors.UPLOAD_TAKEN(uploadId);
    return new LedgerBlobUpload(this.#d, uploadId, { record, version });
  }

  async resumeUpload(uploadId: string): Promise<BlobUpload> {
    const found = await this.#d.records.readUpload(uploadId);
    if (found?.record.state === 'committing') return new LedgerBlobUpload(this.#d, uploadId, found);
    if (found?.record.state !== 'uploading') throw blobErrors.NO_UPLOAD(uploadId);
    return new LedgerBlobUpload(this.#d, uploadId, await takeOverUpload(this.#d, uploadId, found));
  }

  async uploads(): Promise<UploadInfo[]> {
    const infos: UploadInfo[] = [];
    for (const uploadId of await this.#d.records.listUploads()) {
      const found = await this.#d.records.readUpload(uploadId);
      if (found === undefined) continue;
      const { name, state, startedAtMs, touchedAtMs } = found.record;
      infos.push({ uploadId, name, state, startedAtMs, touchedAtMs });
    }
    return infos;
  }

  async removeAbandoned(olderThanMs = this.#d.options.abandonedAfterMs): Promise<number> {
    let count = 0;
    for (const uploadId of await this.#d.records.listUploads()) {
      const found = await this.#d.records.readUpload(uploadId);
      if (found === undefined || this.#d.nowMs() - found.record.touchedAtMs < olderThanMs) continue;
      await settleUpload(this.#d, uploadId, found);
      this.#logger.info({ uploadId, blob: found.record.name, state: found.record.state }, 'unfinished upload settled');
      count++;
    }
    await this.#removeTombstones(olderThanMs);
    return count;
  }

  async get(name: string, { offset = 0, length }: BlobRange = {}): Promise<BlobContent> {
    const blob = await this.#find(name);
    const isGood = Number.isSafeInteger(offset) && offset >= 0 && offset <= blob.bytes && !(length !== undefined && !(length >= 0));
    if (!isGood) throw blobErrors.BAD_RANGE(name, offset, blob.bytes);
    const range = { offset, length: Math.min(Math.floor(length ?? blob.bytes), blob.bytes - offset) };
    const { ledgers, options } = this.#d;
    return { info: infoOf(name, blob), content: readBlob({ ledgers, password: options.password }, name, blob, range) };
  }

  async stat(name: string): Promise<BlobInfo> {
    return infoOf(name, await this.#find(name));
  }

  async list({ prefix = '', after, countMax = listCountMax }: ListBlobsOptions = {}): Promise<{ blobs: BlobInfo[]; isTruncated: boolean }> {
    const names = (await this.#d.records.listBlobs()).filter((name) => name.startsWith(prefix) && (after === undefined || name > after));
    const blobs: BlobInfo[] = [];
    let next = 0;
    while (blobs.length < countMax && next < names.length) {
      const part = names.slice(next, next + Math.min(readsAtOnce, countMax - blobs.length));
      next += part.length;
      const found = await Promise.all(part.map((name) => this.#d.records.readBlob(name)));
      for (const [i, { blob }] of found.entries()) if (blob !== undefined) blobs.push(infoOf(part[i] as string, blob));
    }
    return { blobs, isTruncated: next < names.length };
  }

  async verify(name: string): Promise<BlobInfo> {
    const { info, content } = await this.get(name);
    let bytes = 0;
    for await (const piece of content) bytes += piece.length;
    if (bytes !== info.bytes) throw blobErrors.CORRUPT(name, `${bytes} of ${info.bytes} bytes are there`);
    return info;
  }

  async delete(name: string): Promise<void> {
    if (!(await deleteBlob(this.#d, name))) throw blobErrors.NOT_FOUND(name);
  }

  async #find(name: string): Promise<BlobRecord> {
    const { blob } = await this.#d.records.readBlob(name);
    if (blob === undefined) throw blobErrors.NOT_FOUND(name);
    return blob;
  }

  /** Who committed an upload when a blob was deleted has long been cut off by now: its session is over. */
  async #removeTombstones(olderThanMs: number): Promise<void> {
    const bornBeforeMs = this.#d.nowMs() - Math.max(olderThanMs, tombstoneMsMin);
    for (const name of await this.#d.records.listBlobs()) {
      const { deletedAtMs, expected } = await this.#d.records.readBlob(name);
      if (deletedAtMs !== undefined && deletedAtMs < bornBeforeMs) await this.#d.records.removeTombstone(name, expected);
    }
  }
}

function infoOf(name: string, { parts: _parts, chunkBytes: _chunkBytes, ...info }: BlobRecord): BlobInfo {
  return { name, ...info };
}
