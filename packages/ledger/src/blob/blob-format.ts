import { type LedgerId, ledgerId } from '@daybook/proto';
import { blobErrors } from './errors.js';

/** A ledger with a run of a blob's chunks: its first `chunks` entries. What a dead uploader may have left behind them does not count. */
export interface BlobPart {
  readonly ledgerId: LedgerId;
  /** Undefined while it is being written. */
  readonly chunks: number | undefined;
}

/** What people say about a blob. */
export interface BlobLabels {
  readonly contentType?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A blob that is there: all of it. */
export interface BlobRecord extends BlobLabels {
  /** Of the upload that made it; another one has another id. */
  readonly uploadId: string;
  readonly bytes: number;
  /** Every chunk but the last has so many bytes. */
  readonly chunkBytes: number;
  /** Of the whole content. */
  readonly crc32c: number;
  readonly createdAtMs: number;
  readonly parts: readonly BlobPart[];
}

/** In the place of a blob that was deleted: while it is there, nobody who slept meanwhile can take the name for one that was never used. */
export interface BlobTombstone {
  readonly deletedAtMs: number;
}

/**
 * - `uploading`: chunks are being stored; may be resumed, or be removed as abandoned.
 * - `committing`: everything is stored and is going to be the blob, whoever finishes that.
 * - `aborting`: is being removed.
 * - `removing`: was the blob; deleted or replaced, its ledgers are being removed. If it still is the blob, it stays.
 *
 * uploading → committing | aborting; committing → removing; all end by the removal of the record.
 */
export type UploadState = 'uploading' | 'committing' | 'aborting' | 'removing';

export interface UploadRecord extends BlobLabels {
  readonly state: UploadState;
  readonly name: string;
  readonly chunkBytes: number;
  readonly startedAtMs: number;
  /** When its uploader last gave a sign of life. */
  readonly touchedAtMs: number;
  readonly parts: readonly BlobPart[];
  /** Chunks known to be stored, and the checksum up to there: a resumed upload need not read them. */
  readonly checkedChunks: number;
  readonly checkedCrc32c: number;
  /** Of the whole, from `committing` on. */
  readonly bytes: number;
}

/**
 * Records of blobs and uploads are JSON (persisted), with `"version":1` first and the fields above. Numbers are below 2^53; a ledger id and the rest of a part are
 * `[ledgerId, chunks]`, chunks -1 while it is being written.
 */
export function encodeBlob(blob: BlobRecord): Buffer {
  const { uploadId, bytes, chunkBytes, crc32c, createdAtMs, parts } = blob;
  return encode({ uploadId, bytes, chunkBytes, crc32c, createdAtMs, ...labelsOf(blob), parts: parts.map(partFields) });
}

export function encodeTombstone({ deletedAtMs }: BlobTombstone): Buffer {
  return encode({ deletedAtMs });
}

export function encodeUpload(upload: UploadRecord): Buffer {
  const { state, name, chunkBytes, startedAtMs, touchedAtMs, parts, checkedChunks, checkedCrc32c, bytes } = upload;
  const fields = { state, name, chunkBytes, startedAtMs, touchedAtMs, checkedChunks, checkedCrc32c, bytes };
  return encode({ ...fields, ...labelsOf(upload), parts: parts.map(partFields) });
}

/** Rejects with `BLOB_MALFORMED`. */
export function decodeBlob(bytes: Uint8Array, path: string): BlobRecord | BlobTombstone {
  const fields = new Fields(bytes, path);
  if (fields.has('deletedAtMs')) return { deletedAtMs: fields.natural('deletedAtMs') };
  return {
    uploadId: fields.text('uploadId'),
    bytes: fields.natural('bytes'),
    chunkBytes: fields.natural('chunkBytes', 1),
    crc32c: fields.natural('crc32c'),
    createdAtMs: fields.natural('createdAtMs'),
    ...fields.labels(),
    parts: fields.parts(),
  };
}

/** Rejects with `BLOB_MALFORMED`. */
export function decodeUpload(bytes: Uint8Array, path: string): UploadRecord {
  const fields = new Fields(bytes, path);
  const state = fields.text('state');
  if (!isState(state)) throw blobErrors.MALFORMED(path, `state "${state}"`);
  return {
    state,
    name: fields.text('name'),
    chunkBytes: fields.natural('chunkBytes', 1),
    startedAtMs: fields.natural('startedAtMs'),
    touchedAtMs: fields.natural('touchedAtMs'),
    checkedChunks: fields.natural('checkedChunks'),
    checkedCrc32c: fields.natural('checkedCrc32c'),
    bytes: fields.natural('bytes'),
    ...fields.labels(),
    parts: fields.parts(),
  };
}

const version = 1;
const states: readonly UploadState[] = ['uploading', 'committing', 'aborting', 'removing'];

function isState(text: string): text is UploadState {
  return (states as readonly string[]).includes(text);
}

function encode(fields: object): Buffer {
  return Buffer.from(JSON.stringify({ version, ...fields }));
}

function partFields({ ledgerId: id, chunks }: BlobPart): [number, number] {
  return [id, chunks ?? -1];
}

function labelsOf({ contentType, metadata }: BlobLabels): BlobLabels {
  return { ...(contentType !== undefined && { contentType }), ...(metadata !== undefined && { metadata }) };
}

class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(bytes: Uint8Array, path: string) {
    this.#path = path;
    this.#fields = this.#parse(bytes);
    if (this.#fields.version !== version) throw blobErrors.MALFORMED(path, `version ${String(this.#fields.version)}, Daybook knows ${version}`);
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined;
  }

  text(name: string): string {
    const value = this.#fields[name];
    if (typeof value !== 'string') throw this.#bad(name);
    return value;
  }

  natural(name: string, min = 0): number {
    return this.#naturalOf(this.#fields[name], name, min);
  }

  labels(): BlobLabels {
    const { contentType, metadata } = this.#fields;
    if (contentType !== undefined && typeof contentType !== 'string') throw this.#bad('contentType');
    if (metadata !== undefined && !isTexts(metadata)) throw this.#bad('metadata');
    return { ...(contentType !== undefined && { contentType }), ...(metadata !== undefined && { metadata }) };
  }

  parts(): BlobPart[] {
    const { parts } = this.#fields;
    if (!Array.isArray(parts)) throw this.#bad('parts');
    return parts.map((part: unknown) => {
      if (!Array.isArray(part) || part.length !== 2) throw this.#bad('parts');
      const chunks = part[1] === -1 ? undefined : this.#naturalOf(part[1], 'parts', 0);
      return { ledgerId: ledgerId(this.#naturalOf(part[0], 'parts', 0)), chunks };
    });
  }

  #naturalOf(value: unknown, name: string, min: number): number {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min) throw this.#bad(name);
    return value;
  }

  #parse(bytes: Uint8Array): Readonly<Record<string, unknown>> {
    try {
      const value: unknown = JSON.parse(Buffer.from(bytes).toString());
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    } catch (error) {
      throw blobErrors.MALFORMED(this.#path, (error as Error).message, { cause: error });
    }
    throw blobErrors.MALFORMED(this.#path, 'it is no JSON object');
  }

  #bad(name: string) {
    return blobErrors.MALFORMED(this.#path, `field ${name}`);
  }
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((text) => typeof text === 'string');
}
