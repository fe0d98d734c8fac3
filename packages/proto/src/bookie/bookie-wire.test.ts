import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import t from 'tap';
import { protoErrors } from '../errors.js';
import { checkTruncations, codeOf } from '../fixtures.test.support.js';
import type { BookieId, EntryId, LedgerId } from '../ids.js';
import { bookieCodeNumbers } from './codes.js';
import { isSameIdentity } from './identity.js';
import type { BookieCode } from './service.js';
import { type BookieMethod, bookieServiceDefinition } from './service-definition.js';

/** A second implementation of the same messages, made by a library from the file that is their source of truth. */
const root = protobuf.loadSync(fileURLToPath(new URL('../../src/bookie/bookie.proto', import.meta.url)));
const typeNamed = (name: string): protobuf.Type => root.lookupType(`daybook.bookie.v1.${name}`);
const codeNumber = (code: BookieCode): number => bookieCodeNumbers[code];

const identity = { bookieId: 'bookie-1:3181' as BookieId, incarnation: '0b5c…ü' };
const wireIdentity = { bookieId: 'bookie-1:3181', incarnation: '0b5c…ü' };
const key = Buffer.alloc(20, 7);
const entry = Buffer.from('an entry');
const ids = [3, 4, 9, 2 ** 40] as EntryId[];

interface Case {
  name: string;
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: each method has its own types; the table holds them all.
  method: BookieMethod<any, any>;
  side: 'request' | 'reply';
  /** As our codecs have it. */
  value: unknown;
  /** As bookie.proto has it. */
  fields: Record<string, unknown>;
}

