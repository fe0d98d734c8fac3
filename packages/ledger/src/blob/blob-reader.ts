import type { EntryId } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import { ledgerErrors } from '../errors.js';
import type { LedgerClient, LedgerEntry, LedgerReader } from '../ledger-api.js';
import type { BlobRecord } from './blob-format.js';
import { blobErrors } from './errors.js';

export interface ReadBlobDependencies {
  ledgers: LedgerClient;
  password: Uint8Array;
}

/** Bytes asked of bookies at once; as much again may be on its way to the caller. */
const readBytes = 1024 * 1024;

export interface WholeRange {
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a range, which lies within the blob. Each chunk is checked by its entry's digest, the whole by its checksum. */
export async function* readBlob(d: ReadBlobDependencies, name: string, blob: BlobRecord, range: WholeRange): AsyncGenerator<Buffer> {
  const { chunkBytes } = blob;
  const end = range.offset + range.length;
  let sum = 0;
  let chunksBefore = 0;
  if (range.length > 0) {
    for (const { ledgerId, chunks = 0 } of blob.parts) {
      const first = Math.max(chunksBefore, Math.floor(range.offset / chunkBytes));
      const last = Math.min(chunksBefore + chunks, Math.ceil(end / chunkBytes)) - 1;
      if (first <= last) {
        const part = { ledgerId, first: first - chunksBefore, last: last - chunksBefore };
        for await (const [index, chunk] of readPart(d, name, part)) {
          const start = (chunksBefore + index) * chunkBytes;
          const bytes = Math.min(chunkBytes, blob.bytes - start);
          if (chunk.length !== bytes) throw blobErrors.CORRUPT(name, `chunk ${chunksBefore + index} has ${chunk.length} bytes, not ${bytes}`);
          const piece = chunk.subarray(Math.max(0, range.offset - start), Math.min(bytes, end - start));
          sum = crc32c(piece, sum);
          yield piece;
        }
      }
      chunksBefore += chunks;
    }
  }
  if (chunksBefore * chunkBytes < end && range.length > 0)
    throw blobErrors.CORRUPT(name, `its parts have ${chunksBefore} chunks, too few for ${blob.bytes} bytes`);
  if (range.length === blob.bytes && sum !== blob.crc32c) throw blobErrors.CORRUPT(name, `its checksum is ${sum}, not ${blob.crc32c}`);
}

/** Entries of a ledger with their ids; the next batch is asked for while the last one is used. */
async function* readPart(
  { ledgers, password }: ReadBlobDependencies,
  name: string,
  part: { ledgerId: BlobRecord['parts'][number]['ledgerId']; first: number; last: number },
): AsyncGenerator<[index: number, chunk: Buffer]> {
  const reader = await ledgers.openWithoutRecovery(part.ledgerId, { password }).catch((error) => {
    throw ledgerErrors.NOT_FOUND.is(error) ? blobErrors.GONE(name, { cause: error }) : error;
  });
  try {
    let next: Promise<LedgerEntry[]> | undefined = readFrom(reader, part.first, part.last);
    while (next !== undefined) {
      const entries: LedgerEntry[] = await next;
      const last = entries.at(-1)?.entryId ?? part.last;
      next = last < part.last ? readFrom(reader, last + 1, part.last) : undefined;
      for (const { entryId, payload } of entries) yield [entryId, payload];
    }
  } catch (error) {
    throw ledgerErrors.NOT_FOUND.is(error) || ledgerErrors.NO_SUCH_ENTRY.is(error) ? blobErrors.GONE(name, { cause: error }) : error;
  } finally {
    await reader.close();
  }
}

function readFrom(reader: LedgerReader, first: number, last: number): Promise<LedgerEntry[]> {
  const batch = reader.readBatch(first as EntryId, last as EntryId, readBytes);
  // Whoever stops reading never looks at the batch that was asked for ahead.
  batch.catch(() => undefined);
  return batch;
}
