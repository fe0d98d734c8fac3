import fc from 'fast-check';
import t from 'tap';
import {
  commitAlignmentBytes,
  decodeFence,
  decodeFileHeader,
  decodeRecord,
  encodeFence,
  encodeFileHeader,
  encodeRecord,
  journalFileId,
  journalFileName,
  type RecordType,
  recordTypes,
} from './journal-format.js';

const header = { fileId: 0x1122, previousFileId: 0x1121, previousEnd: 4096 };
const goldenHeader = '44424a4c00000001000000000000112200000000000011210000000000001000';

function record(body: Buffer, isLast: boolean, place = { fileId: 7, commitOffset: 512 }, at = 0): Buffer {
  const target = Buffer.alloc(at + body.length + 1024, 0xee);
  const end = encodeRecord(target, at, place, { type: recordTypes.appendBatch, body, isLast });
  return target.subarray(0, end);
}

t.test('journal file header: golden bytes → stays readable', async (t) => {
  const bytes = encodeFileHeader(header);
  t.equal(bytes.subarray(0, 32).toString('hex'), goldenHeader);
  t.equal(bytes.subarray(508).toString('hex'), '264b7a4e');
  t.equal(
    bytes.subarray(32, 508).every((byte) => byte === 0),
    true,
  );
  t.strictSame(decodeFileHeader(bytes, 'x'), header);
});

t.test('journal file header: cut off anywhere, or any bit flipped → none', async (t) => {
  const bytes = encodeFileHeader(header);
  for (let length = 0; length < bytes.length; length++) t.equal(decodeFileHeader(bytes.subarray(0, length), 'x'), undefined);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] as number) ^ 4;
    t.equal(decodeFileHeader(damaged, 'x'), undefined, `byte ${at}`);
  }
});

t.test('journal record: golden bytes → stay readable', async (t) => {
  const bytes = record(Buffer.from('hello'), false);
  t.equal(bytes.toString('hex'), 'b2e615640000002800000005010000000000000000000007000002000000020068656c6c6f000000');
  const result = decodeRecord(bytes, 0, { fileId: 7, bytesOffset: 512 });
  t.match(result, { is: 'record', record: { type: 1, end: 40, commitOffset: 512 } });
});

t.test('journal record: round trip, cut off at every length, at another place or of another file → only the record itself is read', async (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 700 }),
      fc.boolean(),
      fc.constantFrom<RecordType>(1, 3),
      fc.integer({ min: 0, max: 64 }),
      fc.integer({ min: 1, max: 2 ** 40 }),
      (content, isLast, type, slot, fileId) => {
        const body = Buffer.from(content);
        const at = slot * 8;
        const place = { fileId, commitOffset: 1024 };
        const target = Buffer.alloc(at + 2048, 0xaa);
        const end = encodeRecord(target, at, place, { type, body, isLast });
        const bytes = target.subarray(0, end);
        const where = { fileId, bytesOffset: 1024 };
        const result = decodeRecord(bytes, at, where);
        if (result.is !== 'record') return false;
        const isAligned = end % (isLast ? commitAlignmentBytes : 8) === 0;
        const isSame = result.record.type === type && result.record.body.equals(body) && result.record.end === end;
        const elsewhere = decodeRecord(bytes, at, { ...where, bytesOffset: 1536 }).is === 'none';
        const other = decodeRecord(bytes, at, { ...where, fileId: fileId + 1 }).is === 'none';
        const cut = decodeRecord(bytes.subarray(0, end - 1), at, where).is === 'short';
        return isAligned && isSame && elsewhere && other && cut;
      },
    ),
  );
  const bytes = record(Buffer.from('some body'), false);
  for (let length = 0; length < bytes.length; length++) {
    t.equal(decodeRecord(bytes.subarray(0, length), 0, { fileId: 7, bytesOffset: 512 }).is, 'short', `${length} bytes`);
  }
});

t.test('journal record: any flipped bit of header or body → none', async (t) => {
  const bytes = record(Buffer.from('some body'), false);
  for (let at = 0; at < 41; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] as number) ^ 1;
    t.not(decodeRecord(damaged, 0, { fileId: 7, bytesOffset: 512 }).is, 'record', `byte ${at}`);
  }
});

t.test('journal fence body, file names: round trip', async (t) => {
  const key = Buffer.alloc(20, 9);
  t.match(decodeFence(encodeFence(2 ** 41 + 5, key)), { ledgerId: 2 ** 41 + 5 });
  t.ok(decodeFence(encodeFence(1, key))?.masterKey.equals(key));
  t.equal(decodeFence(Buffer.alloc(27)), undefined);
  t.equal(journalFileId(journalFileName(255)), 255);
  for (const name of [
    'x.journal',
    '00000000000000ff.txn',
    '0000000000000000.journal',
    'ffffffffffffffff.journal',
    '00000000000000ff.journal.spare',
  ]) {
    t.equal(journalFileId(name), undefined, name);
  }
});
