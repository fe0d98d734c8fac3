import type { LedgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { type CompletedSegment, decodeSegment, encodeSegment, type InProgressSegment, type TruncationStatus } from './segment-format.js';
import { endOfStreamTxId } from './transaction-id.js';

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const txId = fc.oneof(natural, fc.constant(endOfStreamTxId));
const common = {
  ledgerId: natural.map((id) => id as LedgerId),
  sequence: natural,
  firstTxId: txId,
  status: fc.constantFrom<TruncationStatus>('active', 'partially truncated', 'truncated'),
  firstActiveEntryId: natural,
  firstActiveSlot: natural,
  startSequenceId: natural,
};
const inProgress = fc.record<InProgressSegment>({ kind: fc.constant('in progress'), ...common });
const completed = fc.record<CompletedSegment>({
  kind: fc.constant('completed'),
  ...common,
  lastTxId: txId,
  completedAtMs: natural,
  lastEntryId: natural,
  lastSlot: natural,
  recordsCount: fc.nat({ max: 0x7fff_ffff }),
});

const start: InProgressSegment = {
  kind: 'in progress',
  ledgerId: 123 as LedgerId,
  sequence: 2,
  firstTxId: 101,
  status: 'active',
  firstActiveEntryId: 0,
  firstActiveSlot: 0,
  startSequenceId: 100,
};
const done: CompletedSegment = {
  ...start,
  kind: 'completed',
  lastTxId: 200,
  completedAtMs: 1_700_000_000_000,
  lastEntryId: 24,
  lastSlot: 3,
  recordsCount: 100,
};

t.test('segment format: golden texts of version 5', async (t) => {
  t.equal(encodeSegment(start), '5;123;101;2;0;0;100');
  t.equal(encodeSegment(done), '429496729605;123;101;200;1700000000000;2;24;3;0;0;100');
  t.equal(
    encodeSegment({ ...done, status: 'partially truncated', firstActiveEntryId: 7, firstActiveSlot: 1 }),
    '429496729861;123;101;200;1700000000000;2;24;3;7;1;100',
  );
  t.equal(encodeSegment({ ...done, status: 'truncated' }), '429496730117;123;101;200;1700000000000;2;24;3;0;0;100');
  t.equal(
    encodeSegment({ ...done, lastTxId: endOfStreamTxId }),
    '429496729605;123;101;9223372036854775807;1700000000000;2;24;3;0;0;100',
    'the end of the stream',
  );
});

t.test('segment format: any segment → the same after decoding', async (t) => {
  fc.assert(fc.property(fc.oneof(inProgress, completed), (segment) => t.same(decodeSegment(encodeSegment(segment), 'segment'), segment)));
});

t.test('segment format: cut at every length, other versions, other texts → an error of ours or another segment', async (t) => {
  const texts = [encodeSegment(start), encodeSegment(done)];
  for (const text of texts) {
    for (let length = 0; length < text.length; length++) {
      try {
        t.not(encodeSegment(decodeSegment(text.slice(0, length), 'segment')), text);
      } catch (error) {
        t.match(error, { code: /^LOG_(MALFORMED|UNSUPPORTED_VERSION)$/ });
      }
    }
  }
  for (const version of [0, 1, 2, 3, 4, 6, 255]) {
    t.throws(() => decodeSegment(`${version};123;101;2;0;0;100`, 'segment'), { code: 'LOG_UNSUPPORTED_VERSION' });
  }
  const malformed = [
    '5;123;101;2;0;0',
    '5;-123;101;2;0;0;100',
    '773;123;101;2;0;0;100',
    '5;123;x;2;0;0;100',
    '5; 123;101;2;0;0;100',
    '4294967301;1;1;1;0;0;0',
  ];
  for (const text of [...malformed, '5;99999999999999999999;101;2;0;0;100', '5;123;9007199254740993;2;0;0;100', '05;123;101;2;0;0;100'])
    t.throws(() => decodeSegment(text, 'segment'), { code: 'LOG_MALFORMED' }, text);
});
