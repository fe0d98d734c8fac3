import { MessageEncoder } from '@daybook/proto';
import t from 'tap';
import { decodeEntry, decodePayload, encodeEntry } from './entry-codec.js';
import { readProducerFrame } from './producer-frame.js';
import { PublishRequest } from './publish-request.js';

const nowMs = 1_795_972_037_041;

function entryOf(frame: string, sequenceId = 0n): Buffer {
  const request = new PublishRequest();
  t.equal(readProducerFrame(Buffer.from(frame), nowMs, request), undefined);
  const name = 'producer-ws-plain';
  return encodeEntry(new MessageEncoder(name), name, request, decodePayload(request) as Uint8Array, sequenceId, nowMs);
}

t.test('entry: a plain message → the very bytes that a real Pulsar stored', async (t) => {
  t.equal(
    entryOf('{"payload":"aGVsbG8=","context":"1"}').toString('hex'),
    '0e0186701cce0000001e0a1170726f64756365722d77732d706c61696e100018b1f399c2a234480568656c6c6f',
  );
});

t.test('entry: every field of a frame → read back for delivery', async (t) => {
  const entry = entryOf(
    '{"payload":"aGVsbG8=","key":"ключ","properties":{"__proto__":"x","10":"y","a":"ü"},"eventTime":"2024-01-02T03:04:05.678Z","deliverAt":5,"replicationClusters":["c"]}',
  );
  const decoded = decodeEntry(entry);
  t.match(decoded, { publishTimeMs: nowMs, eventTimeMs: Date.UTC(2024, 0, 2, 3, 4, 5, 678), key: 'ключ' });
  t.strictSame(Object.fromEntries((decoded?.properties ?? []).map(({ key, value }) => [`=${key}`, value])), {
    '=__proto__': 'x',
    '=10': 'y',
    '=a': 'ü',
  });
  t.equal(entry.subarray(decoded?.payloadOffset).toString(), 'hello');
});

t.test('entry: times before 1970, the epoch itself → as they were', async (t) => {
  for (const [text, ms] of [
    ['1969-07-20T20:17:40Z', Date.UTC(1969, 6, 20, 20, 17, 40)],
    ['1969-12-31T23:59:59.999Z', -1],
    ['1970-01-01T00:00:00Z', 0],
  ] as const) {
    const frame = `{"payload":"eA==","eventTime":"${text}","key":"k","properties":{"a":"${'x'.repeat(300)}"},"replicationClusters":["c"]}`;
    t.match(decodeEntry(entryOf(frame, 2n ** 63n)), { eventTimeMs: ms, key: 'k' }, text);
  }
});

t.test('entry: bytes that are no message → undefined', async (t) => {
  t.equal(decodeEntry(Buffer.from([1, 2, 3])), undefined);
  t.equal(decodeEntry(entryOf('{"payload":"eA=="}').subarray(0, 20)), undefined);
});
