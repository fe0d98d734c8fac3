import type { DigestType } from '@daybook/proto';
import type { BlobLabels } from './blob-format.js';
import { blobErrors } from './errors.js';

export interface BlobStoreOptions {
  /** Chunks go round all of them: E above Qw stripes a blob. Default 3. */
  ensembleSize: number;
  /** Default 2. */
  writeQuorumSize: number;
  /** Default 2. */
  ackQuorumSize: number;
  /** Take fewer bookies when there are fewer, at least `ackQuorumSize`. Default true. */
  shrinkToAvailable: boolean;
  /** Default CRC32C: each chunk is checked when it is read. */
  digestType: DigestType;
  /** Default: empty. */
  password: Uint8Array;
  /** One entry each. Default 256 KiB. */
  chunkBytes: number;
  /** Of one upload: bytes sent and not acknowledged. Default 4 MiB. */
  windowBytes: number;
  /** An uploader says that it lives after so many bytes, and after so long. Default 64 MiB, 60,000. */
  touchBytes: number;
  touchMs: number;
  /** Default of `removeAbandoned`: 24 hours. */
  abandonedAfterMs: number;
}

export const defaultBlobStoreOptions: BlobStoreOptions = {
  ensembleSize: 3,
  writeQuorumSize: 2,
  ackQuorumSize: 2,
  shrinkToAvailable: true,
  digestType: 'CRC32C',
  password: new Uint8Array(),
  chunkBytes: 256 * 1024,
  windowBytes: 4 * 1024 * 1024,
  touchBytes: 64 * 1024 * 1024,
  touchMs: 60_000,
  abandonedAfterMs: 24 * 60 * 60 * 1000,
};

const chunkBytesMax = 4 * 1024 * 1024;
const labelBytesMax = 64 * 1024;

export function blobStoreOptions(options: Partial<BlobStoreOptions> = {}): BlobStoreOptions {
  const all = { ...defaultBlobStoreOptions, ...options };
  if (!Number.isSafeInteger(all.chunkBytes) || all.chunkBytes < 1 || all.chunkBytes > chunkBytesMax) {
    throw blobErrors.BAD_OPTIONS(`chunkBytes is ${all.chunkBytes}, from 1 to ${chunkBytesMax} is possible`);
  }
  if (!(all.windowBytes > 0)) throw blobErrors.BAD_OPTIONS(`windowBytes is ${all.windowBytes}`);
  return all;
}

/** Checks what comes from the caller, and keeps nothing else of it. */
export function checkedLabels({ contentType, metadata }: BlobLabels): BlobLabels {
  const labels = {
    ...(contentType !== undefined && { contentType: String(contentType) }),
    ...(metadata !== undefined && { metadata: { ...metadata } }),
  };
  if (!Object.values(labels.metadata ?? {}).every((text) => typeof text === 'string'))
    throw blobErrors.BAD_OPTIONS('metadata has a value that is no text');
  const bytes = Buffer.byteLength(JSON.stringify(labels));
  if (bytes > labelBytesMax) throw blobErrors.BAD_OPTIONS(`content type and metadata have ${bytes} bytes, at most ${labelBytesMax} are possible`);
  return labels;
}
