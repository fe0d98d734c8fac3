import fc from 'fast-check';
import t from 'tap';
import { protoErrors } from '../errors.js';
import { checkTruncations, codeOf, fixture, hex } from '../fixtures.test.support.js';
import { joinBatch, splitBatch } from './batch.js';
import { MessageEncoder, type OutgoingMessage } from './encoder.js';
import { type Compression, compressionNumbers, type MessageMetadata } from './metadata.js';
import { decodeMessage, encodeMessage, verifyMessageChecksum, withoutBrokerEntry } from './payload.js';

interface Sample {
  name: string;
  entry: string;
  metadata: Record<string, unknown>;
  payload?: string;
  batch?: { metadata: Record<string, unknown>; payload: string }[];
}
const { samples } = fixture<{ samples: Sample[] }>('messages.json');

/** Our metadata under Pulsar's field names, 64-bit numbers as text, only what is set: as the samples have it. */
function asSample(metadata: object): Record<string, unknown> {
  const names: Record<string, string> = {
    publishTimeMs: 'publishTime',
    eventTimeMs: 'eventTime',
    deliverAtMs: 'deliverAtTime',
    replicateTo: 'replicateTos',
    uncompressedBytes: 'uncompressedSize',
    messagesInBatch: 'numMessagesInBatch',
    isPartitionKeyBase64: 'partitionKeyB64Encoded',
    isNullValue: 'nullValue',
    chunksCount: 'numChunksFromMsg',
    totalChunkBytes: 'totalChunkMsgSize',
  };
  const texts = ['sequenceId', 'publishTime', 'eventTime', 'deliverAtTime', 'highestSequenceId'];
  const out: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(metadata)) {
    const name = names[field] ?? field;
    if (Array.isArray(value) && value.length === 0) continue;
    if (value instanceof Uint8Array) out[name] = { hex: Buffer.from(value).toString('hex') };
    else out[name] = texts.includes(name) ? String(value) : value;
  }
  return out;
}

t.test('message: entries of the Java client and of the WebSocket service -> their fields, and the same bytes again', async (t) => {
  for (const sample of samples) {
    const bytes = hex(sample.entry);
    const message = decodeMessage(bytes);
    t.same(asSample(message.metadata), sample.metadata, sample.name);
    if (sample.payload !== undefined) t.equal(message.payload.toString('hex'), sample.payload, sample.name);
    t.equal(encodeMessage(message).toString('hex'), sample.entry, `${sample.name}: the same bytes`);
    verifyMessageChecksum(bytes);
  }
});

t.test('message encoder: what a WebSocket producer says -> the bytes of Pulsar`s', async (t) => {
  const plain = samples.filter(({ name }) => name.startsWith('ws-') && name !== 'ws-batch-3');
  t.ok(plain.length > 10);
  for (const sample of plain) {
    const { metadata, payload } = decodeMessage(hex(sample.entry));
    const outgoing: OutgoingMessage = {
      sequenceId: Number(metadata.sequenceId),
      publishTimeMs: metadata.publishTimeMs,
      payload,
      key: metadata.partitionKey,
      properties: Object.fromEntries(metadata.properties.map(({ key, value }) => [key, value])),
      eventTimeMs: metadata.eventTimeMs,
      deliverAtMs: metadata.deliverAtMs,
      replicateTo: metadata.replicateTo,
      compression: metadata.compression,
      uncompressedBytes: metadata.uncompressedBytes,
    };
    const encoder = new MessageEncoder(metadata.producerName);
    t.equal(encoder.encode(outgoing).toString('hex'), sample.entry, sample.name);
    t.equal(encoder.encodeShared(outgoing).toString('hex'), sample.entry, `${sample.name}, shared`);
  }
});

const text = fc.oneof(fc.string({ maxLength: 12, unit: 'grapheme' }), fc.string({ maxLength: 12 }), fc.string({ minLength: 50, maxLength: 150 }));
const whole = fc.maxSafeNat();
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

