import { type Clock, crc32c } from '@daybook/runtime';
import type { LedgerClient, LedgerWriter } from '../ledger-api.js';
import type { BlobInfo, BlobUpload, ByteSource } from './blob-api.js';
import { abortUpload, type CommitDependencies, commitUpload } from './blob-commit.js';
import type { UploadRecord } from './blob-format.js';
import type { BlobStoreOptions } from './blob-options.js';
import type { Stored } from './blob-records.js';
import { blobErrors } from './errors.js';

export interface UploadDependencies extends CommitDependencies {
  ledgers: LedgerClient;
  clock: Clock;
  options: BlobStoreOptions;
}

/** A chunk on its way. */
interface PendingChunk {
  readonly bytes: number;
  /** The checksum up to and including it. */
  readonly crc32c: number;
  readonly stored: Promise<unknown>;
}

export class LedgerBlobUpload implements BlobUpload {
  readonly uploadId: string;
  readonly #d: UploadDependencies;
  #stored: Stored<UploadRecord>;
  #ledger: LedgerWriter | undefined;
  /** Chunks in this upload's ledger that are acknowledged, and those in the parts before. */
  #chunksHere = 0;
  readonly #chunksBefore: number;
  #lastChunkBytes: number;
  #storedCrc32c: number;
  #crc32c: number;
  #chunk: Buffer | undefined;
  #chunkFill = 0;
  #pending: PendingChunk[] = [];
  #pendingBytes = 0;
  #untouchedBytes = 0;
  #touchedMs: number;
  #isOver = false;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(dependencies: UploadDependencies, uploadId: string, stored: Stored<UploadRecord>) {
    this.#d = dependencies;
    this.uploadId = uploadId;
    this.#stored = stored;
    this.#chunksBefore = stored.record.parts.reduce((sum, { chunks = 0 }) => sum + chunks, 0);
    this.#lastChunkBytes = stored.record.chunkBytes;
    this.#storedCrc32c = stored.record.checkedCrc32c;
    this.#crc32c = stored.record.checkedCrc32c;
    this.#touchedMs = dependencies.clock.monoMs();
  }

  get name(): string {
    return this.#stored.record.name;
  }

  get bytesStored(): number {
    if (this.isComplete) return this.#stored.record.bytes;
    const chunks = this.#chunksBefore + this.#chunksHere;
    return chunks === 0 ? 0 : (chunks - 1) * this.#stored.record.chunkBytes + this.#lastChunkBytes;
  }

  get isComplete(): boolean {
    return this.#stored.record.state === 'committing';
  }

  write(source: ByteSource): Promise<void> {
    return this.#alone(async () => {
      this.#checkTakes();
      for await (const bytes of source) await this.#add(bytes);
    });
  }

  finish(): Promise<BlobInfo> {
    return this.#alone(async () => {
      if (!this.isComplete) {
        this.#checkTakes();
        await this.#orInterrupted(() => this.#complete());
      }
      this.#isOver = true;
      const blob = await commitUpload(this.#d, this.uploadId, this.#stored);
      const { parts: _parts, chunkBytes: _chunkBytes, ...info } = blob;
      return { name: this.name, ...info };
    });
  }

  abort(): Promise<void> {
    return this.#alone(async () => {
      // What is committing is going to be the blob, whoever finishes that.
      this.#isOver = true;
      if (this.isComplete) return;
      await this.#ledger?.close().catch(() => undefined);
      const current = await this.#d.records.readUpload(this.uploadId);
      // Another version is another uploader's.
      if (current?.record.state === 'uploading' && current.version === this.#stored.version) await abortUpload(this.#d, this.uploadId, current);
    });
  }

  /** Fills chunks from a piece of the source. */
  async #add(bytes: Uint8Array): Promise<void> {
    const { chunkBytes } = this.#stored.record;
    for (let at = 0; at < bytes.length; ) {
      this.#chunk ??= Buffer.allocUnsafe(chunkBytes);
      const part = bytes.subarray(at, at + chunkBytes - this.#chunkFill);
      this.#chunk.set(part, this.#chunkFill);
      this.#chunkFill += part.length;
      at += part.length;
      if (this.#chunkFill === chunkBytes) await this.#orInterrupted(() => this.#send());
    }
  }

  /** Sends the chunk under way, once the window has room for it. */
  async #send(): Promise<void> {
    const chunk = (this.#chunk as Buffer).subarray(0, this.#chunkFill);
    this.#chunk = undefined;
    this.#chunkFill = 0;
    const ledger = this.#ledger ?? (await this.#begin());
    while (this.#pending.length > 0 && this.#pendingBytes + chunk.length > this.#d.options.windowBytes) await this.#settleOne();
    // Not left to `append`: chunks that wait there could be overtaken.
    while (ledger.isFull) await new Promise<void>((resolve) => ledger.onDrain(resolve));
    this.#crc32c = crc32c(chunk, this.#crc32c);
    const stored = ledger.append(chunk);
    stored.catch(() => undefined);
    this.#pending.push({ bytes: chunk.length, crc32c: this.#crc32c, stored });
    this.#pendingBytes += chunk.length;
    if (this.#untouchedBytes >= this.#d.options.touchBytes || this.#d.clock.monoMs() - this.#touchedMs >= this.#d.options.touchMs)
      await this.#touch();
  }

  async #settleOne(): Promise<void> {
    const first = this.#pending[0] as PendingChunk;
    await first.stored;
    this.#pending.shift();
    this.#pendingBytes -= first.bytes;
    this.#untouchedBytes += first.bytes;
    this.#chunksHere++;
    this.#lastChunkBytes = first.bytes;
    this.#storedCrc32c = first.crc32c;
  }

  /** The ledger is known to the record before anything is in it. */
  async #begin(): Promise<LedgerWriter> {
    const { ensembleSize, writeQuorumSize, ackQuorumSize, shrinkToAvailable, digestType, password } = this.#d.options;
    const customMetadata = new Map([
      ['application', Buffer.from('daybook-blob')],
      ['upload', Buffer.from(this.uploadId)],
    ]);
    const sizes = { ensembleSize, writeQuorumSize, ackQuorumSize, shrinkToAvailable };
    const ledger = await this.#d.ledgers.create({ ...sizes, digestType, password, customMetadata });
    try {
      const { record } = this.#stored;
      await this.#update({ ...record, parts: [...record.parts, { ledgerId: ledger.ledgerId, chunks: undefined }] });
    } catch (error) {
      await ledger.close().catch(() => undefined);
      if (blobErrors.UPLOAD_TAKEN.is(error) || blobErrors.NO_UPLOAD.is(error)) await this.#d.ledgers.delete(ledger.ledgerId).catch(() => undefined);
      throw error;
    }
    this.#ledger = ledger;
    return ledger;
  }

  /** A sign of life, and how far it got. */
  async #touch(): Promise<void> {
    this.#untouchedBytes = 0;
    this.#touchedMs = this.#d.clock.monoMs();
    await this.#update({ ...this.#stored.record, ...this.#progress() });
  }

  #progress(): Pick<UploadRecord, 'touchedAtMs' | 'checkedChunks' | 'checkedCrc32c'> {
    return { touchedAtMs: this.#d.nowMs(), checkedChunks: this.#chunksBefore + this.#chunksHere, checkedCrc32c: this.#storedCrc32c };
  }

  /** Everything stored and closed; from here on it is going to be the blob. */
  async #complete(): Promise<void> {
    if (this.#chunkFill > 0) await this.#send();
    while (this.#pending.length > 0) await this.#settleOne();
    await this.#ledger?.close();
    const { record } = this.#stored;
    const parts = record.parts.map((part) => (part.ledgerId === this.#ledger?.ledgerId ? { ...part, chunks: this.#chunksHere } : part));
    await this.#update({ ...record, ...this.#progress(), parts, bytes: this.bytesStored, state: 'committing' });
  }

  async #update(record: UploadRecord): Promise<void> {
    const version = await this.#d.records.writeUpload(this.uploadId, record, this.#stored.version);
    if (version !== undefined) {
      this.#stored = { record, version };
      return;
    }
    const found = await this.#d.records.readUpload(this.uploadId);
    throw found?.record.state === 'uploading' || found?.record.state === 'committing'
      ? blobErrors.UPLOAD_TAKEN(this.uploadId)
      : blobErrors.NO_UPLOAD(this.uploadId);
  }

  async #orInterrupted(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#isOver = true;
      if (blobErrors.UPLOAD_TAKEN.is(error) || blobErrors.NO_UPLOAD.is(error)) throw error;
      throw blobErrors.INTERRUPTED(this.name, this.uploadId, this.bytesStored, (error as Error).message, { cause: error });
    }
  }

  #checkTakes(): void {
    if (this.#isOver || this.isComplete) throw blobErrors.UPLOAD_CLOSED(this.uploadId);
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#writing.then(work);
    this.#writing = result.catch(() => undefined);
    return result;
  }
}
