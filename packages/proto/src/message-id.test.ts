import fc from 'fast-check';
import t from 'tap';
import { bytesOfBase64, shortBase64 } from './base64.js';
import { protoErrors } from './errors.js';
import { checkTruncations, codeOf, fixture, hex } from './fixtures.test.support.js';
import type { EntryId, LedgerId } from './ids.js';
import {
  decodeMessageId,
  decodeMessageIdText,
  earliestMessageId,
  encodeMessageId,
  encodeMessageIdText,
  isEarliest,
  isLatest,
  latestMessageId,
  type MessageId,
  messageIdOf,
  messageIdText,
  positionOf,
} from './message-id.js';

interface Vectors {
  java: {
    what: string;
    ledgerId: string;
    entryId: string;
    partition: number;
    batchIndex: number;
    batchSize: number;
    hex: string;
    base64: string;
  }[];
  webSocket: { base64: string; fields: { ledgerId: string; entryId: string; partition?: number; batchIndex?: number; batchSize?: number } }[];
}
const vectors = fixture<Vectors>('message-ids.json');

t.test('message id: ids of the Java client -> their fields, and the same bytes and text again', async (t) => {
  for (const row of vectors.java) {
    const id = decodeMessageIdText(row.base64);
    const { partition, batchIndex, batchSize } = row;
    t.match(id, { ledgerId: BigInt(row.ledgerId), entryId: BigInt(row.entryId), partition, batchIndex, batchSize }, row.what);
    t.equal(Buffer.from(encodeMessageId(id)).toString('hex'), row.hex, row.what);
    t.equal(encodeMessageIdText(id), row.base64, row.what);
  }
  const chunked = decodeMessageIdText(vectors.java.find(({ what }) => what.startsWith('chunked'))?.base64 as string);
  t.match(chunked.firstChunk, { ledgerId: 9n, entryId: 1n });
});

t.test('message id: ids that Pulsar sent to WebSocket clients -> the same text from numbers', async (t) => {
  for (const { base64, fields } of vectors.webSocket) {
    const { ledgerId, entryId, partition = -1, batchIndex = -1, batchSize = 0 } = fields;
    t.equal(messageIdText(Number(ledgerId) as LedgerId, Number(entryId) as EntryId, partition, batchIndex, batchSize), base64);
    t.match(decodeMessageIdText(base64), { ledgerId: BigInt(ledgerId), entryId: BigInt(entryId), partition, batchIndex, batchSize });
  }
  t.equal(messageIdText(1177 as LedgerId, 3 as EntryId, -1, -1, 0), 'CJkJEAMwAA==');
  t.equal(messageIdText(409 as LedgerId, 3 as EntryId, -1, -1, 0), 'CJkDEAMwAA==');
  t.equal(messageIdText(1 as LedgerId, -1 as EntryId, -1, -1, 0), encodeMessageIdText(messageIdOf(1n, -1n)));
});

t.test('message id: from other clients -> read without batch size, unknown fields, packed words, missing padding', async (t) => {
  t.match(decodeMessageIdText('CAAQAw=='), { ledgerId: 0n, entryId: 3n, batchSize: undefined });
  t.equal(encodeMessageIdText(decodeMessageIdText('CAAQAw==')), 'CAAQAw==', 'and is written as it came');
  t.match(decodeMessageIdText('CAAQAw'), { ledgerId: 0n, entryId: 3n });
  t.match(decodeMessageId(hex('08001003' + 'fa3f020102' + '2a0301ff01' + '2805')), { ledgerId: 0n, entryId: 3n, ackSet: [1n, 255n, 5n] });
});

t.test('message id: text that is none -> a coded error', async (t) => {
  const bad = ['', 'x', 'CAAQAw=x', '====', 'CAAQ!w==', 'CAAQAw===', 'héé=', 'CAAQ Aw==', 'CAA=', 'DAAQAw==', 'A'.repeat(5000)];
  for (const text of bad)
    t.equal(
      codeOf(() => decodeMessageIdText(text)),
      'PROTO_MESSAGE_ID_MALFORMED',
      text.slice(0, 20),
    );
});

t.test('message id: first chunks nested thousands deep -> read without recursion', async (t) => {
  let bytes: Buffer = hex('08011002');
  for (let i = 0; i < 12; i++) bytes = Buffer.concat([hex('08011002'), Buffer.from([0x3a, bytes.length]), bytes]);
  t.equal(decodeMessageId(bytes).firstChunk?.firstChunk, undefined);
});

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const anyId: fc.Arbitrary<MessageId> = fc.record({
  ledgerId: int64,
  entryId: int64,
  partition: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  batchIndex: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  batchSize: fc.option(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { nil: undefined }),
  ackSet: fc.array(int64, { maxLength: 3 }),
  firstChunk: fc.option(
    fc.tuple(int64, int64).map(([ledgerId, entryId]) => messageIdOf(ledgerId, entryId)),
    { nil: undefined },
  ),
});

t.test('message id: any id -> the same after a round trip through text', async (t) => {
  fc.assert(fc.property(anyId, (id) => t.same(decodeMessageIdText(encodeMessageIdText(id)), id)));
});

t.test('message id: any stored place -> the fast text is that of the general encoder', async () => {
  const index = fc.integer({ min: -1, max: 2 ** 31 - 1 });
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), index, index, fc.nat(), (ledgerId, entryId, partition, batchIndex, batchSize) => {
      const general = encodeMessageIdText(messageIdOf(BigInt(ledgerId), BigInt(entryId), { partition, batchIndex, batchSize }));
      return messageIdText(ledgerId as LedgerId, entryId as EntryId, partition, batchIndex, batchSize) === general;
    }),
  );
});

t.test('message id: cut at every length -> a coded error or an id that lacks its end', async (t) => {
  const id: MessageId = { ...messageIdOf(2n ** 40n, 300n, { partition: 5, batchIndex: 2, batchSize: 10 }), firstChunk: messageIdOf(1n, 2n) };
  checkTruncations(t, Buffer.from(encodeMessageId(id)), decodeMessageId, protoErrors.MESSAGE_ID_MALFORMED, (value) => {
    return value.ledgerId === id.ledgerId && value.entryId === id.entryId && [-1, 5].includes(value.partition) && value.firstChunk === undefined;
  });
});

t.test('position of an id: within 2^53 -> a position; earliest, latest, anything else -> none', async (t) => {
  t.same(positionOf(messageIdOf(5n, 7n)), { ledgerId: 5, entryId: 7 });
  t.same(positionOf(messageIdOf(5n, -1n)), { ledgerId: 5, entryId: -1 });
  for (const id of [
    earliestMessageId,
    latestMessageId,
    messageIdOf(2n ** 53n, 0n),
    messageIdOf(0n, 2n ** 60n),
    messageIdOf(-2n, 0n),
    messageIdOf(0n, -2n),
  ]) {
    t.equal(positionOf(id), undefined);
  }
  t.ok(isEarliest(decodeMessageIdText('CP///////////wEQ////////////ATAA')));
  t.ok(isLatest(decodeMessageIdText('CP//////////fxD//////////38wAA==')));
  t.notOk(isEarliest(latestMessageId) || isLatest(earliestMessageId));
});

t.test('base64: any bytes -> what Node makes of them, both ways', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const text = shortBase64(bytes, bytes.length);
      return text === Buffer.from(bytes).toString('base64') && Buffer.from(bytesOfBase64(text) as Uint8Array).equals(bytes);
    }),
  );
});