const d = bookieServiceDefinition;
const cases: Case[] = [
  {
    name: 'append: hello',
    type: 'AppendRequest',
    method: d.append,
    side: 'request',
    value: { kind: 'hello', version: 1, expected: identity },
    fields: { hello: { version: 1, expected: wireIdentity } },
  },
  {
    name: 'append: batches',
    type: 'AppendRequest',
    method: d.append,
    side: 'request',
    value: { kind: 'batches', firstSequence: 2 ** 33 + 5, batches: [Buffer.from('one'), Buffer.alloc(300, 2)] },
    fields: { firstSequence: 2 ** 33 + 5, batches: [Buffer.from('one'), Buffer.alloc(300, 2)] },
  },
  {
    name: 'append: hello of the bookie',
    type: 'AppendReply',
    method: d.append,
    side: 'reply',
    value: { kind: 'hello', version: 1, identity, code: 'UNAVAILABLE' },
    fields: { hello: { version: 1, identity: wireIdentity, code: 600 } },
  },
  {
    name: 'append: acknowledgements',
    type: 'AppendReply',
    method: d.append,
    side: 'reply',
    value: {
      kind: 'acknowledgements',
      ranges: [
        { first: 0, last: 99, code: 'OK' },
        { first: 100, last: 100, code: 'FENCED' },
      ],
    },
    fields: {
      acknowledgements: [
        { first: 0, last: 99, code: 0 },
        { first: 100, last: 100, code: 504 },
      ],
    },
  },
  {
    name: 'read: request',
    type: 'ReadRequest',
    method: d.read,
    side: 'request',
    value: { expected: identity, request: { ledgerId: 7 as LedgerId, entryIds: ids, bytesMax: 1000, fenceWithKey: key } },
    fields: { expected: wireIdentity, ledgerId: 7, entryIds: [3, 1, 5, 2 ** 40 - 9], bytesMax: 1000, fenceWithKey: key },
  },
  {
    name: 'read: reply',
    type: 'ReadReply',
    method: d.read,
    side: 'reply',
    value: { code: 'OK', entries: [entry, Buffer.alloc(0), Buffer.alloc(200, 1)] },
    fields: { code: 0, entries: [entry, Buffer.alloc(0), Buffer.alloc(200, 1)] },
  },
  { name: 'read: nothing', type: 'ReadReply', method: d.read, side: 'reply', value: { code: 'NO_ENTRY', entries: [] }, fields: { code: 403 } },
  {
    name: 'streamed read: request',
    type: 'StreamedReadRequest',
    method: d.streamedRead,
    side: 'request',
    value: { number: 2 ** 40, read: { expected: identity, request: { ledgerId: 7 as LedgerId, entryIds: ids, bytesMax: 1000 } } },
    fields: { number: 2 ** 40, request: { expected: wireIdentity, ledgerId: 7, entryIds: [3, 1, 5, 2 ** 40 - 9], bytesMax: 1000 } },
  },
  {
    name: 'streamed read: a part of a reply',
    type: 'StreamedReadReply',
    method: d.streamedRead,
    side: 'reply',
    value: { number: 300, isLast: false, code: 'OK', entries: [entry, Buffer.alloc(0), Buffer.alloc(200, 1)] },
    fields: { number: 300, isLast: false, code: 0, entries: [entry, Buffer.alloc(0), Buffer.alloc(200, 1)] },
  },
  {
    name: 'streamed read: nothing',
    type: 'StreamedReadReply',
    method: d.streamedRead,
    side: 'reply',
    value: { number: 0, isLast: true, code: 'NO_LEDGER', entries: [] },
    fields: { number: 0, isLast: true, code: 402 },
  },
  {
    name: 'fence: request',
    type: 'FenceRequest',
    method: d.fence,
    side: 'request',
    value: { expected: identity, request: { ledgerId: 0, masterKey: key } },
    fields: { expected: wireIdentity, ledgerId: 0, masterKey: key },
  },
  { name: 'fence: reply', type: 'LacReply', method: d.fence, side: 'reply', value: { code: 'NO_LEDGER' }, fields: { code: 402 } },
  {
    name: 'readLac: request',
    type: 'ReadLacRequest',
    method: d.readLac,
    side: 'request',
    value: { expected: identity, request: 2 ** 53 - 1 },
    fields: { expected: wireIdentity, ledgerId: 2 ** 53 - 1 },
  },
  {
    name: 'readLac: reply',
    type: 'LacReply',
    method: d.readLac,
    side: 'reply',
    value: { code: 'OK', lastEntry: entry },
    fields: { code: 0, lastEntry: entry },
  },
  {
    name: 'readLac: reply with an explicit LAC',
    type: 'LacReply',
    method: d.readLac,
    side: 'reply',
    value: { code: 'NO_ENTRY', explicitLac: Buffer.alloc(20, 3) },
    fields: { code: 403, explicitLac: Buffer.alloc(20, 3) },
  },
  {
    name: 'awaitLac: request',
    type: 'AwaitLacRequest',
    method: d.awaitLac,
    side: 'request',
    value: { expected: identity, request: { ledgerId: 9 as LedgerId, after: -1 as EntryId, timeoutMs: 1500, withEntry: true } },
    fields: { expected: wireIdentity, ledgerId: 9, nextEntryId: 0, timeoutMs: 1500, withEntry: true },
  },
  {
    name: 'awaitLac: reply',
    type: 'LacReply',
    method: d.awaitLac,
    side: 'reply',
    value: { code: 'OK', lastEntry: entry, explicitLac: Buffer.alloc(20, 3), entry: Buffer.from('another') },
    fields: { code: 0, lastEntry: entry, explicitLac: Buffer.alloc(20, 3), entry: Buffer.from('another') },
  },
  {
    name: 'writeLac: request',
    type: 'WriteLacRequest',
    method: d.writeLac,
    side: 'request',
    value: { expected: identity, request: { ledgerId: 9 as LedgerId, masterKey: key, explicitLac: Buffer.alloc(36, 5) } },
    fields: { expected: wireIdentity, ledgerId: 9, masterKey: key, explicitLac: Buffer.alloc(36, 5) },
  },
  { name: 'writeLac: reply', type: 'CodeReply', method: d.writeLac, side: 'reply', value: { code: 'UNAUTHORIZED' }, fields: { code: 502 } },
  {
    name: 'force: request',
    type: 'ForceRequest',
    method: d.force,
    side: 'request',
    value: { expected: identity, request: { ledgerId: 9 as LedgerId, lastEntryId: (2 ** 40) as EntryId } },
    fields: { expected: wireIdentity, ledgerId: 9, lastEntryId: 2 ** 40 },
  },
  { name: 'force: reply', type: 'CodeReply', method: d.force, side: 'reply', value: { code: 'OK' }, fields: { code: 0 } },
  {
    name: 'list: request',
    type: 'ListEntriesRequest',
    method: d.listEntries,
    side: 'request',
    value: { expected: identity, request: 5 },
    fields: { expected: wireIdentity, ledgerId: 5 },
  },
  {
    name: 'list: reply',
    type: 'ListEntriesReply',
    method: d.listEntries,
    side: 'reply',
    value: {
      code: 'OK',
      runs: [
        { first: 0, last: 0 },
        { first: 2, last: 10 },
        { first: 2 ** 40, last: 2 ** 40 + 3 },
      ],
    },
    fields: { code: 0, runs: [0, 1, 1, 9, 2 ** 40 - 11, 4] },
  },
  { name: 'info: request', type: 'InfoRequest', method: d.info, side: 'request', value: identity, fields: { expected: wireIdentity } },
  {
    name: 'info: reply',
    type: 'InfoReply',
    method: d.info,
    side: 'reply',
    value: { code: 'OK', totalBytes: 2 ** 50, freeBytes: 0 },
    fields: { code: 0, totalBytes: 2 ** 50, freeBytes: 0 },
  },
];

