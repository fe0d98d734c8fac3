import type { LedgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { type BlobRecord, decodeBlob, decodeUpload, encodeBlob, encodeUpload, type UploadRecord } from './blob-format.js';

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const parts = fc.array(fc.record({ ledgerId: natural.map((id) => id as LedgerId), chunks: fc.option(natural, { nil: undefined }) }), {
  maxLength: 3,
});
const labels = { contentType: fc.string({ unit: 'grapheme' }), metadata: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }) };
const blobs = fc.record<BlobRecord>(
  { uploadId: fc.string(), bytes: natural, chunkBytes: positive, crc32c: natural, createdAtMs: natural, parts, ...labels },
  { requiredKeys: ['uploadId', 'bytes', 'chunkBytes', 'crc32c', 'createdAtMs', 'parts'] },
);
const required = ['state', 'name', 'chunkBytes', 'startedAtMs', 'touchedAtMs', 'parts', 'checkedChunks', 'checkedCrc32c', 'bytes'] as const;
const uploads = fc.record<UploadRecord>(
  {
    state: fc.constantFrom('uploading', 'committing', 'aborting', 'removing'),
    name: fc.string({ unit: 'grapheme' }),
    chunkBytes: positive,
    startedAtMs: natural,
    touchedAtMs: natural,
    parts,
    checkedChunks: natural,
    checkedCrc32c: natural,
    bytes: natural,
    ...labels,
  },
  { requiredKeys: [...required] },
);

t.test('blob records: golden texts', async (t) => {
  const blob: BlobRecord = {
    uploadId: 'u1',
    bytes: 250,
    chunkBytes: 100,
    crc32c: 7,
    createdAtMs: 1_700_000_000_000,
    contentType: 'image/jpeg',
    parts: [{ ledgerId: 17 as LedgerId, chunks: 3 }],
  };
  t.equal(
    encodeBlob(blob).toString(),
    '{"version":1,"uploadId":"u1","bytes":250,"chunkBytes":100,"crc32c":7,"createdAtMs":1700000000000,"contentType":"image/jpeg","parts":[[17,3]]}',
  );
  const upload: UploadRecord = {
    state: 'uploading',
    name: 'a',
    chunkBytes: 100,
    startedAtMs: 1,
    touchedAtMs: 2,
    parts: [{ ledgerId: 17 as LedgerId, chunks: undefined }],
    checkedChunks: 0,
    checkedCrc32c: 0,
    bytes: 0,
  };
  t.equal(
    encodeUpload(upload).toString(),
    '{"version":1,"state":"uploading","name":"a","chunkBytes":100,"startedAtMs":1,"touchedAtMs":2,"checkedChunks":0,"checkedCrc32c":0,"bytes":0,"parts":[[17,-1]]}',
  );
});

t.test('blob records: any → the same after decoding', async (t) => {
  fc.assert(fc.property(blobs, (blob) => t.same(decodeBlob(encodeBlob(blob), 'blob'), blob)));
  fc.assert(fc.property(uploads, (upload) => t.same(decodeUpload(encodeUpload(upload), 'upload'), upload)));
});

t.test('blob records: cut at every length, a field missing or of another kind, another version → BLOB_MALFORMED', async (t) => {
  const [upload] = fc.sample(uploads, { numRuns: 1, seed: 1 });
  const bytes = encodeUpload(upload as UploadRecord);
  for (let length = 0; length < bytes.length; length++) t.throws(() => decodeUpload(bytes.subarray(0, length), 'upload'), { code: 'BLOB_MALFORMED' });
  const fields = JSON.parse(bytes.toString()) as Record<string, unknown>;
  for (const name of ['version', ...required]) {
    const { [name]: _, ...rest } = fields;
    t.throws(() => decodeUpload(Buffer.from(JSON.stringify(rest)), 'upload'), { code: 'BLOB_MALFORMED' }, name);
    t.throws(() => decodeUpload(Buffer.from(JSON.stringify({ ...fields, [name]: { a: 1 } })), 'upload'), { code: 'BLOB_MALFORMED' }, name);
  }
  for (const odd of [
    { version: 2 },
    { parts: [[1]] },
    { parts: [[-1, 2]] },
    { parts: [[1, -2]] },
    { metadata: { a: 1 } },
    { contentType: 1 },
    { bytes: 2 ** 60 },
  ])
    t.throws(() => decodeUpload(Buffer.from(JSON.stringify({ ...fields, ...odd })), 'upload'), { code: 'BLOB_MALFORMED' }, JSON.stringify(odd));
  for (const text of ['[]', 'null', '1', '']) t.throws(() => decodeBlob(Buffer.from(text), 'blob'), { code: 'BLOB_MALFORMED' }, text);
});
