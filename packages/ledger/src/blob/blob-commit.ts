import type { LedgerClient } from '../ledger-api.js';
import type { BlobPart, BlobRecord, UploadRecord } from './blob-format.js';
import type { BlobRecords, Stored } from './blob-records.js';
import { blobErrors } from './errors.js';

export interface CommitDependencies {
  records: BlobRecords;
  ledgers: LedgerClient;
  nowMs: () => number;
}

const attemptsMax = 20;

/**
 * Makes an upload that is `committing` the blob of its name. Anybody may do it, any number of times, also at the same time: whoever replaces or deletes a blob
 * first writes `removing` over the record of the upload that made it. So an upload that was the blob once and is not any more never becomes it again: the record is
 * looked at after the blob, and the blob is written at the version seen. Deleting leaves a tombstone, for the version to go on.
 */
export async function commitUpload(d: CommitDependencies, uploadId: string, upload: Stored<UploadRecord>): Promise<BlobRecord> {
  const { name } = upload.record;
  const blob = blobOf(uploadId, upload.record);
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const { blob: old, expected } = await d.records.readBlob(name);
    if (old?.uploadId === uploadId) break;
    const current = await d.records.readUpload(uploadId);
    // Somebody else has committed it, and perhaps it was replaced since.
    if (current?.record.state !== 'committing') return blob;
    if (old !== undefined) await d.records.writeRemoval(old.uploadId, removalOf(name, old, d.nowMs()));
    if (!(await d.records.writeBlob(name, blob, expected))) {
      if (attempt === attemptsMax) throw blobErrors.CONTENDED(name);
      continue;
    }
    if (old !== undefined) await finishRemoval(d, old.uploadId, old.parts);
    break;
  }
  await d.records.deleteUpload(uploadId, upload.version);
  return blob;
}

/** False when there was no such blob. */
export async function deleteBlob(d: CommitDependencies, name: string): Promise<boolean> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const { blob: old, expected } = await d.records.readBlob(name);
    if (old === undefined) return attempt > 1;
    await d.records.writeRemoval(old.uploadId, removalOf(name, old, d.nowMs()));
    if (!(await d.records.buryBlob(name, d.nowMs(), expected))) continue;
    await finishRemoval(d, old.uploadId, old.parts);
    return true;
  }
  throw blobErrors.CONTENDED(name);
}

/** Ends what an earlier process has begun, whatever it was. */
export async function settleUpload(d: CommitDependencies, uploadId: string, upload: Stored<UploadRecord>): Promise<void> {
  const { record, version } = upload;
  switch (record.state) {
    case 'committing':
      await commitUpload(d, uploadId, upload);
      return;
    case 'uploading':
      await abortUpload(d, uploadId, upload);
      return;
    case 'aborting':
      await finishRemoval(d, uploadId, record.parts);
      return;
    case 'removing': {
      const { blob } = await d.records.readBlob(record.name);
      // Whoever wanted it away did not get that far.
      if (blob?.uploadId === uploadId) await d.records.deleteUpload(uploadId, version);
      else await finishRemoval(d, uploadId, record.parts);
      return;
    }
  }
}

/** False when somebody else changed it meanwhile. */
export async function abortUpload(d: CommitDependencies, uploadId: string, { record, version }: Stored<UploadRecord>): Promise<boolean> {
  const aborting = { ...record, state: 'aborting' as const };
  if ((await d.records.writeUpload(uploadId, aborting, version)) === undefined) return false;
  await finishRemoval(d, uploadId, record.parts);
  return true;
}

/** The record goes last: until then somebody knows of the ledgers. */
async function finishRemoval({ ledgers, records }: CommitDependencies, uploadId: string, parts: readonly BlobPart[]): Promise<void> {
  for (const { ledgerId } of parts) await ledgers.delete(ledgerId);
  await records.deleteUpload(uploadId, 'any');
}

function blobOf(uploadId: string, upload: UploadRecord): BlobRecord {
  const { bytes, chunkBytes, checkedCrc32c, touchedAtMs, parts, contentType, metadata } = upload;
  const labels = { ...(contentType !== undefined && { contentType }), ...(metadata !== undefined && { metadata }) };
  return { uploadId, bytes, chunkBytes, crc32c: checkedCrc32c, createdAtMs: touchedAtMs, ...labels, parts };
}

function removalOf(name: string, { bytes, chunkBytes, crc32c, createdAtMs, parts }: BlobRecord, nowMs: number): UploadRecord {
  const times = { startedAtMs: createdAtMs, touchedAtMs: nowMs };
  return { state: 'removing', name, chunkBytes, ...times, parts, checkedChunks: 0, checkedCrc32c: crc32c, bytes };
}