t.test('message encoder: anything a producer may say -> decoded the same, checksum right, one encoder used again and again', async (t) => {
  const encoder = new MessageEncoder('producer-ü');
  const outgoing = fc.record({
    sequenceId: fc.oneof(whole, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n })),
    publishTimeMs: whole,
    payload: fc.uint8Array({ maxLength: 2000 }),
    properties: optional(fc.dictionary(text, text, { maxKeys: 4 })),
    key: optional(text),
    isKeyBase64: optional(fc.boolean()),
    eventTimeMs: optional(whole),
    deliverAtMs: optional(fc.integer()),
    replicateTo: optional(fc.array(text, { maxLength: 3 })),
    schemaVersion: optional(fc.uint8Array({ maxLength: 9 })),
    compression: optional(fc.constantFrom(...(Object.keys(compressionNumbers) as Compression[]))),
    uncompressedBytes: optional(fc.nat()),
  });
  fc.assert(
    fc.property(outgoing, (message) => {
      const bytes = encoder.encode(message);
      verifyMessageChecksum(bytes);
      t.same(encoder.encodeShared(message), bytes);
      const { metadata, payload } = decodeMessage(bytes);
      const expected: MessageMetadata = {
        producerName: 'producer-ü',
        sequenceId: BigInt.asUintN(64, BigInt(message.sequenceId)),
        publishTimeMs: message.publishTimeMs,
        properties: Object.entries(message.properties ?? {}).map(([key, value]) => ({ key, value })),
        replicateTo: message.replicateTo ?? [],
        encryptionKeys: [],
        compactedBatchIndexes: [],
        uncompressedBytes: message.uncompressedBytes ?? message.payload.length,
        ...(message.key === undefined ? {} : { partitionKey: message.key, isPartitionKeyBase64: message.isKeyBase64 === true }),
        ...(message.compression === undefined || message.compression === 'NONE' ? {} : { compression: message.compression }),
        ...(message.eventTimeMs === undefined ? {} : { eventTimeMs: message.eventTimeMs }),
        ...(message.deliverAtMs === undefined ? {} : { deliverAtMs: message.deliverAtMs }),
        ...(message.schemaVersion === undefined ? {} : { schemaVersion: Buffer.from(message.schemaVersion) }),
      };
      t.same(metadata, expected);
      return payload.equals(message.payload);
    }),
  );
});

t.test('message: every field set -> the same after a round trip', async (t) => {
  const metadata: MessageMetadata = {
    producerName: 'p',
    sequenceId: 2n ** 64n - 1n,
    publishTimeMs: 1,
    properties: [
      { key: 'a', value: '1' },
      { key: 'a', value: '2' },
    ],
    replicatedFrom: 'east',
    partitionKey: 'k',
    replicateTo: ['west'],
    compression: 'ZSTD',
    uncompressedBytes: 4_000_000_000,
    messagesInBatch: 1,
    eventTimeMs: 5,
    encryptionKeys: [{ key: 'k', value: Buffer.from([1]), metadata: [{ key: 'm', value: 'v' }] }],
    encryptionAlgorithm: 'AES',
    encryptionParameter: Buffer.from([9]),
    schemaVersion: Buffer.alloc(8),
    isPartitionKeyBase64: true,
    orderingKey: Buffer.from('o'),
    deliverAtMs: -7,
    markerType: 3,
    transactionLeastBits: 1n,
    transactionMostBits: 2n ** 63n,
    highestSequenceId: 3n,
    isNullValue: true,
    uuid: 'u',
    chunksCount: 2,
    totalChunkBytes: 3,
    chunkId: 1,
    isNullPartitionKey: false,
    compactedBatchIndexes: [0, 4],
    schemaId: Buffer.from('s'),
  };
  const brokerEntry = { brokerTimestampMs: 1_700_000_000_000, index: 12n };
  const bytes = encodeMessage({ metadata, payload: Buffer.from('body'), brokerEntry });
  const back = decodeMessage(bytes);
  t.same(back, { brokerEntry, metadata, payload: Buffer.from('body') });
  t.same(withoutBrokerEntry(bytes), encodeMessage({ metadata, payload: Buffer.from('body') }));
  verifyMessageChecksum(bytes);
});