const encode = (c: Case, value: unknown): Buffer => (c.side === 'request' ? c.method.requestSerialize(value) : c.method.responseSerialize(value));
const decode = (c: Case, bytes: Buffer): unknown => (c.side === 'request' ? c.method.requestDeserialize(bytes) : c.method.responseDeserialize(bytes));

for (const c of cases) {
  t.test(`bookie wire: ${c.name} -> what bookie.proto says, both ways`, async (t) => {
    const type = typeNamed(c.type);
    const theirs = Buffer.from(type.encode(type.fromObject(c.fields)).finish());
    t.same(decode(c, theirs), c.value, 'ours reads theirs');
    const ours = encode(c, c.value);
    t.same(type.toObject(type.decode(ours), { longs: Number }), type.toObject(type.decode(theirs), { longs: Number }), 'theirs reads ours');
    t.same(decode(c, Buffer.concat([ours, Buffer.from([0xfa, 0x3f, 2, 1, 2])])), c.value, 'a field of a later version is passed over');
  });

  t.test(`bookie wire: ${c.name}, cut at every length -> a coded error or a first part`, async (t) => {
    checkTruncations(
      t,
      encode(c, c.value),
      (part) => decode(c, part),
      protoErrors.FRAME_MALFORMED,
      // A list may lack its end, and an optional field. What comes before must be whole.
      (value) => isFirstPart(value, c.value),
    );
  });
}

function isFirstPart(part: unknown, whole: unknown): boolean {
  if (part instanceof Uint8Array) return Buffer.from(part).equals(whole as Uint8Array);
  if (Array.isArray(part)) return part.every((item, index) => isFirstPart(item, (whole as unknown[])[index]));
  if (typeof part !== 'object' || part === null) return part === whole;
  return Object.entries(part).every(([name, item]) => isFirstPart(item, (whole as Record<string, unknown>)[name]));
}

t.test('bookie wire: codes of the table -> those of bookie.proto, all of them', async (t) => {
  t.same(root.lookupEnum('daybook.bookie.v1.Code').values, bookieCodeNumbers);
  t.equal(codeNumber('OK'), 0);
});

t.test('bookie wire: methods of the definition -> those of bookie.proto', async (t) => {
  const service = root.lookupService('daybook.bookie.v1.Bookie');
  const theirs = Object.values(service.methods).map((m) => ({
    path: `/daybook.bookie.v1.Bookie/${m.name}`,
    requestStream: m.requestStream === true,
    responseStream: m.responseStream === true,
  }));
  t.same(
    Object.values(d).map(({ path, requestStream, responseStream }) => ({ path, requestStream, responseStream })),
    theirs,
  );
});

