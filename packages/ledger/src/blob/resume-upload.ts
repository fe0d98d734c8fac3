import type { EntryId } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import type { LedgerReader } from '../ledger-api.js';
import type { BlobPart, UploadRecord } from './blob-format.js';
import type { Stored } from './blob-records.js';
import type { UploadDependencies } from './blob-upload.js';
import { blobErrors } from './errors.js';

const readBytes = 1024 * 1024;

/**
 * Stops whoever uploads (its ledger is fenced, its record changed), and finds out how far it got: the whole chunks of each part, and their checksum. What is known from
 * the uploader's last sign of life is not read again.
 */
export async function takeOverUpload(d: UploadDependencies, uploadId: string, upload: Stored<UploadRecord>): Promise<Stored<UploadRecord>> {
  const { record, version } = upload;
  const parts: BlobPart[] = [];
  let sum = record.checkedCrc32c;
  let chunksBefore = 0;
  for (const part of record.parts) {
    const reader = await d.ledgers.openWithRecovery(part.ledgerId, { password: d.options.password });
    try {
      const chunks = part.chunks ?? wholeChunks(reader, record.chunkBytes);
      sum = await checksumOf(reader, { from: Math.max(0, record.checkedChunks - chunksBefore), until: chunks }, sum);
      parts.push({ ...part, chunks });
      chunksBefore += chunks;
    } finally {
      await reader.close();
    }
  }
  const taken = { ...record, parts, checkedChunks: chunksBefore, checkedCrc32c: sum, touchedAtMs: d.nowMs() };
  const written = await d.records.writeUpload(uploadId, taken, version);
  if (written === undefined) throw blobErrors.UPLOAD_TAKEN(uploadId);
  return { record: taken, version: written };
}

/** A last chunk that is not whole was to be the end of the blob: it is left out, as the source will bring it again. */
function wholeChunks(reader: LedgerReader, chunkBytes: number): number {
  const entries = reader.lastAddConfirmed + 1;
  return reader.length === entries * chunkBytes ? entries : Math.max(0, entries - 1);
}

async function checksumOf(reader: LedgerReader, range: { from: number; until: number }, before: number): Promise<number> {
  let sum = before;
  for (let next = range.from; next < range.until; ) {
    const entries = await reader.readBatch(next as EntryId, (range.until - 1) as EntryId, readBytes);
    for (const { payload } of entries) sum = crc32c(payload, sum);
    next += entries.length;
  }
  return sum;
}
