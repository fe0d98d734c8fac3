import type { LedgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { decodeHead, encodeHead, type LogHead, newHead } from './head-format.js';
import { endOfStreamTxId, noTxId } from './transaction-id.js';

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const heads = fc.record<LogHead>({
  state: fc.constantFrom('open', 'deleting'),
  epoch: natural,
  owner: fc.string({ unit: 'grapheme' }),
  highestSequence: natural,
  firstSequence: natural,
  lastTxId: fc.oneof(natural, fc.constant(noTxId), fc.constant(endOfStreamTxId)),
  recordsCount: natural,
  allocated: fc.option(
    natural.map((id) => id as LedgerId),
    { nil: undefined },
  ),
  inProgress: fc.array(
    fc.record({
      kind: fc.constant('in progress' as const),
      ledgerId: natural.map((id) => id as LedgerId),
      sequence: natural,
      firstTxId: natural,
      status: fc.constantFrom('active', 'truncated'),
      firstActiveEntryId: natural,
      firstActiveSlot: natural,
      startSequenceId: natural,
    }),
    { maxLength: 2 },
  ),
});

t.test('log head format: golden texts', async (t) => {
  t.equal(encodeHead(newHead).toString(), '1;0;0;;0;1;-1;0;-1');
  const segment = {
    kind: 'in progress' as const,
    ledgerId: 17 as LedgerId,
    sequence: 4,
    firstTxId: 301,
    status: 'active' as const,
    firstActiveEntryId: 0,
    firstActiveSlot: 0,
    startSequenceId: 300,
  };
  const head: LogHead = {
    state: 'open',
    epoch: 3,
    owner: 'node 1; a',
    highestSequence: 4,
    firstSequence: 2,
    lastTxId: 300,
    recordsCount: 300,
    allocated: 18 as LedgerId,
    inProgress: [segment],
  };
  t.equal(encodeHead(head).toString(), '1;0;3;node+1%3B+a;4;2;300;300;18\n5;17;301;4;0;0;300');
  t.equal(encodeHead({ ...newHead, state: 'deleting', lastTxId: endOfStreamTxId }).toString(), '1;1;0;;0;1;9223372036854775807;0;-1');
});

t.test('log head format: any head → the same after decoding', async (t) => {
  fc.assert(fc.property(heads, (head) => t.same(decodeHead(encodeHead(head), 'head'), head)));
});

t.test('log head format: cut at every length, other versions, other texts → an error of ours or another head', async (t) => {
  fc.assert(
    fc.property(heads, (head) => {
      const bytes = encodeHead(head);
      for (let length = 0; length < bytes.length; length++) {
        try {
          t.notSame(encodeHead(decodeHead(bytes.subarray(0, length), 'head')), bytes);
        } catch (error) {
          t.match(error, { code: /^LOG_(MALFORMED|UNSUPPORTED_VERSION)$/ });
        }
      }
    }),
    { numRuns: 20 },
  );
  t.throws(() => decodeHead(Buffer.from('2;0;0;;0;1;-1;0;-1'), 'head'), { code: 'LOG_UNSUPPORTED_VERSION' });
  for (const text of [
    '',
    '1',
    '1;2;0;;0;1;-1;0;-1',
    '1;0;0;;0;1;-2;0;-1',
    '1;0;0;%zz;0;1;-1;0;-1',
    '1;0;0;;0;1;-1;0;-1\n',
    '1;0;0;;0;1;-1;0;-1\n429496729605;123;101;200;1;2;24;3;0;0;100',
  ])
    t.throws(() => decodeHead(Buffer.from(text), 'head'), { code: 'LOG_MALFORMED' }, text);
});