t.test('bookie wire: an empty message, a code that is not known, no code -> never OK', async (t) => {
  for (const c of cases)
    t.equal(
      codeOf(() => decode(c, Buffer.alloc(0))),
      'PROTO_FRAME_MALFORMED',
      c.name,
    );
  t.equal(
    codeOf(() => d.read.responseDeserialize(Buffer.from([0x08, 0x05]))),
    'PROTO_FRAME_MALFORMED',
  );
  t.equal(
    codeOf(() => d.read.responseDeserialize(Buffer.from([0x08, 0x00]))),
    'PROTO_FRAME_MALFORMED',
    'OK without an entry',
  );
  t.equal(
    codeOf(() => d.streamedRead.responseDeserialize(Buffer.from([0x08, 0x01, 0x10, 0x01, 0x18, 0x00]))),
    'PROTO_FRAME_MALFORMED',
    'OK without an entry',
  );
  t.equal(
    codeOf(() => d.fence.responseDeserialize(Buffer.from([0x08, 0x00]))),
    'PROTO_FRAME_MALFORMED',
    'OK without an entry',
  );
});

t.test('bookie wire: requests that break a rule -> a coded error', async (t) => {
  const type = typeNamed('ReadRequest');
  const read = (fields: object): string | undefined =>
    codeOf(() =>
      d.read.requestDeserialize(
        Buffer.from(type.encode(type.fromObject({ expected: wireIdentity, ledgerId: 1, entryIds: [1], bytesMax: 1, ...fields })).finish()),
      ),
    );
  t.equal(read({}), undefined);
  t.equal(read({ entryIds: [] }), 'PROTO_FRAME_MALFORMED', 'no ids');
  t.equal(read({ entryIds: [1, 0] }), 'PROTO_FRAME_MALFORMED', 'the same id twice');
  t.equal(read({ entryIds: Array.from({ length: 16_385 }, () => 1) }), 'PROTO_FRAME_MALFORMED', 'too many ids');
  t.equal(read({ entryIds: [2 ** 53 - 1, 2 ** 53 - 1] }), 'PROTO_FRAME_MALFORMED', 'beyond 2^53');
  t.equal(read({ fenceWithKey: Buffer.alloc(19) }), 'PROTO_FRAME_MALFORMED', 'a short key');
  t.equal(read({ expected: { bookieId: 'a/b', incarnation: '' } }), 'PROTO_FRAME_MALFORMED', 'no bookie id');
});

t.test('bookie wire: any bytes -> a coded error or a value, nothing else', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...cases), fc.uint8Array({ maxLength: 80 }), (c, bytes) => {
      const code = codeOf(() => decode(c, Buffer.from(bytes)));
      return code === undefined || code === 'PROTO_FRAME_MALFORMED';
    }),
    { numRuns: 2000 },
  );
});

t.test('bookie wire: any runs of entries -> the same after a round trip', async (t) => {
  const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 }), fc.integer({ min: 1, max: 2 ** 31 })), { maxLength: 40 }).map((pairs) => {
    let next = -1;
    return pairs.map(([gap, count]) => {
      const first = next + gap;
      next = first + count;
      return { first: first as EntryId, last: (next - 1) as EntryId };
    });
  });
  fc.assert(
    fc.property(runs, (list) => t.same(d.listEntries.responseDeserialize(d.listEntries.responseSerialize({ code: 'OK', runs: list })).runs, list)),
  );
});

t.test('bookie wire: entries of a reply -> views, not copies', async (t) => {
  const bytes = d.read.responseSerialize({ code: 'OK', entries: [entry] });
  const [back] = d.read.responseDeserialize(bytes).entries;
  t.ok(Buffer.isBuffer(back));
  t.equal(back?.buffer, bytes.buffer);
});

t.test('identity: same id with other disks -> another bookie', async (t) => {
  t.ok(isSameIdentity(identity, { ...identity }));
  t.notOk(isSameIdentity(identity, { ...identity, incarnation: 'new' }));
});
