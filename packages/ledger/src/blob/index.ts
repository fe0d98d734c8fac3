export type * from './blob-api.js';
export type { BlobLabels, UploadState } from './blob-format.js';
export { type BlobStoreOptions, defaultBlobStoreOptions } from './blob-options.js';
export { type BlobStoreDependencies, createBlobStore } from './blob-store.js';
export { blobErrors } from './errors.js';
