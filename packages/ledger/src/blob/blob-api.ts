import type { BlobLabels, UploadState } from './blob-format.js';

export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface BlobInfo extends BlobLabels {
  readonly name: string;
  readonly bytes: number;
  /** CRC-32C of the whole content. */
  readonly crc32c: number;
  readonly createdAtMs: number;
  /** Another one after each put. */
  readonly uploadId: string;
}

export interface PutBlobOptions extends BlobLabels {
  /** Told before the first byte is read: what to resume after an interruption. */
  onUpload?: (uploadId: string) => void;
}

export interface BlobRange {
  /** Default 0. */
  readonly offset?: number;
  /** Default: to the end; more than there is means to the end, too. */
  readonly length?: number;
}

export interface BlobContent {
  readonly info: BlobInfo;
  /** Pieces in order. When all of the blob is read, its checksum is compared at the end: `BLOB_CORRUPT`. `BLOB_GONE` when it is deleted meanwhile. */
  readonly content: AsyncIterable<Buffer>;
}

/** A blob on its way in: not to be seen until {@link finish}. One uploader at a time: a resumed upload stops the one before. */
export interface BlobUpload {
  readonly uploadId: string;
  readonly name: string;
  /** So many bytes are safe: where the source has to go on after a resume. */
  readonly bytesStored: number;
  /** Everything but the commit is done: only {@link finish} is missing. */
  readonly isComplete: boolean;
  /** Adds bytes; may be called again. Reads no faster than they are stored. Rejects with `BLOB_INTERRUPTED`, `BLOB_UPLOAD_TAKEN`, `BLOB_NO_UPLOAD`. */
  write(source: ByteSource): Promise<void>;
  /** Makes it the blob of its name, at once and as a whole; an earlier one of that name goes. */
  finish(): Promise<BlobInfo>;
  /** Removes what was stored. Does nothing once it {@link isComplete}. */
  abort(): Promise<void>;
}

export interface UploadInfo {
  readonly uploadId: string;
  readonly name: string;
  readonly state: UploadState;
  readonly startedAtMs: number;
  readonly touchedAtMs: number;
}

export interface ListBlobsOptions {
  /** Only names that begin so. */
  prefix?: string;
  /** Only names behind this one. */
  after?: string;
  /** Default 1,000. */
  countMax?: number;
}

/** Blobs of any size under free names. */
export interface BlobStore {
  /** The blob is there when it resolves. When the source fails nothing is left; when the store does, `BLOB_INTERRUPTED` tells how to go on. */
  put(name: string, source: ByteSource, options?: PutBlobOptions): Promise<BlobInfo>;
  beginUpload(name: string, options?: BlobLabels): Promise<BlobUpload>;
  /** Takes an upload over from where it got to. Rejects with `BLOB_NO_UPLOAD`. */
  resumeUpload(uploadId: string): Promise<BlobUpload>;
  uploads(): Promise<UploadInfo[]>;
  /** Removes uploads without a sign of life for so long, and ends what was begun and not finished. Resolves with how many records it took away. */
  removeAbandoned(olderThanMs?: number): Promise<number>;
  /** Rejects with `BLOB_NOT_FOUND`, `BLOB_BAD_RANGE`. */
  get(name: string, range?: BlobRange): Promise<BlobContent>;
  /** Rejects with `BLOB_NOT_FOUND`. */
  stat(name: string): Promise<BlobInfo>;
  /** Sorted by name. */
  list(options?: ListBlobsOptions): Promise<{ blobs: BlobInfo[]; isTruncated: boolean }>;
  /** Reads all of it. Rejects with `BLOB_CORRUPT` when the content is not what was put. */
  verify(name: string): Promise<BlobInfo>;
  /** Rejects with `BLOB_NOT_FOUND`. */
  delete(name: string): Promise<void>;
}