t.test('message: without checksum, an unknown field, a time beyond 2^53 -> read all the same', async (t) => {
  const metadata = hex('0a0170' + '1000' + '18ffffffffffffffffff01' + 'fa3f020102');
  const bytes = Buffer.concat([Buffer.from([0, 0, 0, metadata.length]), metadata, Buffer.from('body')]);
  const message = decodeMessage(bytes);
  t.equal(message.metadata.publishTimeMs, Number.MAX_SAFE_INTEGER);
  t.equal(message.payload.toString(), 'body');
  verifyMessageChecksum(bytes);
});

t.test('message: cut at every length -> a coded error, or a shorter payload that the checksum refuses', async (t) => {
  const bytes = encodeMessage({
    ...decodeMessage(hex(samples.find(({ name }) => name === 'ws-plain')?.entry as string)),
    brokerEntry: { brokerTimestampMs: 5, index: 1n },
  });
  checkTruncations(t, bytes, decodeMessage, protoErrors.MESSAGE_MALFORMED, (value) => value.metadata.producerName === 'producer-ws-plain');
  const codes = [protoErrors.MESSAGE_MALFORMED, protoErrors.MESSAGE_CHECKSUM_MISMATCH];
  const headBytes = 6 + bytes.readUInt32BE(2) + 6;
  for (let length = headBytes; length < bytes.length; length++) {
    const part = Buffer.from(bytes.subarray(0, length));
    const code = codeOf(() => verifyMessageChecksum(part));
    if (!codes.some((factory) => factory.code === code)) t.fail(`cut to ${length}: ${code}`);
  }
});

t.test('message: one flipped bit -> the checksum refuses it', async (t) => {
  const bytes = hex(samples[0]?.entry as string);
  for (let bit = 16; bit < bytes.length * 8; bit++) {
    const damaged = Buffer.from(bytes);
    damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
    t.equal(
      codeOf(() => verifyMessageChecksum(damaged)),
      'PROTO_MESSAGE_CHECKSUM_MISMATCH',
    );
  }
});

t.test('message: any bytes -> a coded error or a message, nothing else', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const code = codeOf(() => decodeMessage(Buffer.from(bytes)));
      return code === undefined || code === 'PROTO_MESSAGE_MALFORMED';
    }),
    { numRuns: 2000 },
  );
});

t.test('batch: batches of Pulsar -> their messages, and the same bytes again', async (t) => {
  const batches = samples.filter((sample) => sample.batch !== undefined && sample.metadata.compression === undefined);
  t.ok(batches.length >= 3);
  for (const sample of batches) {
    const { metadata, payload } = decodeMessage(hex(sample.entry));
    const messages = splitBatch(payload, metadata.messagesInBatch as number);
    t.same(
      messages.map((message) => ({
        metadata: { ...asSample(message.metadata), payloadSize: message.payload.length },
        payload: message.payload.toString('hex'),
      })),
      sample.batch,
      sample.name,
    );
    t.same(joinBatch(messages), payload, sample.name);
  }
});

t.test('batch: any messages -> the same after a round trip; a wrong count or a cut -> a coded error', async (t) => {
  const single = fc.record({
    key: optional(text),
    payload: fc.uint8Array({ maxLength: 30 }),
    eventTimeMs: optional(whole),
    isNullValue: optional(fc.boolean()),
  });
  fc.assert(
    fc.property(fc.array(single, { minLength: 1, maxLength: 8 }), (list) => {
      const messages = list.map(({ key, payload, eventTimeMs, isNullValue }) => ({
        metadata: {
          properties: [{ key: 'k', value: 'v' }],
          ...(key === undefined ? {} : { partitionKey: key }),
          ...(eventTimeMs === undefined ? {} : { eventTimeMs }),
          ...(isNullValue === undefined ? {} : { isNullValue }),
        },
        payload: Buffer.from(payload),
      }));
      const bytes = joinBatch(messages);
      t.same(splitBatch(bytes, messages.length), messages);
      for (const count of [0, messages.length - 1, messages.length + 1]) {
        if (codeOf(() => splitBatch(bytes, count)) !== 'PROTO_MESSAGE_MALFORMED') return false;
      }
      checkTruncations(t, bytes, (part) => splitBatch(part, messages.length), protoErrors.MESSAGE_MALFORMED);
      return true;
    }),
    { numRuns: 40 },
  );
});
