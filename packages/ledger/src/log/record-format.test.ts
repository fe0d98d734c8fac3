import fc from 'fast-check';
import t from 'tap';
import { decodeRecords, EntryBuilder, entryBytesMax, envelopeBytes, recordBytesMax, recordHeaderBytes, type StoredRecord } from './record-format.js';
import { endOfStreamTxId } from './transaction-id.js';

const records = fc.array(
  fc.record({
    txId: fc.oneof(fc.nat({ max: Number.MAX_SAFE_INTEGER }), fc.constant(endOfStreamTxId)),
    payload: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    countInSegment: fc.nat({ max: 0x7fff_ffff }),
    isControl: fc.boolean(),
    isEndOfStream: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
);

function entryOf(all: readonly StoredRecord[]): Buffer {
  const builder = new EntryBuilder();
  for (const record of all) builder.add(record);
  return Buffer.from(builder.take());
}

t.test('record format: one record, control record, end of stream → the bytes of a version 1 enveloped entry', async (t) => {
  const common = { countInSegment: 0x10003, isControl: false, isEndOfStream: false };
  const entry = entryOf([
    { ...common, txId: 258, payload: Buffer.from('hi') },
    { ...common, txId: 258, payload: Buffer.alloc(0), isControl: true },
    { ...common, txId: endOfStreamTxId, payload: Buffer.alloc(0), isControl: true, isEndOfStream: true },
  ]);
  t.equal(
    entry.toString('hex'),
    ['01', '00000000', '0000003e', '0000003e']
      .concat('0000000100030000', '0000000000000102', '00000002', '6869')
      .concat('0000000100030001', '0000000000000102', '00000000')
      .concat('0000000100030003', '7fffffffffffffff', '00000000')
      .join(''),
  );
});

t.test('record format: any records → the same after decoding; the builder starts over', async (t) => {
  const builder = new EntryBuilder();
  fc.assert(
    fc.property(records, (all) => {
      for (const record of all) builder.add(record);
      t.equal(builder.recordsCount, all.length);
      const bytes = builder.bytes;
      const entry = builder.take();
      t.equal(entry.length, bytes);
      t.same(decodeRecords(entry, 'entry'), all);
      t.equal(builder.bytes, 0);
    }),
  );
});

t.test('record format: cut at every length, changed in any byte → an error of ours or other records, never a crash', async (t) => {
  fc.assert(
    fc.property(records, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, at, xor) => {
      const entry = entryOf(all);
      for (let bytes = 0; bytes < entry.length; bytes++) t.throws(() => decodeRecords(entry.subarray(0, bytes), 'entry'), { code: /^LOG_/ });
      const changed = Buffer.from(entry);
      changed[at % changed.length] = (changed[at % changed.length] as number) ^ xor;
      try {
        decodeRecords(changed, 'entry');
      } catch (error) {
        t.match(error, { code: /^LOG_(MALFORMED|UNSUPPORTED_VERSION)$/ });
      }
    }),
    { numRuns: 40 },
  );
});

t.test('record format: what Daybook does not know → refused by name', async (t) => {
  const good = entryOf([{ txId: 1, payload: Buffer.from('x'), countInSegment: 1, isControl: false, isEndOfStream: false }]);
  const changed = (at: number, value: number) => {
    const copy = Buffer.from(good);
    copy[at] = value;
    return copy;
  };
  t.throws(() => decodeRecords(changed(0, 2), 'entry'), { code: 'LOG_UNSUPPORTED_VERSION' });
  t.throws(() => decodeRecords(changed(4, 1), 'entry'), /lz4/);
  t.throws(() => decodeRecords(changed(envelopeBytes + 7, 4), 'entry'), /set of records/);
  t.throws(() => decodeRecords(changed(envelopeBytes + 7, 8), 'entry'), /unknown flags/);
  t.throws(() => decodeRecords(changed(envelopeBytes + 8, 1), 'entry'), /transaction id/);
  t.throws(() => decodeRecords(good.subarray(0, envelopeBytes).fill(0, 5), 'entry'), /no record/);
});

t.test('record format: the largest record fits into the largest entry', async (t) => {
  t.ok(envelopeBytes + recordHeaderBytes + recordBytesMax <= entryBytesMax);
});
